package adapter_test

import (
	"strings"
	"testing"

	"payledger/domain/processor"
)

// TestControlCharacters: control characters in a processor's texts are U+FFFD in whatever is kept,
// but for TAB, LF and CR; the rest of the texts stays (D22.5).
func TestControlCharacters(t *testing.T) {
	const sent = `a\u0000b\b\f\u001F\u0085` + "\u009f" + `\t\r\n\\u0000\"é\ud83d\ude00\u00e9`
	const want = "a\ufffdb\ufffd\ufffd\ufffd\ufffd\ufffd\t\r\n\\u0000\"é😀é"
	const answer = `{"state":"FAILED","code":"` + sent + `","message":"` + sent + `","\u0000extra":"` + sent + `","at":"2026-03-01T12:00:00Z"}`
	same := func(how string, a *processor.Answer, err error) {
		t.Helper()
		if err != nil || a == nil || a.Code != want || a.Message != want {
			t.Errorf("%s: %+v %v", how, a, err)
			return
		}
		if r := a.RawAnswer; r != nil && (strings.Contains(r.Body+r.Additional, `\u0000"`) || strings.Contains(r.Body+r.Additional, `a\u0000b`)) {
			t.Errorf("%s is kept as %+v", how, r)
		}
	}
	c, _ := answering(t, 200, answer)
	sentAnswer, err := c.Send(t.Context(), op)
	same("sent", &sentAnswer, err)
	c, _ = answering(t, 200, `{"state":"KNOWN","answer":`+answer+`}`)
	lookup, err := c.Lookup(t.Context(), op.Processor, op.Key)
	same("looked up", lookup.Answer, err)
	head, _, _ := strings.Cut(captured, `"answer":`)
	notification, err := parse(processor.Adyen, head+`"answer":`+answer+`}`)
	same("notified", notification.Answer, err)
	head, _, _ = strings.Cut(capturedEntry, `"answer":`)
	c, _ = answering(t, 200, `{"operations":[`+head+`"answer":`+answer+`}]}`)
	records, err := c.ByReference(t.Context(), processor.Adyen, "01abc")
	if err != nil || len(records) != 1 {
		t.Fatalf("listed: %+v %v", records, err)
	}
	if a := records[0].Answer; a.Code != want || a.Message != want {
		t.Errorf("listed: %+v", a)
	}
}
