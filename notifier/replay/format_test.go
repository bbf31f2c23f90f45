package replay

import (
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"payledger/domain/webhook"
	"payledger/eventstore/codec"
	"payledger/eventstore/deliverylog"
	"payledger/notifier/delivery"
	"payledger/projections/deliveries"
)

var goldenTime = time.Date(2026, 3, 14, 9, 26, 53, 589_793_000, time.UTC)

var goldenDelivery = delivery.Delivery{
	Account: "acct1", Endpoint: "5d0f3c1e-2b6a-4f7d-9c8e-0a1b2c3d4e5f", Kind: webhook.PaymentStatus,
	EventID: "22222222-0000-4000-8000-000000000002", Planner: "33333333-0000-4000-8000-000000000003",
}

// goldenReplay has every field.
var goldenReplay = record{
	Schema: 1, ID: "44444444-0000-4000-8000-000000000004", Account: "acct1", Endpoint: goldenDelivery.Endpoint,
	From: goldenTime, To: goldenTime.Add(time.Hour), Kinds: []webhook.Kind{webhook.PaymentRefund, webhook.PaymentStatus}, OnlyFailed: true,
	CreatedAt: goldenTime.Add(2 * time.Hour), Runner: goldenDelivery.Planner, Owner: "node1.2", State: deliveries.ReplayFailed, Failure: "the endpoint was deleted",
	End: []uint64{7, 0, 70_000}, At: []uint64{7, 0, 400}, DoneAfterAt: []string{goldenDelivery.Name()}, Count: 9, Done: 3, Through: 70_001,
}

var rewrite = flag.Bool("rewrite", false, "write golden files anew")

// golden compares bytes with a file of testdata.
func golden(t *testing.T, name string, body []byte) {
	t.Helper()
	path, got := "testdata/"+name, hex.EncodeToString(body)+"\n"
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(path); err != nil || string(want) != got {
		t.Errorf("%s differs, %v: %s", path, err, got)
	}
}

// TestReplayBytes: the bytes of a replay, and of the list of replays under way, are those of the
// golden files, and a replay reads back as the same. No reader of deliveries takes them for one.
func TestReplayBytes(t *testing.T) {
	t.Parallel()
	body, err := goldenReplay.encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := decode(deliverylog.Record{Name: goldenReplay.name(), Body: body})
	if err != nil || !reflect.DeepEqual(back, goldenReplay) {
		t.Errorf("read back as %+v, %v", back, err)
	}
	open, err := codec.Marshal(openList{Schema: 1, Open: []string{goldenReplay.name()}, Runner: goldenReplay.Runner, Before: 12})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "replay.hex", body)
	golden(t, "replays.hex", open)
	for _, name := range []string{goldenReplay.name(), listName} {
		if (deliverylog.Record{Name: name}).IsDelivery() {
			t.Errorf("%s looks like a delivery's", name)
		}
	}
	newer := goldenReplay
	newer.Schema++
	if body, err = newer.encode(); err != nil {
		t.Fatal(err)
	}
	for _, stored := range []deliverylog.Record{{Name: newer.name(), Body: body}, {Name: "replay.acct2.x", Body: body}, {Name: newer.name(), Body: bytes.Repeat([]byte{1}, 9)}} {
		if _, err := decode(stored); err == nil {
			t.Errorf("%s was read", stored.Name)
		}
	}
	if text := fmt.Sprint(goldenReplay.value()); strings.Contains(text, "plsec_") {
		t.Error(text)
	}
}
