package sidelog

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"payledger/eventstore/checkpoint"
)

// SecretStream is the stream of sealed secrets.
const SecretStream = "SECRETS"

// streams are the streams beside the log. The value reports whether single messages of a stream are deleted.
var streams = map[string]bool{checkpoint.Stream: false, SecretStream: true, PositionStream: true}

// Segmented are the streams that consist of segments.
var Segmented = []string{checkpoint.Stream, SecretStream}

// Name returns the name of a segment.
func Name(of string, number uint32) string {
	return of + "_" + strconv.FormatUint(uint64(number), 10)
}

// ParseName returns the stream that a segment belongs to, and its number.
func ParseName(name string) (of string, number uint32, ok bool) {
	of, digits, _ := strings.Cut(name, "_")
	n, err := strconv.ParseUint(digits, 10, 32)
	return of, uint32(n), err == nil && slices.Contains(Segmented, of) && Name(of, uint32(n)) == name
}

// Number returns the number of a segment. For another name the result has no meaning.
func Number(name string) uint32 {
	_, number, _ := ParseName(name)
	return number
}

// SegmentsOf returns the segments of a stream among some names, in their order.
func SegmentsOf(stream string, names []string) (all []string) {
	for _, name := range names {
		if of, _, ok := ParseName(name); ok && of == stream {
			all = append(all, name)
		}
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Compare(Number(a), Number(b)) })
	return all
}

// Beside reports whether a stream stands beside the log, and whether single messages of it are deleted.
func Beside(name string) (deletes, beside bool) {
	if of, _, ok := ParseName(name); ok {
		name = of
	} else if slices.Contains(Segmented, name) {
		return false, false
	}
	deletes, beside = streams[name]
	return deletes, beside
}

// IsSecrets reports whether a stream is a segment of SECRETS.
func IsSecrets(stream string) bool {
	of, _, ok := ParseName(stream)
	return ok && of == SecretStream
}

// Newest returns the number of the newest segment of each segmented stream.
func Newest(names []string) map[string]uint32 {
	newest := map[string]uint32{}
	for _, name := range names {
		if of, number, ok := ParseName(name); ok {
			newest[of] = max(newest[of], number)
		}
	}
	return newest
}

// RecordName returns the name of a record of a stream. Only records of POSITIONS have names.
func RecordName(stream, subject string) string {
	if stream == PositionStream {
		return strings.TrimPrefix(subject, positionRoot+".")
	}
	return ""
}
