package engine_test

import (
	"context"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/codec"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/format"
	"payledger/eventstore/tipstore"
	"payledger/eventstore/tipstore/tipfiles"
)

// unsettled are payments of a build whose states keep everything. settled are those of the next
// build: its schema is higher, and finished operations leave the state.
var (
	unsettled = format.NewAggregate("payment", 1, payment.Events(), func(s payment.State, e payment.Event) payment.State {
		return payment.Evolve(s.Whole(), e).Whole()
	})
	settled = format.Letting(format.NewAggregate("payment", 2, payment.Events(), payment.Evolve), engine.PaymentParts)
)

// longLife is a payment of many captures, with its state after each revision.
type longLife struct {
	key  eventstore.Key
	tip  eventstore.Tip[payment.State]
	said []payment.State // whole, by revision − 1

	reads *eventstore.Aggregate[payment.State, payment.Event] // by the build that checks it
	folds bool                                                // there are not all rows: the events are folded
}

// newLife makes an authorized payment.
func newLife(t *testing.T, s *engine.Store, a *eventstore.Aggregate[payment.State, payment.Event]) *longLife {
	t.Helper()
	l := &longLife{key: newKey(), reads: eventstore.Payments}
	l.key.Aggregate = a.Name
	l.do(t, s, a, func(m eventstore.Meta, p payment.State) (payment.Event, error) {
		return payment.DecideCreate(p, payment.Create{
			At: m.At, ID: domain.PaymentID(l.key.ID), Account: l.key.Account, OrderID: "order", Currency: "EUR", Amount: new(domain.Amount(100_000)),
			Route: []payment.Target{{Processor: processor.Adyen, MerchantID: "m"}}, IdempotencyKey: "create",
			Order:    &domain.Order{CountryCode: "GB", LineItems: []domain.LineItem{{ItemID: "sku", Amount: 100_000}}},
			Personal: &domain.Sealed{Key: "customer-key", Box: []byte("sealed"), EmailHash: "hash"},
		})
	})
	l.answer(t, s, a, 1)
	return l
}

// do decides, appends, and notes the payment.
func (l *longLife) do(t *testing.T, s *engine.Store, a *eventstore.Aggregate[payment.State, payment.Event], decide func(eventstore.Meta, payment.State) (payment.Event, error)) {
	t.Helper()
	meta := newMeta(t, s)
	var err error
	l.tip, err = eventstore.Execute(testContext(t), s, a, l.key, meta, func(p payment.State) (payment.Event, error) { return decide(meta, p) })
	if err != nil || !l.tip.Appended {
		t.Fatal(l.tip.Appended, err)
	}
	if err := l.tip.State.Check(); err != nil && a != unsettled {
		t.Fatal(err)
	}
	l.said = append(l.said, l.tip.State.Whole())
}

func (l *longLife) answer(t *testing.T, s *engine.Store, a *eventstore.Aggregate[payment.State, payment.Event], request uint64) {
	t.Helper()
	l.do(t, s, a, func(m eventstore.Meta, p payment.State) (payment.Event, error) {
		return payment.DecideAnswer(p, payment.RecordAnswer{At: m.At, EventID: m.EventID, Request: request, Answer: processor.Answer{
			State: processor.Succeeded, ProcessorTransactionID: "t-" + strconv.FormatUint(request, 10),
		}})
	})
}

// capture takes a part, n times, each with an idempotency key.
func (l *longLife) capture(t *testing.T, s *engine.Store, a *eventstore.Aggregate[payment.State, payment.Event], n int) {
	t.Helper()
	for range n {
		l.do(t, s, a, func(m eventstore.Meta, p payment.State) (payment.Event, error) {
			return payment.DecideCapture(p, payment.Capture{Amount: new(domain.Amount(7)), Request: payment.Request{
				At: m.At, EventID: m.EventID, IdempotencyKey: "capture-" + strconv.FormatUint(p.Revision, 10),
			}})
		})
		l.answer(t, s, a, l.tip.State.Revision)
	}
}

