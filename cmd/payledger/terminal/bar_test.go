package terminal

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestBar: a bar is drawn after a second, with count, percent, rate since the first call, time
// left, and the step that goes on. A first count that was done before the command has no part in
// the rate.
func TestBar(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	now := time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)
	b := &Bar{out: &out, now: func() time.Time { return now }}
	b.Show("events", 191_309_420, 191_310_420)
	if out.Len() != 0 {
		t.Errorf("a bar of no time: %q", out.String())
	}
	now = now.Add(2 * time.Second)
	b.Step("views", "events", 191_309_920, 191_310_420)
	if text := out.String(); !strings.Contains(text, "250 events/s, 2s left, views") || !strings.Contains(text, "99%") || !strings.Contains(text, "191309920/191310420") {
		t.Errorf("prints %q", text)
	}
	out.Reset()
	b.Show("entries", 0, 0)
	now = now.Add(4 * time.Second)
	b.Show("entries", 10, 0)
	if text := out.String(); !strings.Contains(text, "10") || !strings.Contains(text, "2 entries/s") || regexp.MustCompile("left|it/s|%").MatchString(text) {
		t.Errorf("without a total it prints %q", text)
	}
	if b.Clear(); b.out == nil {
		t.Errorf("the bar failed: %q", out.String())
	}
}

// TestColours: statuses, answers, marks and changed fields have the colour of their tone. A line is
// coloured when it is whole, and nothing else in it changes.
func TestColours(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	c := &colours{out: &out}
	for _, part := range []string{"SETT", "LED  SETTLEDX ISSUER_DECLINED\n", "  DECLINED ✗ no\n✓ 200\nPOST /payments  503     1.2 ms  404\n", "x → ", " 201  3.0 ms\n     + $.status: \"AUTHORIZED\"\n", "rest"} {
		if n, err := c.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	want := green + "SETTLED" + normal + "  SETTLEDX ISSUER_DECLINED\n  " + red + "DECLINED" + normal + " " + red + "✗" + normal + " no\n" + green + "✓" + normal +
		" 200\nPOST /payments  " + red + "503" + normal + "     1.2 ms  404\nx →  " + green + "201" + normal + "  3.0 ms\n     " + green + "+" + normal +
		" $.status: \"" + cyan + "AUTHORIZED" + normal + "\"\n"
	if out.String() != want {
		t.Errorf("prints %q, want %q", out.String(), want)
	}
	if w := Colours(&out); w != &out {
		t.Error("colours outside of a terminal")
	}
}
