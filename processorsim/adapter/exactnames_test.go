package adapter_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"payledger/domain/processor"
)

// resembling is an answer with fields that resemble those of the protocol.
const resembling = `{"state":"SUCCEEDED","STATE":"FAILED","processorTransactionId":"t","Code":"x","retryAble":true,"at":"2026-03-01T12:00:00Z",` +
	`"At":"2020-01-01T00:00:00Z","binData":{"network":"VISA","Network":"AMEX"}}`

// isSucceeded checks that an answer has the protocol's fields of resembling alone. The others are
// kept beside them.
func isSucceeded(t *testing.T, how string, got *processor.Answer, err error) {
	t.Helper()
	if err != nil || got == nil || got.Bin == nil {
		t.Errorf("%s: %+v %v", how, got, err)
		return
	}
	if got.Bin.Network != "VISA" || got.RawAnswer != nil && !strings.Contains(got.RawAnswer.Additional, `"STATE":"FAILED"`) {
		t.Errorf("%s: %+v %+v", how, got.Bin, got.RawAnswer)
	}
	plain := *got
	plain.Bin, plain.RawAnswer = nil, nil
	if want := (processor.Answer{State: processor.Succeeded, ProcessorTransactionID: "t", At: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}); plain != want {
		t.Errorf("%s: %+v", how, plain)
	}
}

// TestExactNames checks that a field in another case is another field: it does not replace a field
// of the protocol (D14.4, D8).
func TestExactNames(t *testing.T) {
	c, _ := answering(t, 200, resembling)
	timed := ""
	c.Timed = func(name processor.Name, call string, took time.Duration, unknown bool) {
		timed += fmt.Sprint(name, " ", call, " ", took > 0, " ", unknown, "; ")
	}
	defer func() {
		if timed != "ADYEN authorize true false; " {
			t.Errorf("the calls that were timed are %q", timed)
		}
	}()
	answer, err := c.Send(t.Context(), op)
	isSucceeded(t, "sent", &answer, err)
	c, _ = answering(t, 200, `{"state":"KNOWN","State":"UNSEEN","answer":`+resembling+`}`)
	lookup, err := c.Lookup(t.Context(), op.Processor, op.Key)
	isSucceeded(t, "looked up", lookup.Answer, err)
	head, _, _ := strings.Cut(captured, `"answer":`)
	notification, err := parse(processor.Adyen, head+`"Reference":"01x","ID":"nt_2","answer":`+resembling+`}`)
	isSucceeded(t, "notified", notification.Answer, err)
	if notification.ID != "nt_1" || notification.Reference != "01abc" {
		t.Errorf("%+v", notification)
	}
	head, _, _ = strings.Cut(capturedEntry, `"answer":`)
	entry := head + `"Amount":1,"CURRENCY":"USD","State":"FAILED","answer":` + resembling + `}`
	c, _ = answering(t, 200, `{"operations":[`+entry+`],"Operations":[]}`)
	records, err := c.ByReference(t.Context(), processor.Adyen, "01abc")
	if err != nil || len(records) != 1 || records[0].Amount != 500 || records[0].Currency != "EUR" || records[0].State != processor.Succeeded {
		t.Fatalf("%+v %v", records, err)
	}
	isSucceeded(t, "by reference", &records[0].Answer, nil)
	c, _ = answering(t, 200, entry+"\n"+entry)
	err = c.Operations(t.Context(), processor.Adyen, time.Time{}, time.Time{}, func(r processor.Record) error {
		isSucceeded(t, "listed", &r.Answer, nil)
		records = append(records, r)
		return nil
	})
	if err != nil || len(records) != 3 || records[1].Amount != 500 {
		t.Errorf("%+v %v", records, err)
	}
	c, _ = answering(t, 200, `{"notifications":[`+disputeOfBraintree+`],"Notifications":[],"next":"nt_9","Next":"","more":true,"MORE":false}`)
	if page, err := c.NotificationsSince(t.Context(), processor.Braintree, since, ""); err != nil || len(page.Notifications) != 1 || page.Next != "nt_9" || !page.More {
		t.Errorf("%+v %v", page, err)
	}
}

// TestExactDisputes checks the same for disputes, which each processor writes in its own form
// (D16).
func TestExactDisputes(t *testing.T) {
	for name, c := range map[processor.Name]struct{ dispute, further string }{
		processor.Braintree: {disputeOfBraintree, `"dispute":{"Status":"lost","KIND":"retrieval","Amount_disputed":"0.01","Currency_iso_code":"USD","ID":"dp_2",`},
		processor.Worldpay:  {disputeOfWorldpay, `"dispute":{"Event":"UPHELD","STAGE":"RFI","Value":{"amount":1,"exponent":2,"currencyCode":"USD"},`},
	} {
		_, inside, _ := strings.Cut(c.dispute, `"dispute":{`)
		head, _, _ := strings.Cut(c.dispute, `"dispute":{`)
		genuine, err := parse(name, c.dispute)
		before, beforeErr := parse(name, head+c.further+inside)
		after, afterErr := parse(name, strings.TrimSuffix(c.dispute, "}}")+","+strings.TrimSuffix(strings.TrimPrefix(c.further, `"dispute":{`), ",")+"}}")
		if err != nil || beforeErr != nil || afterErr != nil || genuine.Dispute == nil || before.Dispute == nil || after.Dispute == nil {
			t.Errorf("%s: %v %v %v %s %s", name, err, beforeErr, afterErr, before.Unreadable, after.Unreadable)
			continue
		}
		if *before.Dispute != *genuine.Dispute || *after.Dispute != *genuine.Dispute {
			t.Errorf("%s: %+v and %+v, expected %+v", name, before.Dispute, after.Dispute, genuine.Dispute)
		}
	}
}
