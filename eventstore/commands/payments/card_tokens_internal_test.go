package payments

import (
	"testing"

	"payledger/domain/processor"
)

// TestWithoutSecret: a secret is removed from the texts of an answer, also its beginning where a
// text is cut.
func TestWithoutSecret(t *testing.T) {
	const secret = `tok_<1>"2`
	for text, want := range map[string]string{
		"":                             "",
		"a refusal":                    "a refusal",
		`of tok_<1>"2, tok_<1>"2`:      "of (removed), (removed)",
		`of tok_<1>"2 and tok_<1>`:     "of (removed) and (removed)",
		"of tok_<":                     "of tok_<", // too short to tell
		`{"m":"tok_\u003c1\u003e\"2"}`: `{"m":"(removed)"}`,
		`{"m":"tok_\u003c1`:            `{"m":"(removed)`,
	} {
		raw := &processor.RawAnswer{Body: text, Additional: text, Cut: true}
		got := withoutSecret(processor.Answer{RawAnswer: raw}, secret)
		if got.RawAnswer.Body != want || got.RawAnswer.Additional != want || !got.RawAnswer.Cut || got.RawAnswer.Redacted != (want != text) || raw.Body != text {
			t.Errorf("%q is %+v, want %q", text, got.RawAnswer, want)
		}
	}
	if got := withoutSecret(processor.Answer{Message: "of " + secret}, secret); got.Message != "of (removed)" {
		t.Errorf("%q", got.Message)
	}
}
