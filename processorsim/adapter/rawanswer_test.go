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
		"a token of the card": {`{"state":"SUCCEEDED","processorTransactionId":"t","processorToken":"tok-1","echo":["t\u006fk-1"],` + at + `}`, processor.RawAnswer{
			Body: `{` + at + `,"processorToken":"(removed)","processorTransactionId":"t","state":"SUCCEEDED"}`, Additional: `{"echo":["(removed)"]}`, Redacted: true,
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

// TestCardTokens: an answer's token of the card is returned if it can be used, and the token of the
// request stands nowhere.
func TestCardTokens(t *testing.T) {
	token := op
	token.Card = &processor.Card{Token: "pm-9"}
	for body, want := range map[string]string{
		`{"state":"SUCCEEDED","processorTransactionId":"t","processorToken":"tok-1","cardTokenType":"NETWORK_TOKEN",` + at + `}`:                    "tok-1 NETWORK_TOKEN ",
		`{"state":"SUCCEEDED","processorTransactionId":"t","processorToken":"tok 1","cardTokenType":"A_LATER_ONE",` + at + `}`:                      "  ",
		`{"state":"SUCCEEDED","processorTransactionId":"t","processorToken":"t",` + at + `}`:                                                        "  ",
		`{"state":"SUCCEEDED","processorTransactionId":"t","processorToken":"4242424242424242","message":"odd",` + at + `}`:                         "  odd",
		`{"state":"FAILED","code":"token_unknown","message":"No such PaymentMethod: 'pm-9'","other":"pm\u002d9",` + at + `}`:                        "  No such PaymentMethod: '(removed)'",
		`{"state":"SUCCEEDED","processorTransactionId":"t","processorToken":"tok-1","message":"keep tok-1","cardTokenType":"CARD_PAN",` + at + ` }`: "tok-1 CARD_PAN keep (removed)",
	} {
		a, _ := answering(t, 200, body)
		sent, err := a.Send(t.Context(), token)
		if err != nil {
			t.Fatal(err)
		}
		if got := sent.CardToken + " " + string(sent.CardTokenType) + " " + sent.Message; got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
		for _, secret := range []string{"pm-9", "tok-1", "4242"} {
			if strings.Contains(sent.RawAnswer.Body+sent.RawAnswer.Additional, secret) {
				t.Errorf("%s stands in %+v", secret, sent.RawAnswer)
			}
		}
	}
	a, _ := answering(t, 422, `{"error":{"code":"invalid_request","message":"no pm-9 here"}}`)
	if _, err := a.Send(t.Context(), token); err == nil || strings.Contains(err.Error(), "pm-9") {
		t.Errorf("%v", err)
	}
}
