package adapter_test

import (
	"strings"
	"testing"

	"payledger/domain/processor"
)

// TestRawAnswer: an answer has its body: unchanged if it has only fields of the protocol, else
// without card data and tokens, with other fields apart, and cut (D14.17).
func TestRawAnswer(t *testing.T) {
	const action = `{"state":"ACTION_REQUIRED","processorTransactionId":"t","actionToken":"tok-1",` + at
	long := strings.Repeat("é", 4<<10)
	for name, c := range map[string]struct {
		body string
		want processor.RawAnswer
	}{
		"as it is": {`{ "state":"SUCCEEDED","processorTransactionId":"t", ` + at + "}\n", processor.RawAnswer{Body: `{ "state":"SUCCEEDED","processorTransactionId":"t", ` + at + "}\n"}},
		"another field": {`{"state":"DECLINED","code":"05","buyer":{"name":"Ada"},` + at + `}`, processor.RawAnswer{
			Body: `{` + at + `,"code":"05","state":"DECLINED"}`, Additional: `{"buyer":{"name":"Ada"}}`,
		}},
		"a card": {`{"state":"DECLINED","code":"05","message":"4242 4242 4242 4242 declined","cvv":"737",` + at + `}`, processor.RawAnswer{
			Body: `{` + at + `,"code":"05","message":"(removed)","state":"DECLINED"}`, Additional: `{"cvv":"(removed)"}`, Redacted: true,
		}},
		"a token": {action + `,"message":"go to /tok-1","link":"https://x/?t=t\u006fk-1"}`, processor.RawAnswer{
			Body:       `{"actionToken":"(removed)",` + at + `,"message":"(removed)","processorTransactionId":"t","state":"ACTION_REQUIRED"}`,
			Additional: `{"link":"(removed)"}`, Redacted: true,
		}},
		"a page": {action + `,"actionUrl":"https://bank/pay?t=s3cret"}`, processor.RawAnswer{
			Body:     `{"actionToken":"(removed)","actionUrl":"(removed)",` + at + `,"processorTransactionId":"t","state":"ACTION_REQUIRED"}`,
			Redacted: true,
		}},
		"long": {`{"message":"` + long + `","state":"DECLINED","code":"05",` + at + `}`, processor.RawAnswer{Body: (`{"message":"` + long)[:4<<10], Cut: true}},
		"long beside": {`{"xy":"` + long + `","state":"DECLINED","code":"05",` + at + `}`, processor.RawAnswer{
			Body: `{` + at + `,"code":"05","state":"DECLINED"}`, Additional: (`{"xy":"` + long)[:4<<10-1], Cut: true,
		}},
	} {
		a, _ := answering(t, 200, c.body)
		sent, err := a.Send(t.Context(), op)
		if err != nil || sent.RawAnswer == nil || *sent.RawAnswer != c.want {
			t.Errorf("%s: %.300v, %v; want %.300v", name, sent.RawAnswer, err, c.want)
		}
		known := `{"state":"KNOWN","answer":` + strings.TrimSpace(c.body) + `}`
		a, _ = answering(t, 200, known)
		found, err := a.Lookup(t.Context(), op.Processor, op.Key)
		if err != nil || found.Answer.RawAnswer == nil {
			t.Fatalf("%s: %+v, %v", name, found, err)
		}
		raw := found.Answer.RawAnswer
		if raw.Redacted != c.want.Redacted || raw.Cut != c.want.Cut || (raw.Additional == "") != (c.want.Additional == "") || !strings.Contains(raw.Body, `"answer":`) {
			t.Errorf("%s, looked up: %+v", name, raw)
		}
		for _, secret := range []string{"tok-1", "s3cret", "4242 4242", "737", "Ada"} {
			if strings.Contains(raw.Body, secret) || secret != "Ada" && strings.Contains(raw.Additional, secret) {
				t.Errorf("%s: %s stands in %+v", name, secret, raw)
			}
		}
	}
}
