package terminal

import (
	"fmt"
	"strings"
)

// Count returns a number with the name of the counted things: "1 payment", "2 payments", "0
// entries". many is a plural that is not regular.
func Count[N ~int | ~int64 | ~uint64](n N, one string, many ...string) string {
	name := one
	switch stem, ies := strings.CutSuffix(one, "y"); {
	case n == 1:
	case len(many) > 0:
		name = many[0]
	case ies && !strings.HasSuffix(stem, "a") && !strings.HasSuffix(stem, "e") && !strings.HasSuffix(stem, "o"):
		name = stem + "ies"
	default:
		name += "s"
	}
	return fmt.Sprintf("%d %s", n, name)
}