// check reads the payment at every revision again, and compares it with its earlier state.
func (l *longLife) check(t *testing.T, s *engine.Store) {
	t.Helper()
	ctx := testContext(t)
	tip, err := eventstore.Load(ctx, s, l.reads, l.key, eventstore.Applied)
	if err != nil || !reflect.DeepEqual(tip.State.Whole(), l.said[len(l.said)-1]) {
		t.Fatalf("the newest state is another one: %v %s", err, cmp.Diff(l.said[len(l.said)-1], tip.State.Whole()))
	}
	if tip.Recorded.Schema == l.reads.Schema {
		if err := tip.State.Check(); err != nil {
			t.Fatal(err)
		}
		if decoded, err := l.reads.State(tip.Recorded.Fresh()); err != nil || decoded.HasPast() || len(decoded.Operations) != 1+payment.Tail {
			t.Fatalf("the log carries %d operations, all %t, %v", len(decoded.Operations), decoded.HasPast(), err)
		}
	}
	events, err := s.History(ctx, l.key)
	if err != nil || len(events) != len(l.said) {
		t.Fatal(len(events), err)
	}
	for i, r := range events {
		got, err := eventstore.StateAt(ctx, s, l.reads, r.Fresh())
		if err != nil || !reflect.DeepEqual(got.Whole(), l.said[i]) {
			t.Fatalf("revision %d: %v %s", r.Revision, err, cmp.Diff(l.said[i], got.Whole()))
		}
		if l.folds {
			continue
		}
		if got, err := engine.StateByRows(s, l.reads, r.Fresh()); err != nil || !got.HasPast() {
			t.Fatalf("revision %d: the rows do not have all parts moved out: %v %+v", r.Revision, err, got.Totals)
		}
	}
	middle := events[len(events)/2]
	if got, err := eventstore.AsOf(ctx, s, l.reads, tip.Recorded.Fresh(), middle.Time); err != nil || got.Revision < middle.Revision ||
		!reflect.DeepEqual(got.Whole(), l.said[got.Revision-1]) {
		t.Fatalf("at %s: %v %s", middle.Time, err, cmp.Diff(l.said[got.Revision-1], got.Whole()))
	}
}

// rows calls handle with every row of the parts moved out of states, and its key, in the tip store
// of a folder.
func rows(t *testing.T, dir string, handle func(b tipstore.Batch, key, value []byte) error) (n int) {
	t.Helper()
	tips, err := tipfiles.Open(tipstore.Options{Dir: tipsOf(dir)})
	if err != nil {
		t.Fatal(err)
	}
	batch := tips.NewBatch()
	err = tips.Each([]byte("h"), func(key, value []byte) error { n++; return handle(batch, key, value) })
	if err := errors.Join(err, batch.Commit(), tips.Flush(), tips.Close()); err != nil {
		t.Fatal(err)
	}
	return n
}

const rowsMissing = "rows are missing"

// TestLeftIsFound checks, for several conditions of the tip store, that every state of a payment,
// the newest and the earlier ones, is read with all parts moved out of it: from memory, from rows,
// from both, or folded from the events.
func TestLeftIsFound(t *testing.T) {
	t.Parallel()
	whole, before := t.TempDir(), t.TempDir()
	var long, short *longLife
	stopped(t, whole, func(s *engine.Store) {
		long, short = newLife(t, s, eventstore.Payments), newLife(t, s, eventstore.Payments)
		long.capture(t, s, eventstore.Payments, 7)
		short.capture(t, s, eventstore.Payments, 5)
	})
	copyTree(t, whole, before)
	stopped(t, whole, func(s *engine.Store) {
		long.check(t, s)
		long.capture(t, s, eventstore.Payments, 9)
		long.check(t, s) // the newest rows are in memory
		short.check(t, s)
	})
	drop := func(b tipstore.Batch, key, _ []byte) error { return b.Delete(key) }
	for _, c := range []struct {
		name     string
		change   func(t *testing.T, dir string)
		readOnly bool
	}{
		{"as it was", func(*testing.T, string) {}, false},
		{"read only", func(*testing.T, string) {}, true},
		{"the tip store is gone", func(t *testing.T, dir string) { remove(t, tipsOf(dir)) }, false},
		{"the tip store is of an earlier moment", func(t *testing.T, dir string) { replace(t, tipsOf(before), tipsOf(dir)) }, false},
		{"of an earlier moment, read only", func(t *testing.T, dir string) { replace(t, tipsOf(before), tipsOf(dir)) }, true},
		{rowsMissing, func(t *testing.T, dir string) { rows(t, dir, drop) }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			copyTree(t, whole, dir)
			c.change(t, dir)
			config := eventstoretest.Config(eventstoretest.Server(t, dir))
			config.ReadOnly = c.readOnly
			s := eventstoretest.OpenOn(t, config)
			long, short := *long, *short
			long.folds, short.folds = c.name == rowsMissing, c.name == rowsMissing
			long.check(t, s)
			short.check(t, s)
			if !c.readOnly {
				more := long
				more.said = slices.Clone(long.said)
				more.capture(t, s, eventstore.Payments, 6)
				more.check(t, s)
			}
		})
	}
}

