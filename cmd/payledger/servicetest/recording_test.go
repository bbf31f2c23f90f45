package servicetest

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"payledger/cmd/payledger/apptest"
	"payledger/eventstore/feed"
)

var recordEvents = flag.Bool("record-events", false, "write the recorded events of package feed anew")

const recordedEvents = "../../../eventstore/feed/testdata/events.jsonl"

// TestRecordedEvents: the events that package feed has recorded for its examples have the types and
// the fields of the service's events. The payment has 25.00 EUR, of which 20.00 EUR are captured.
func TestRecordedEvents(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := apptest.TestOptions(dir)
	o.NatsListen = "127.0.0.1:0"
	app := apptest.StartApp(t, o)
	m := apptest.NewMerchant(app.API.URL, app.Credentials.APIKey)
	if status, _, fault := apptest.Invoke(t, "analytics-user", "reader", "--data", dir); status != 0 {
		t.Fatal(status, fault)
	}
	var session struct{ ClientToken string }
	m.Must(t, "POST", "/client-session", m.Headers(), map[string]any{
		"orderId": "order-1001", "currencyCode": "EUR", "amount": 2500, "metadata": map[string]any{"gift": true},
		"paymentMethod": map[string]any{"options": map[string]any{"wrap": []any{json.Number("1.0"), nil}}},
	}).Decode(t, &session)
	var card struct{ Token string }
	m.Must(t, "POST", "/payment-instruments", map[string]string{"X-Client-Token": session.ClientToken}, map[string]any{"paymentInstrument": map[string]any{
		"number": apptest.CardApproved, "cvv": "123", "expirationMonth": "12", "expirationYear": apptest.Expires, "cardholderName": "Ada Lovelace",
	}}).Decode(t, &card)
	var paid apptest.PaymentAnswer
	answer, err := m.Pay(card.Token, "")
	if err != nil {
		t.Fatal(err)
	}
	answer.Decode(t, &paid)
	m.Must(t, "POST", "/payments/"+paid.ID+"/capture", m.Headers(), map[string]any{"amount": 2000})

	const expected = 9 // events: of the account 2, the session 1, the instrument 2, the payment 4
	var lines [][]byte
	for e, err := range feed.HTTP(app.API.URL, app.Credentials.APIKey).Follow(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if lines = append(lines, e.JSON); len(lines) == expected {
			break
		}
	}
	if *recordEvents {
		if err := os.WriteFile(recordedEvents, append(bytes.Join(lines, []byte("\n")), '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(recordedEvents)
	if err != nil {
		t.Fatal(err)
	}
	service, recorded := eventFields(t, lines), eventFields(t, bytes.Split(bytes.TrimSpace(text), []byte("\n")))
	if missing := without(service, recorded); len(missing) > 0 {
		t.Errorf("the recording has no %v\nwrite it anew with -args -record-events", missing)
	}
	if more := without(recorded, service); len(more) > 0 {
		t.Errorf("the service does not write %v\nwrite the recording anew with -args -record-events", more)
	}
}

func without(from, what []string) []string {
	return slices.DeleteFunc(slices.Clone(from), func(name string) bool { return slices.Contains(what, name) })
}

// eventFields returns the fields of events, each with the type of its event, sorted.
func eventFields(t *testing.T, events [][]byte) []string {
	t.Helper()
	found := map[string]bool{}
	for _, text := range events {
		var e map[string]any
		if err := json.Unmarshal(text, &e); err != nil {
			t.Fatal(err)
		}
		var walk func(path string, value any)
		walk = func(path string, value any) {
			found[path] = true
			switch v := value.(type) {
			case map[string]any:
				for name, inner := range v {
					walk(path+"."+name, inner)
				}
			case []any:
				for _, inner := range v {
					walk(path+"[]", inner)
				}
			}
		}
		walk(fmt.Sprint(e["type"]), e)
	}
	return slices.Sorted(maps.Keys(found))
}
