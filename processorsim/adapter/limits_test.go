package adapter_test

import (
	"errors"
	"strings"
	"testing"

	"payledger/domain/processor"
)

// TestLimits: the texts of an answer that stay in the payment are cut between characters, whichever
// way it came. They would fill the payment's state, which takes no operation any more.
func TestLimits(t *testing.T) {
	long := strings.Repeat("é", 600) + "x"
	body := `{"state":"SUCCEEDED","processorTransactionId":"t","processorEventId":"` + long + `",` + at + `,"code":"` + long + `","message":"` + long +
		`","authorizationCode":"` + long + `","binData":{"issuerName":"` + long + `","productCode":"P"},"risk":{"cvvSource":"` + long + `","cvvResult":"MATCHED"}}`
	a, _ := answering(t, 200, body)
	sent, err := a.Send(t.Context(), op)
	if err != nil {
		t.Fatal(err)
	}
	a, _ = answering(t, 200, `{"state":"KNOWN","answer":`+body+`}`)
	found, err := a.Lookup(t.Context(), op.Processor, op.Key)
	if err != nil {
		t.Fatal(err)
	}
	a, _ = answering(t, 200, `{"operations":[`+strings.Replace(capturedEntry, `"answer":{"state":"SUCCEEDED","processorTransactionId":"tx_1","at":"2026-03-01T12:00:00Z"}`, `"answer":`+body, 1)+`]}`)
	listed, err := a.ByReference(t.Context(), op.Processor, "01abc")
	if err != nil {
		t.Fatal(err)
	}
	told, err := parse(processor.Adyen, strings.Replace(captured, `"SUCCEEDED"`, `"SUCCEEDED","message":"`+long+`","code":"`+long+`","authorizationCode":"`+long+
		`","binData":{"issuerName":"`+long+`","productCode":"P"},"risk":{"cvvSource":"`+long+`","cvvResult":"MATCHED"}`, 1))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("é", 127)
	for way, got := range map[string]processor.Answer{"sent": sent, "looked up": *found.Answer, "listed": listed[0].Answer, "notified": *told.Answer} {
		if got.Message != strings.Repeat("é", 500) || got.Code != text || got.AuthorizationCode != text {
			t.Errorf("%s: %d, %d and %d bytes", way, len(got.Message), len(got.Code), len(got.AuthorizationCode))
		}
		if *got.Bin != (processor.BinData{IssuerName: text, ProductCode: "P"}) || *got.Risk != (processor.Risk{CVVSource: text, CVVResult: "MATCHED"}) {
			t.Errorf("%s: %+v %+v", way, got.Bin, got.Risk)
		}
		if way != "notified" && got.ProcessorEventID != "" {
			t.Errorf("%s: an event id of %d bytes", way, len(got.ProcessorEventID))
		}
	}
}

// TestLimitsOfIDs: a notification, or a listed operation, with an id that breaks its limit cannot
// be read. Ids are stored, and never cut.
func TestLimitsOfIDs(t *testing.T) {
	for id, fits := range map[string]bool{strings.Repeat("i", 255): true, strings.Repeat("i", 256): false, "a b": false, "é": false, "a\\u0007": false} {
		body := strings.Replace(captured, `"ev_1"`, `"`+id+`"`, 1)
		if _, err := parse(processor.Adyen, body); (err == nil) != fits || !fits && strings.Contains(err.Error(), id) {
			t.Errorf("a notification with %.9q: %v", id, err)
		}
		for field, entry := range map[string]string{
			"id":       strings.Replace(capturedEntry, `"op-1"`, `"`+id+`"`, 1),
			"parentId": strings.Replace(capturedEntry, `"operation"`, `"parentId":"`+id+`","operation"`, 1),
		} {
			a, _ := answering(t, 200, `{"operations":[`+entry+`]}`)
			if list, err := a.ByReference(t.Context(), op.Processor, "01abc"); errors.Is(err, processor.ErrUnreadable) == fits || (len(list) == 1) != fits {
				t.Errorf("an operation with the %s %.9q: %v", field, id, err)
			}
		}
	}
}