// TestLeftRows checks that the rows of the tip store are the parts moved out of the states when the
// events are folded, after a rebuild as before.
func TestLeftRows(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var life *longLife
	want := map[string]string{}
	stopped(t, dir, func(s *engine.Store) {
		life = newLife(t, s, eventstore.Payments)
		life.capture(t, s, eventstore.Payments, 12)
		for p := life.tip.State.Past; p != nil; p = p.Before {
			data, err := codec.Marshal(p.Finished)
			if err != nil {
				t.Fatal(err)
			}
			want[strconv.FormatUint(p.Revision, 10)] = hex.EncodeToString(data)
		}
	})
	for _, rebuilt := range []bool{false, true} {
		if rebuilt {
			remove(t, tipsOf(dir))
			stopped(t, dir, func(*engine.Store) {})
		}
		got := map[string]string{}
		rows(t, dir, func(_ tipstore.Batch, key, value []byte) error {
			revision, err := strconv.ParseUint(hex.EncodeToString(key[len(key)-8:]), 16, 64)
			got[strconv.FormatUint(revision, 10)] = hex.EncodeToString(value)
			return err
		})
		if len(want) < 12 || !reflect.DeepEqual(got, want) {
			t.Errorf("rebuilt %t: rows %v, not %v", rebuilt, got, want)
		}
	}
}

// TestLeftOfOlderSchema: a payment that an older schema wrote, with all its operations, goes on
// with this one, and is read with all of them.
func TestLeftOfOlderSchema(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var life *longLife
	stopped(t, dir, func(s *engine.Store) {
		life = newLife(t, s, unsettled)
		life.reads, life.folds = settled, true
		life.capture(t, s, unsettled, 8)
		life.check(t, s)
		life.capture(t, s, settled, 1)
	})
	stopped(t, dir, func(s *engine.Store) {
		life.check(t, s)
		life.capture(t, s, settled, 8)
	})
	stopped(t, dir, func(s *engine.Store) { life.check(t, s) })
}

// TestLeftInMemory checks that of all events of a payment in memory only the newest has most of the
// parts moved out of the state. The earlier ones use its parts.
func TestLeftInMemory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var life *longLife
	look := func(s *engine.Store, rowsThere bool) {
		if _, err := eventstore.Load(testContext(t), s, eventstore.Payments, life.key, eventstore.Applied); err != nil {
			t.Fatal(err)
		}
		if tip, known := eventstore.Remembered(s, eventstore.Payments, life.key); !known || !tip.State.HasPast() {
			t.Errorf("remembered: %t with all parts moved out of it %t", known, tip.State.HasPast())
		}
		events, err := s.History(testContext(t), life.key)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range events[30 : len(events)-1] {
			if state, err := eventstore.Payments.State(r); err != nil || state.HasPast() {
				t.Fatalf("the event at revision %d keeps what left: %v", r.Revision, err)
			}
			if byRows, err := engine.StateByRows(s, eventstore.Payments, r); err != nil || byRows.HasPast() != rowsThere {
				t.Fatalf("revision %d by its rows: %t, %v", r.Revision, byRows.HasPast(), err)
			}
			if got, err := eventstore.StateAt(testContext(t), s, eventstore.Payments, r); err != nil || !reflect.DeepEqual(got.Whole(), life.said[i+30]) {
				t.Fatalf("revision %d is %+v, %v", r.Revision, got.Whole(), err)
			}
		}
	}
	stopped(t, dir, func(s *engine.Store) {
		life = newLife(t, s, eventstore.Payments)
		life.capture(t, s, eventstore.Payments, 24)
		look(s, true)
	})
	stopped(t, dir, func(s *engine.Store) { look(s, true) })
	rows(t, dir, func(b tipstore.Batch, key, _ []byte) error { return b.Delete(key) })
	stopped(t, dir, func(s *engine.Store) { look(s, false) })
}

