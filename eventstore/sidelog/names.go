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

// Streams are the streams beside the log. Each consists of segments.
var Streams = []string{checkpoint.Stream, SecretStream}

// Name returns the name of a segment.
func Name(of string, number uint32) string {
	return of + "_" + strconv.FormatUint(uint64(number), 10)
}

// ParseName returns the stream that a segment belongs to, and its number.
func ParseName(name string) (of string, number uint32, ok bool) {
	of, digits, _ := strings.Cut(name, "_")
	n, err := strconv.ParseUint(digits, 10, 32)
	return of, uint32(n), err == nil && slices.Contains(Streams, of) && Name(of, uint32(n)) == name
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

// Beside reports whether a stream is a segment of one beside the log.
func Beside(name string) bool {
	_, _, is := ParseName(name)
	return is
}

// IsSecrets reports whether a stream is a segment of SECRETS, the only stream whose messages are
// deleted one by one.
func IsSecrets(stream string) bool {
	of, _, ok := ParseName(stream)
	return ok && of == SecretStream
}

// Newest returns the number of the newest segment of each stream.
func Newest(names []string) map[string]uint32 {
	newest := map[string]uint32{}
	for _, name := range names {
		if of, number, ok := ParseName(name); ok {
			newest[of] = max(newest[of], number)
		}
	}
	return newest
}
