package servicetest

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"payledger/cmd/payledger/apptest"
	"payledger/domain/payment"
	"payledger/eventstore/feed"
)

// TestFeed: package feed reads the service's events over HTTP and from the stream EVENTS, with the
// same result (I2).
func TestFeed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := apptest.TestOptions(dir)
	o.NatsListen = "127.0.0.1:0"
	app := apptest.StartApp(t, o)
	m := apptest.NewMerchant(app.API.URL, app.Credentials.APIKey)
	paid, err := m.Pay(m.Token(t, "order-1001", 2500, "4111111111111111"), "")
	if err != nil {
		t.Fatal(err)
	}
	var made apptest.PaymentAnswer
	paid.Decode(t, &made)
	m.Must(t, "POST", "/payments/"+made.ID+"/capture", m.Headers(), map[string]any{"amount": 2000})
	status, text, fault := apptest.Invoke(t, "analytics-user", "reader", "--data", dir)
	credentials := filepath.Join(t.TempDir(), "reader.creds")
	if err := os.WriteFile(credentials, []byte(text), 0o600); err != nil || status != 0 {
		t.Fatal(status, fault, err)
	}
	read := map[string][]feed.Event{}
	for name, f := range map[string]*feed.Feed{
		"HTTP": feed.HTTP(app.API.URL, app.Credentials.APIKey), "NATS": feed.NATS(app.Ready().NATS, credentials),
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		last, missing := uint64(0), []string{
			"session.created", "instrument.tokenized", "instrument.used", "payment.created", "payment.authorized", "payment.capture_requested", "payment.captured",
		} // the order of events of different aggregates is not known
		for e, err := range f.Follow(ctx, 0) {
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if e.Fact == nil || e.Fact.Type() != e.Type || e.Actor == "" || e.Hash == "" || time.Since(e.Time) > time.Hour {
				t.Errorf("%s: %s is %+v", name, e.Type, e)
			}
			if p := e.Payment; p != nil && p.Status == payment.StatusPartiallySettled || p != nil && p.Status == payment.StatusSettled {
				if string(p.ID) != made.ID || p.OrderID != "order-1001" || p.Processor.AmountCaptured != 2000 {
					t.Errorf("%s: the payment is %+v", name, p)
				}
			}
			missing = slices.DeleteFunc(missing, func(kind string) bool { return kind == e.Type })
			if last = e.Position; len(missing) == 0 {
				break
			}
		}
		for e, err := range f.Events(ctx, 0) {
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if e.Position <= last {
				read[name] = append(read[name], e)
			}
		}
	}
	if len(read["HTTP"]) < 8 || !reflect.DeepEqual(read["HTTP"], read["NATS"]) {
		t.Errorf("over HTTP\n%+v\nfrom the stream\n%+v", read["HTTP"], read["NATS"])
	}
}
