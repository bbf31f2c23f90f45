package simulator_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

// TestNoCardData: numbers, CVVs and names of cards reach neither the books nor the log nor an
// answer.
func TestNoCardData(t *testing.T) {
	const cvv, holder = "739", "Zebulon Quux"
	b := newBench(t)
	numbers := []string{
		"4242424242424242", "378282246310005", "4000000000000002", "4916994064252017", "4000000000003220",
		"4000000000005266", "4012888888881881", // the last is not in the table
	}
	var seen strings.Builder
	for _, number := range numbers {
		op := b.authorize(number, 1000)
		op.Card.CVV, op.Card.CardholderName = cvv, holder
		_, text := b.post(protocol.OperationsPath(op.Processor), encode(t, op), protocol.HeaderIdempotencyKey, string(op.Key))
		seen.WriteString(text)
	}
	// Invalid requests, whose refusal must not repeat the invalid value.
	for i, body := range []string{
		`{"operation":"authorize","card":{"number":4242424242424242}}`,
		`{"operation":"authorize","card":"4242424242424242"}`,
		`{"4242424242424242":1}`,
		`{"operation":"4242424242424242"}`,
		`{"operation":"void","reference":"01p","parentId":"4242 4242 4242 4242","amount":0,"currency":"EUR"}`,
	} {
		status, text := b.post("/v1/processors/ADYEN/operations", body, protocol.HeaderIdempotencyKey, "wrong")
		if status == http.StatusOK {
			t.Errorf("request %d was accepted", i)
		}
		seen.WriteString(text)
	}
	if status, text := b.post("/v1/processors/ADYEN/operations", "{}", protocol.HeaderIdempotencyKey, "4242424242424242"); status == 200 {
		t.Error(text)
	}
	broken := b.authorize("4242424242424242", 1000)
	b.fault(protocol.Fault{Mode: protocol.DropBefore})
	r := b.try(broken)
	unknown(t, r)
	must(t, b.client.ClearFaults(t.Context()))
	b.clock.Advance(2 * time.Second)
	expect(t, *b.lookup(processor.Operation{Processor: processor.Adyen, Key: "01payment.5"}).Answer, processor.Succeeded, "")

	for where, text := range map[string]string{
		"books": string(b.bytes()), "log": b.log.String(), "answers": seen.String(), "error": r.err.Error(),
	} {
		if text == "" {
			t.Errorf("%s: nothing to search", where)
		}
		for _, number := range numbers {
			if strings.Contains(text, number) {
				t.Errorf("%s holds the number %s", where, number)
			}
		}
		for _, word := range []string{`"` + cvv + `"`, holder, "cvv\":", "cardholder"} {
			if strings.Contains(text, word) {
				t.Errorf("%s holds %s", where, word)
			}
		}
	}
}
