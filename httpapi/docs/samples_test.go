package docs

import (
	"go/format"
	"strings"
	"testing"

	"payledger/eventstore/eventstoretest"
)

// TestSamples: every call has its example in four languages, made from the same headers and body,
// and that in Go is formatted.
func TestSamples(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	calls, err := made(t, openapi).calls(nil, "https://pay.example/")
	if err != nil || len(calls) < 80 {
		t.Fatal(len(calls), err)
	}
	for _, c := range calls {
		if len(c.Samples) != 4 || c.Samples[0].Text != c.Request {
			t.Errorf("%s has %v", c.ID, c.Samples)
		}
		for _, s := range c.Samples[1:] {
			for _, h := range c.headers() {
				if !strings.Contains(s.Text, `"`+h.Name+`"`) {
					t.Errorf("%s in %s lacks the header %s", c.ID, s.Label, h.Name)
				}
			}
			if strings.Contains(s.Text, "$") || !strings.Contains(s.Text, `"https://pay.example/`) {
				t.Errorf("%s in %s has another address, or a variable of the shell:\n%s", c.ID, s.Label, s.Text)
			}
		}
		if formatted, err := format.Source([]byte(c.Samples[1].Text)); err != nil || string(formatted) != c.Samples[1].Text {
			t.Errorf("%s in Go is not formatted: %v\n%s", c.ID, err, c.Samples[1].Text)
		}
	}
}

// TestExpression: a text with variables of the shell, and JSON, as expressions of a language.
func TestExpression(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                         `""`,
		"2.4":                      `"2.4"`,
		"$KEY":                     "env.KEY",
		"https://a/b?t=$TOKEN&c=1": `"https://a/b?t=" + env.TOKEN + "&c=1"`,
		`say "$A$B`:                `"say \"" + env.A + env.B`,
	} {
		if got := expression(text, "env.%s", " + "); got != want {
			t.Errorf("%s is %s, expected %s", text, got, want)
		}
	}
	if got, want := inPython(`{"true": true, "a": [null, "\"null", false]}`), `{"true": True, "a": [None, "\"null", False]}`; got != want {
		t.Errorf("%s, expected %s", got, want)
	}
}
