package adapter_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"payledger/domain/processor"
	"payledger/processorsim/protocol"
	"payledger/processorsim/simulator/dialect"
)

// TestBodyKeepsWhatIsNamed checks that the body has exactly the fields of the protocol, that all
// others are returned apart, and that they do not change the notification.
func TestBodyKeepsWhatIsNamed(t *testing.T) {
	plain, err := parse(processor.Adyen, captured)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ old, new, additional string }{
		"at the top":              {`{"id"`, `{"customer":{"name":"Ada"},"id"`, `{"customer":{"name":"Ada"}}`},
		"as a name":               {`{"id"`, `{"Ada Lovelace":1,"id"`, `{"Ada Lovelace":1}`},
		"in the answer":           {`"answer":{`, `"answer":{"buyer":["Ada"],`, `{"answer":{"buyer":["Ada"]}}`},
		"an object for a text":    {`"answer":{`, `"answer":{"risk":"Ada","binData":{"issuerName":"Ada's bank","holder":"Ada"},`, ``},
		"a dispute of no dispute": {`{"id"`, `{"dispute":{"reason":"Ada"},"id"`, `{"dispute":{"reason":"Ada"}}`},
	} {
		notification, err := parse(processor.Adyen, strings.Replace(captured, c.old, c.new, 1))
		if c.additional == "" { // a notification in another form than the protocol's is refused
			if err == nil {
				t.Errorf("%s: %+v", name, notification)
			}
			continue
		}
		if err != nil || strings.Contains(notification.Body, "Ada") || notification.Additional != c.additional || notification.Redacted {
			t.Errorf("%s: %v %+v", name, err, notification)
		}
		if again, err := parse(processor.Adyen, notification.Body); err != nil || again.Notification.ID != plain.ID || *again.Answer != *plain.Answer || again.Additional != "" {
			t.Errorf("%s: the body does not tell the same: %v %+v", name, err, again)
		}
	}
	unreadable := strings.NewReplacer(`"open"`, `{"of":"Ada"}`, `"reason":`, `"claimant":"Ada","reason":`).Replace(disputeOfBraintree)
	notification, err := parse(processor.Braintree, unreadable)
	if err != nil || notification.Unreadable == "" || strings.Contains(notification.Body, "Ada") || notification.Additional != `{"dispute":{"claimant":"Ada","status":{"of":"Ada"}}}` {
		t.Errorf("%v %+v", err, notification)
	}
}

// TestOwnFieldsAreNamed: every field of every processor's disputes is named, so that none is taken
// for an addition.
func TestOwnFieldsAreNamed(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, name := range processor.Names {
		for _, status := range processor.DisputeStatuses {
			dispute := dialect.Write(protocol.Dispute{
				ID: "dp_1", Processor: name, ProcessorMerchantID: "m", Reference: "01abc", ProcessorTransactionID: "tx_1", Type: processor.Chargeback,
				Status: status, ReasonCode: "10.4", Amount: 100, Currency: "EUR", ChallengeRequiredBy: at.Add(time.Hour), CreatedAt: at, UpdatedAt: at,
			})
			body, err := json.Marshal(protocol.Notification{ID: "nt_1", Processor: name, Type: processor.Dispute, Reference: "01abc", Dispute: dispute})
			if err != nil {
				t.Fatal(err)
			}
			notification, err := parse(name, string(body))
			if err != nil || notification.Additional != "" || notification.Body != string(body) || notification.Unreadable != "" {
				t.Errorf("%s, %s: %v %+v", name, status, err, notification)
			}
		}
	}
}
