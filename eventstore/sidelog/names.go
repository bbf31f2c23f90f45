package sidelog

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// SecretStream is the stream of sealed secrets, the only one whose messages are deleted one by one.
// It consists of segments.
const SecretStream = "SECRETS"

// Name returns the name of a segment.
func Name(number uint32) string {
	return SecretStream + "_" + strconv.FormatUint(uint64(number), 10)
}

// Number returns the number of a segment; 0 for another name.
func Number(name string) uint32 {
	digits, _ := strings.CutPrefix(name, SecretStream+"_")
	n, err := strconv.ParseUint(digits, 10, 32)
	if err != nil || Name(uint32(n)) != name {
		return 0
	}
	return uint32(n)
}

// IsSegment reports whether a stream is a segment of SECRETS.
func IsSegment(name string) bool { return Number(name) > 0 }

// Segments returns the segments among some names, in their order.
func Segments(names []string) (all []string) {
	for _, name := range names {
		if IsSegment(name) {
			all = append(all, name)
		}
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Compare(Number(a), Number(b)) })
	return all
}
