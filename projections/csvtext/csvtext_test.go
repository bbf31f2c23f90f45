package csvtext_test

import (
	"strings"
	"testing"

	"payledger/projections/csvtext"
)

// TestEscape: a text that could be a formula gets an apostrophe, and can be read back.
func TestEscape(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1+1", "＋1", "－1", "＠x", "'quoted", "'=1"} {
		got := csvtext.Escape(text)
		if got != "'"+text {
			t.Errorf("%q is %q", text, got)
		}
		if back := strings.TrimPrefix(got, "'"); back != text {
			t.Errorf("%q is read back as %q", text, back)
		}
	}
	for _, text := range []string{"", "order-1", "a=b", "1+1", " x", "é", "\xff"} {
		if got := csvtext.Escape(text); got != text {
			t.Errorf("%q is %q", text, got)
		}
	}
}
