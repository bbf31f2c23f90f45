package csvtext_test

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"payledger/domain/seedtest"
	"payledger/projections/csvtext"
)

// written are the apostrophes that a program removes.
var written = regexp.MustCompile(`(^|[;\t\r\n])'`)

// TestEscape: a text that could be a formula gets an apostrophe, and can be read back.
func TestEscape(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"=1+1": "'=1+1", "+1": "'+1", "-1": "'-1", "@SUM(A1)": "'@SUM(A1)", "＝1+1": "'＝1+1", "＋1": "'＋1", "－1": "'－1", "＠x": "'＠x",
		"'quoted": "''quoted", "'=1": "''=1", "\t=1": "'\t'=1", "\r=1": "'\r'=1", "\n=1": "'\n'=1", "\ta": "'\ta", "=1;-1": "'=1;'-1",
		"a;=1+1": "a;'=1+1", "a; \u00a0\"=1": "a;' \u00a0\"=1", "a\t@x": "a\t'@x", "a\n+1\r\n－2": "a\n'+1\r\n'－2", "a;'=1": "a;''=1", "a; '=1": "a;' '=1", ";;=1;": ";;'=1;",
	} {
		if got := csvtext.Escape(text); got != want {
			t.Errorf("%q is %q, not %q", text, got, want)
		}
	}
	for _, text := range []string{"", "order-1", "a=b", "1+1", " x", "é", "\xff", "a;b", "a; b=1", "a\nb\n\nc", "a;\xff;", "a;"} {
		if got := csvtext.Escape(text); got != text {
			t.Errorf("%q is %q", text, got)
		}
	}
}

// TestReadBack: a program has every text as it was, and no part of an escaped text is a formula, at
// whichever of the characters a spreadsheet divides it.
func TestReadBack(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(seedtest.Seed(t), 0))
	letters := []string{"a", "=", "+", "-", "@", "＝", "'", ";", "\t", "\n", "\r", " ", `"`, "\xff", "1"}
	formula := regexp.MustCompile(`^[ "]*[=+\-@＝]`)
	for range 20_000 {
		var b strings.Builder
		for range random.IntN(8) {
			b.WriteString(letters[random.IntN(len(letters))])
		}
		text := b.String()
		got := csvtext.Escape(text)
		if back := written.ReplaceAllString(got, "$1"); back != text {
			t.Fatalf("%q is written as %q and read back as %q", text, got, back)
		}
		for i, part := range strings.FieldsFunc("x"+got, func(r rune) bool { return strings.ContainsRune(";\t\r\n", r) }) {
			if i > 0 && formula.MatchString(part) {
				t.Fatalf("%q is written as %q, which has the formula %q", text, got, part)
			}
		}
	}
}
