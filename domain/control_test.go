package domain_test

import (
	"strings"
	"testing"

	"payledger/domain"
)

// TestBeginning: a text is cut between characters, even if it is not UTF-8.
func TestBeginning(t *testing.T) {
	for _, row := range []struct {
		text string
		most int
		want string
	}{
		{"", 3, ""}, {"abc", 3, "abc"}, {"abcd", 3, "abc"}, {"aé", 2, "a"}, {"aéb", 3, "aé"}, {"日本", 5, "日"}, {"日本", 6, "日本"}, {"😀", 3, ""},
		{"é", 0, ""}, {strings.Repeat("\x80", 9), 8, strings.Repeat("\x80", 4)},
	} {
		if got := domain.Beginning(row.text, row.most); got != row.want {
			t.Errorf("%q of %d bytes is %q", row.text, row.most, got)
		}
	}
}
