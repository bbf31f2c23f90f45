package adapter_test

import (
	"fmt"
	"strings"
	"testing"

	"payledger/domain/processor"
)

// TestCardsInTexts: an answer's texts that are kept have neither a card number nor an e-mail
// address, wherever the answer stands. Its ids stay: operations act upon them.
func TestCardsInTexts(t *testing.T) {
	const card, id = "4242424242424242", "4000056655665556"
	answer := `{"state":"DECLINED","processorTransactionId":"` + id + `","processorEventId":"` + id + `","code":"` + card + `","message":"of m` + card +
		`","authorizationCode":"4242 4242 4242 4242","threeDSecureResponseCode":"` + card + `","binData":{"issuerName":"` + card + `","productCode":"a@b"},
		"risk":{"cvvResult":"` + card + `","avsSource":"OK"},` + at + `}`
	got := map[string]processor.Answer{}
	a, _ := answering(t, 200, answer)
	var err error
	if got["sent"], err = a.Send(t.Context(), op); err != nil {
		t.Fatal(err)
	}
	a, _ = answering(t, 200, `{"state":"KNOWN","answer":`+answer+`}`)
	found, err := a.Lookup(t.Context(), op.Processor, op.Key)
	if err != nil {
		t.Fatal(err)
	}
	got["looked up"] = *found.Answer
	a, _ = answering(t, 200, `{"operations":[{"id":"op_1","processor":"ADYEN","reference":"`+string(op.Reference)+`","operation":"capture","idempotencyKey":"k",
		"amount":1,"currency":"EUR","state":"DECLINED","createdAt":"2026-03-01T12:00:00Z","updatedAt":"2026-03-01T12:00:00Z","answer":`+answer+`}]}`)
	records, err := a.ByReference(t.Context(), op.Processor, op.Reference)
	if err != nil || len(records) != 1 {
		t.Fatalf("%+v %v", records, err)
	}
	got["listed"] = records[0].Answer
	for where, a := range got {
		if a.ProcessorTransactionID != id || a.ProcessorEventID != id || a.Message != "(removed)" || a.Risk.AVSSource != "OK" {
			t.Errorf("%s: %+v", where, a)
		}
		plain := a
		plain.Bin, plain.Risk, plain.RawAnswer = nil, nil, nil // an address in memory may have any digits
		for _, text := range []string{fmt.Sprintf("%+v", plain), fmt.Sprintf("%+v %+v", *a.Bin, *a.Risk)} {
			if strings.Contains(text, "4242") || strings.Contains(text, "@") {
				t.Errorf("%s: %s", where, text)
			}
		}
	}
}

// TestCardsInErrors: the reason of a refusal, which is logged and shown, has no card number.
func TestCardsInErrors(t *testing.T) {
	for _, body := range []string{
		`{"error":{"code":"invalid_request","message":"no such card: 4242424242424242"}}`, `{"error":{"code":"4242 4242 4242 4242","message":"m"}}`,
	} {
		for _, status := range []int{401, 422, 500} {
			a, _ := answering(t, status, body)
			if _, err := a.Send(t.Context(), op); err == nil || strings.Contains(err.Error(), "4242") || !strings.Contains(err.Error(), "(removed)") {
				t.Errorf("%d: %v", status, err)
			}
		}
	}
}

// TestCardsInUnreadable: the reason why an answer cannot be read has no value of it: operators see
// it in the log and in /readyz.
func TestCardsInUnreadable(t *testing.T) {
	for _, body := range []string{
		`{"state":"SUCCEEDED","processorTransactionId":"t","at":"4242 4242 4242 4242"}`, `{"state":4242424242424242}`,
		`{"state":"KNOWN","answer":{"at":"4242424242424242"}}`, `{"protocol":"4242424242424242"}`, `{"protocol":1,"processor":"4242 4242 4242 4242"}`,
	} {
		a, _ := answering(t, 200, body)
		_, sent := a.Send(t.Context(), op)
		_, found := a.Lookup(t.Context(), op.Processor, op.Key)
		_, declared := a.Declaration(t.Context(), op.Processor)
		for _, err := range []error{sent, found, declared} {
			if err == nil || strings.Contains(err.Error(), "4242") {
				t.Errorf("%s: %v", body, err)
			}
		}
	}
}
