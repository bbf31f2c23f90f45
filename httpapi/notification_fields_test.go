package httpapi_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"payledger/eventstore/eventstoretest"
	"payledger/processorsim/protocol"
)

// additions are fields of a notification that the protocol does not name. They contain personal
// data.
const additions = `"claimant":{"fullName":"Zenobia Quux","born":"1815-12-10"},"Quux, Zenobia":"12 Analytical Row","note":"her iban is GB33BUKB20201555555555"`

var ofThePerson = []string{"Zenobia", "Quux", "1815-12-10", "Analytical Row", "GB33BUKB20201555555555"}

// disputeWith is a dispute's notification with additions, at the top and in the dispute itself.
func disputeWith(id, reference string) string {
	return fmt.Sprintf(`{"id":%q,%s,"processor":"ADYEN","type":"dispute","reference":%q,"dispute":{"disputePspReference":"dp_%s",%s,`+
		`"disputeType":"Chargeback","disputeStatus":"Undefended","reason":"late","reasonCode":"13.1","disputedAmount":{"value":100,"currency":"EUR"},"eventDate":%q}}`,
		id, additions, reference, id, additions, time.Now().UTC().Format(time.RFC3339))
}

// TestNoCardNumberOfAProcessor checks that a card number in a processor's text, in any notation,
// reaches no event, answer, file or log (D14).
func TestNoCardNumberOfAProcessor(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r := newRig(t)
	id := r.want(r.pay(payWith(r.tokenize(r.session(someSession), goodCard))), 200, "").text1("id")
	for i, reason := range []string{
		"stolen 4111111111111111", "stolen card4111111111111111x", "0.4111111111111111", "41 111-111 1111 1111-1", "4111111111111111.html",
	} {
		body := strings.Replace(disputeWith(fmt.Sprintf("nt_%d", i), id), `"reason":"late"`, `"reason":"`+reason+`"`, 1)
		r.want(r.signedNotify("ADYEN", body), 200, "")
	}
	seen := r.want(r.get("/payments/"+id+"/events"), 200, "")
	entries := seen.field("data").([]any)
	if notices := entries[len(entries)-1].(map[string]any)["notifications"].([]any); len(notices) != 5 {
		t.Fatalf("%d notifications: %s", len(notices), seen.text)
	}
	kept := r.kept()
	kept["the log"], kept["the history"] = []byte(r.log.String()), []byte(seen.text)
	for where, content := range kept {
		if strings.HasPrefix(where, "event ") && bytes.Contains(content, []byte("111 1111 1111")) || bytes.Contains(content, []byte("4111111111111111")) {
			t.Errorf("%s holds a card number", where)
		}
	}
}

// TestAddedFieldsAreSealed checks that additional fields of a processor's notifications are in no
// event and no file in clear. They are sealed under the key of the payment, whose history shows
// them. For an unknown payment they are not stored (D14).
func TestAddedFieldsAreSealed(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r := newRig(t)
	sessions := map[string]string{"of a customer": someSession, "of a guest": guestSession}
	for who, session := range sessions {
		made := r.want(r.pay(payWith(r.tokenize(r.session(session), goodCard))), 200, "")
		id := made.text1("id")
		r.want(r.signedNotify("ADYEN", disputeWith("nt_"+id, id)), 200, "")
		unreadable := strings.Replace(disputeWith("nu_"+id, id), `"Undefended"`, `{"by":"Zenobia"}`, 1)
		r.want(r.signedNotify("ADYEN", unreadable), 200, "")
		seen := r.want(r.get("/payments/"+id+"/events"), 200, "")
		entries := seen.field("data").([]any)
		notices := entries[len(entries)-1].(map[string]any)["notifications"].([]any)
		if len(notices) != 2 {
			t.Fatalf("%s: %s", who, seen.text)
		}
		for _, n := range notices {
			notice := n.(map[string]any)
			body, additional := fmt.Sprint(notice["body"]), fmt.Sprint(notice["additional"])
			for _, personal := range ofThePerson {
				if strings.Contains(body, personal) || !strings.Contains(additional, personal) {
					t.Errorf("%s: %q of %s | %s", who, personal, body, additional)
				}
			}
			if !strings.Contains(body, "disputePspReference:dp_") || notice["redacted"] == true {
				t.Errorf("%s: %v", who, notice)
			}
		}
	}
	stranger := "01" + strings.Repeat("z", 25) + "w"
	r.want(r.signedNotify("ADYEN", disputeWith("nt_2", stranger)), 200, "")
	operation := strings.Replace(captured(t, stranger, stranger+".3"), "{", "{"+additions+",", 1)
	r.want(r.notify("ADYEN", operation, protocol.Sign(processorSecret, []byte(operation))), 200, "")
	kept := r.kept()
	kept["the log"] = []byte(r.log.String())
	received := 0
	for where, content := range kept {
		if strings.HasPrefix(where, "event inbox.received") {
			received++
		}
		for _, personal := range ofThePerson {
			if bytes.Contains(content, []byte(personal)) {
				t.Errorf("%s holds %q", where, personal)
			}
		}
	}
	if received != 2*len(sessions)+2 {
		t.Errorf("%d notifications were kept", received)
	}
}
