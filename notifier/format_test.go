package notifier

import (
	"bytes"
	"encoding/hex"
	"errors"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"payledger/domain/webhook"
	"payledger/eventstore/deliverylog"
	"payledger/notifier/delivery"
)

var rewrite = flag.Bool("rewrite", false, "write golden files anew")

// golden compares with a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := "testdata/" + name
	if *rewrite {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs:\n%s", path, got)
	}
}

var goldenTime = time.Date(2026, 3, 14, 9, 26, 53, 589_793_000, time.UTC)

var goldenDelivery = delivery.Delivery{
	Schema: 1, Account: "acct1", Endpoint: "5d0f3c1e-2b6a-4f7d-9c8e-0a1b2c3d4e5f", Kind: webhook.PaymentStatus,
	EventID: "22222222-0000-4000-8000-000000000002", Shard: 3, Seq: 70_000, Aggregate: "payment", AggregateID: "01golden",
	Revision: 2, PlannedAt: goldenTime, Planner: "33333333-0000-4000-8000-000000000003", Status: delivery.Planned,
}

// nominal is the schedule of D18 without its jitter.
var nominal = delivery.Schedule{Delays: delivery.DefaultRetryDelays(), Random: func() float64 { return 0.5 }}

// goldenRecords are a delivery's records, one for each status.
func goldenRecords() []delivery.Delivery {
	keys := []string{"signing-secret.acct1.2", "signing-secret.acct1.1"}
	attempt := delivery.Attempt{StartedAt: goldenTime, Duration: 1234, StatusCode: 503, Failure: delivery.FailureStatus, Excerpt: "try later", Keys: keys}
	waits := goldenDelivery.WithAttempt(attempt, nominal)
	by := attempt
	by.Manual = true
	exhausted := waits.WithAttempt(by, nominal)
	for exhausted.Status != delivery.Exhausted {
		exhausted = exhausted.WithAttempt(attempt, nominal)
	}
	won := waits.WithAttempt(delivery.Attempt{StartedAt: goldenTime, Duration: 5, StatusCode: 200, Keys: keys[:1]}, nominal)
	return []delivery.Delivery{goldenDelivery, waits, exhausted, won, waits.Cancel()}
}

// TestDeliveryBytes: the bytes of a delivery are those of the golden file, and read back as the
// same delivery.
func TestDeliveryBytes(t *testing.T) {
	t.Parallel()
	var lines []string
	for _, d := range goldenRecords() {
		body, err := d.Encode()
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, hex.EncodeToString(body))
		back, err := delivery.Decode(deliverylog.Record{Name: d.Name(), Seq: 1, Body: body})
		if err != nil || !reflect.DeepEqual(back, d) {
			t.Errorf("read back as %+v, %v", back, err)
		}
	}
	golden(t, "delivery.hex", []byte(strings.Join(lines, "\n")+"\n"))
	if goldenDelivery.Name() != "acct1.5d0f3c1e-2b6a-4f7d-9c8e-0a1b2c3d4e5f.22222222-0000-4000-8000-000000000002.PAYMENT-STATUS" {
		t.Error(goldenDelivery.Name())
	}
}

// TestDeliveryID: an id is one token for ever, and is another for another delivery.
func TestDeliveryID(t *testing.T) {
	t.Parallel()
	other := goldenDelivery
	other.Kind = webhook.PaymentRefund
	if id := goldenDelivery.ID(); id != "r6q5r2lbhd6ei3vyy6sn3cw554" || other.ID() == id || delivery.IDOf(goldenDelivery.Name()) != id {
		t.Error(id, other.ID())
	}
}

// TestDecodeRefuses: a record of a newer build, or of another name, is never taken for a delivery.
func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	newer := goldenDelivery
	newer.Schema = delivery.Schema + 1
	body, err := newer.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := delivery.Decode(deliverylog.Record{Name: newer.Name(), Body: body}); !errors.Is(err, delivery.ErrNewerRecord) {
		t.Error(err)
	}
	if body, err = goldenDelivery.Encode(); err != nil {
		t.Fatal(err)
	}
	for name, stored := range map[string]deliverylog.Record{
		"another name": {Name: "acct2.a.b.c", Body: body}, "cut": {Name: goldenDelivery.Name(), Body: body[:20]},
		"empty": {Name: goldenDelivery.Name()}, "no map": {Name: goldenDelivery.Name(), Body: []byte{1}},
	} {
		if _, err := delivery.Decode(stored); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// FuzzDecodeDelivery checks that no bytes make it panic, and that accepted bytes are the same after
// decoding and encoding.
func FuzzDecodeDelivery(f *testing.F) {
	body, err := goldenDelivery.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(body)
	f.Fuzz(func(t *testing.T, body []byte) {
		d, err := delivery.Decode(deliverylog.Record{Name: goldenDelivery.Name(), Body: body})
		if err != nil {
			return
		}
		if _, err := d.Encode(); err != nil || d.Name() != goldenDelivery.Name() {
			t.Error(d, err)
		}
	})
}