// TestLeftIsNeverMissing checks that no event is appended to a state without the parts moved out of
// it.
func TestLeftIsNeverMissing(t *testing.T) {
	t.Parallel()
	s := sole(t, 1).store()
	life := newLife(t, s, eventstore.Payments)
	life.capture(t, s, eventstore.Payments, 6)
	tip := life.tip
	tip.State.Past = tip.State.Past.Before
	_, err := eventstore.ExecuteFrom(context.Background(), s, eventstore.Payments, tip, newMeta(t, s), func(p payment.State) (payment.Event, error) {
		return payment.DecideCapture(p, payment.Capture{Request: payment.Request{At: s.Now()}})
	})
	if err == nil {
		t.Error("an event was appended on a state without its past")
	}
}

// TestLeftBytes checks that the bytes of a body with parts moved out of the state never change.
func TestLeftBytes(t *testing.T) {
	t.Parallel()
	left := payment.Finished{
		Operations: []payment.Operation{{Revision: 3, Kind: processor.Capture, Amount: 7, State: payment.StateSucceeded, Parent: 1}}, KeyHashes: []string{"hash"},
	}
	state := payment.State{ID: "01p", Revision: 9, Operations: []payment.Operation{}, Totals: payment.Totals{Operations: 1, KeyHashes: 1, Captured: 7, Taken: true}}
	state.Past = state.Past.Then(9, left)
	body, err := eventstore.Payments.Core.Encode("", payment.AdjustmentUnneeded{KeyHash: "hash"}, state)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("testdata", "left.hex")
	want, err := os.ReadFile(file)
	if os.IsNotExist(err) && *update {
		want = []byte(hexLines(body))
		err = os.WriteFile(file, want, 0o600)
	}
	if err != nil || hexLines(body) != string(want) {
		t.Fatalf("%v; the body is\n%s", err, hexLines(body))
	}
	r := &eventstore.Recorded{Type: payment.AdjustmentUnneeded{}.Type(), Schema: eventstore.Payments.Schema, Body: body}
	back, err := eventstore.Payments.State(r)
	cut, _, cutErr := r.Parts()
	alone, aloneErr := codec.Marshal(back)
	if err := errors.Join(err, cutErr, aloneErr); err != nil || string(cut) != string(alone) || back.HasPast() {
		t.Errorf("%x, %x, %v", cut, alone, err)
	}
	for n := range body {
		if _, _, err := (&eventstore.Recorded{Body: body[:n]}).Parts(); err == nil {
			t.Errorf("%d bytes of %d are a body", n, len(body))
		}
	}
}

// TestWeightOfOrders checks that the estimate of an order's memory is at least its bytes, and not
// much more.
func TestWeightOfOrders(t *testing.T) {
	text := strings.Repeat("x", 250)
	item := domain.LineItem{ItemID: text, Name: text, Description: text, TaxCode: text, ProductData: &domain.ProductData{
		SKU: text, Brand: text, Color: text, GlobalTradeItemNumber: text, ManufacturerPartNumber: text, PageURL: text,
	}}
	for name, order := range map[string]*domain.Order{
		"seven long items": {LineItems: slices.Repeat([]domain.LineItem{item}, 7)},
		"many short items": {LineItems: make([]domain.LineItem, 500)},
		"fees":             {Fees: slices.Repeat([]domain.Fee{{Type: text, Description: text}}, 100)},
		"shipping":         {Shipping: &domain.Shipping{MethodID: text, MethodName: text, MethodDescription: text}},
	} {
		bytes, err := codec.Marshal(order)
		if err != nil {
			t.Fatal(err)
		}
		s := payment.Evolve(payment.State{}, payment.Created{Order: order})
		if w := engine.Weight(s); w < len(bytes) || w > 600+300*len(order.LineItems)+4*len(bytes) {
			t.Errorf("%s: %d bytes weigh %d", name, len(bytes), w)
		}
	}
}
