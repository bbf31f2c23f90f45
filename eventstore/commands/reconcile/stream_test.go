package reconcile_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/commands/reconcile"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
)

var operations = flag.Int("operations", 2000, "how many operations to reconcile")

const (
	perPayment = 10 // operations
	owner      = domain.AccountID("acct1")
	merchantAt = "m-1"
	mebibyte   = 1 << 20
)

// mirror is the books of a processor that did exactly what the ledger has, except for one operation
// that the mirror leaves out and one that only the mirror has.
type mirror struct {
	store        *engine.Store
	hidden, more processor.Record
	failAfter    int // operations; 0 for never
	alter        func(*processor.Record)
}

func (m mirror) records(p payment.State) (list []processor.Record) {
	for _, op := range p.Whole().Operations {
		r := processor.Record{
			ID: op.OutOfBandID, Processor: op.Target.Processor, MerchantID: op.Target.MerchantID, Reference: p.ID, Kind: op.Kind, Key: "sim",
			Amount: op.Amount, Currency: p.Currency, State: processor.State(op.State), CreatedAt: op.RequestedAt,
		}
		if op.OutOfBandID == "" {
			r.Key = p.OperationKey(op.Revision)
			r.ID = "op-" + string(r.Key)
		}
		if m.alter != nil {
			m.alter(&r)
		}
		if r.ID != m.hidden.ID {
			list = append(list, r)
		}
	}
	if m.more.Reference == p.ID {
		list = append(list, m.more)
	}
	return list
}

// compare compares all operations of an account, and lists the differences as "KIND id".
func compare(t *testing.T, r reconcile.Reconciler, q reconcile.Scope) (counts reconcile.Counts, list []string) {
	t.Helper()
	q.Processor = processor.Adyen
	counts, err := r.Run(context.Background(), q,
		func(d reconcile.Difference) error { list = append(list, string(d.Kind)+" "+d.ID); return nil }, func(reconcile.Progress) {})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(list)
	return counts, list
}

func (m mirror) ByReference(ctx context.Context, _ processor.Name, id domain.PaymentID) ([]processor.Record, error) {
	tip, err := eventstore.Load(ctx, m.store, eventstore.Payments, eventstore.Payments.Key(owner, string(id)), eventstore.Applied)
	return m.records(tip.State), err
}

func (m mirror) Operations(ctx context.Context, _ processor.Name, from, to time.Time, handle func(processor.Record) error) error {
	n := 0
	return m.store.Newest(ctx, owner, eventstore.Payments.Name, func(uint64) {}, func(r *eventstore.Recorded) error {
		p, err := eventstore.StateAt(ctx, m.store, eventstore.Payments, r)
		for _, record := range m.records(p) {
			if n++; n == m.failAfter {
				return fmt.Errorf("%w: the line broke", processor.ErrUnknown)
			}
			if err == nil && (from.IsZero() || !record.CreatedAt.Before(from)) && (to.IsZero() || !record.CreatedAt.After(to)) {
				err = handle(record)
			}
		}
		return err
	})
}

// DisputesOf returns nothing: a mirror has no disputes.
func (mirror) DisputesOf(context.Context, processor.Name, domain.PaymentID) ([]processor.Notification, error) {
	return nil, nil
}

func (mirror) DisputesReported(context.Context, processor.Name, time.Time, time.Time, func(processor.Notification) error) error {
	return nil
}

// fill makes payments of perPayment operations each.
func fill(t *testing.T, store *engine.Store, n int) {
	t.Helper()
	jobs := make(chan int)
	var writers sync.WaitGroup
	for range 64 {
		writers.Go(func() {
			for i := range jobs {
				if err := make1(store, domain.PaymentID(fmt.Sprintf("01payment%07d", i))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range n {
		jobs <- i
	}
	close(jobs)
	writers.Wait()
}

func make1(store *engine.Store, id domain.PaymentID) error {
	key := eventstore.Payments.Key(owner, string(id))
	add := func(decide func(eventstore.Meta, payment.State) payment.Event) error {
		meta, err := store.NewMeta("test", "request")
		if err != nil {
			return err
		}
		_, err = eventstore.Execute(context.Background(), store, eventstore.Payments, key, meta,
			func(s payment.State) (payment.Event, error) { return decide(meta, s), nil })
		return err
	}
	err := add(func(meta eventstore.Meta, _ payment.State) payment.Event {
		return payment.Created{
			At: meta.At, ID: id, Account: owner, Currency: "EUR", Amount: 1000, OrderID: "order",
			Route: []payment.Target{{Processor: processor.Adyen, MerchantID: merchantAt}},
		}
	})
	for i := range perPayment {
		err = errors.Join(err, add(func(meta eventstore.Meta, s payment.State) payment.Event {
			if i == 0 {
				return payment.Authorized{Answer: payment.Answer{At: meta.At, Request: 1, EventID: meta.EventID}}
			}
			return payment.CapturedOutOfBand{OutOfBand: payment.OutOfBand{
				At: meta.At, EventID: meta.EventID, ID: fmt.Sprintf("op-%s-%d", id, i), Amount: domain.Amount(i), DoneAt: meta.At,
			}}
		}))
	}
	return err
}

// TestStreams checks that every operation is compared and every difference reported while both
// sides stream. The reported heap includes the embedded server's, whose cache of the log's blocks
// is most of it. For a million: -operations 1000000, best on a folder in memory.
func TestStreams(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	store := open(t)
	payments := *operations / perPayment
	fill(t, store, payments)
	books := mirror{store: store, hidden: processor.Record{ID: "op-01payment0000003-2"}, more: processor.Record{
		ID: "op-more", Processor: processor.Adyen, MerchantID: merchantAt, Reference: "01payment0000004", Kind: processor.Refund, Key: "sim",
		Amount: 5, Currency: "EUR", State: processor.Succeeded, CreatedAt: store.Now(),
	}}
	before, peak := heap(), uint64(0)
	done, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for ; ; <-tick.C {
			peak = max(peak, heap())
			select {
			case <-done:
				return
			default:
			}
		}
	}()
	var found []string
	total, reports, began := uint64(0), 0, time.Now()
	counts, err := reconcile.Reconciler{Store: store, Books: books}.Run(context.Background(), reconcile.Scope{Account: owner, Processor: processor.Adyen},
		func(d reconcile.Difference) error { found = append(found, string(d.Kind)+" "+d.ID); return nil },
		func(p reconcile.Progress) { reports++; total = max(total, p.Total) })
	took := time.Since(began)
	close(done)
	<-over
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(found)
	if want := []string{"MISSING_HERE op-more", "MISSING_THERE op-01payment0000003-2"}; !slices.Equal(found, want) {
		t.Errorf("found %v, not %v", found, want)
	}
	want := reconcile.Counts{Payments: payments, Operations: payments * perPayment, Records: payments * perPayment, Differences: 2}
	if counts != want || total != uint64(payments) || reports < payments {
		t.Errorf("%+v of %d payments, %d reports; want %+v", counts, total, reports, want)
	}
	t.Logf("%d operations in %s (%.0f/s), heap %d MiB before, %d MiB at most", counts.Operations, took.Round(time.Millisecond),
		float64(counts.Operations)/took.Seconds(), before/mebibyte, peak/mebibyte)
}

// heap returns the live heap, without garbage.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// open opens a log with an account that the processor knows as merchantAt.
func open(t *testing.T) *engine.Store {
	t.Helper()
	config := eventstoretest.Config(eventstoretest.Server(t, t.TempDir()))
	config.Logger = zerolog.Nop()
	store := eventstoretest.OpenOn(t, config)
	meta, err := store.NewMeta("test", "request")
	if err != nil {
		t.Fatal(err)
	}
	_, err = eventstore.ExecuteNew(context.Background(), store, eventstore.Accounts, eventstore.Accounts.Key(owner, string(owner)), meta,
		func(account.State) (account.Event, error) {
			return account.Created{ID: owner, Processors: []account.Processor{{Name: processor.Adyen, MerchantID: merchantAt, Enabled: true}}}, nil
		})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// TestBroken: books that cannot be read whole, and a caller who wants no more, end the comparison
// with their error.
func TestBroken(t *testing.T) {
	store := open(t)
	fill(t, store, 20)
	run := func(books mirror, report func(reconcile.Difference) error) error {
		_, err := reconcile.Reconciler{Store: store, Books: books}.Run(context.Background(),
			reconcile.Scope{Account: owner, Processor: processor.Adyen}, report, func(reconcile.Progress) {})
		return err
	}
	if err := run(mirror{store: store, failAfter: 150}, func(reconcile.Difference) error { return nil }); !errors.Is(err, processor.ErrUnknown) {
		t.Errorf("broken books: %v", err)
	}
	enough := errors.New("enough")
	hidden := processor.Record{ID: "op-01payment0000003-2"}
	if err := run(mirror{store: store, hidden: hidden}, func(reconcile.Difference) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("a caller who wants no more: %v", err)
	}
}

// TestWithinTime checks that operations that were created outside the period are neither compared
// nor reported.
func TestWithinTime(t *testing.T) {
	store := open(t)
	fill(t, store, 1)
	between := store.Now()
	for !store.Now().After(between) { // the next payment is of a later microsecond
	}
	if err := make1(store, "01payment0000009"); err != nil {
		t.Fatal(err)
	}
	hidden := mirror{store: store, hidden: processor.Record{ID: "op-01payment0000000-2"}}
	for _, c := range []struct {
		from, to time.Time
		want     reconcile.Counts
	}{
		{between, time.Time{}, reconcile.Counts{Payments: 2, Operations: 10, Records: 10}},
		{time.Time{}, between, reconcile.Counts{Payments: 2, Operations: 10, Records: 9, Differences: 1}},
		{time.Time{}, between.Add(-time.Hour), reconcile.Counts{Payments: 2}},
		{time.Time{}, time.Time{}, reconcile.Counts{Payments: 2, Operations: 20, Records: 19, Differences: 1}},
	} {
		got, err := reconcile.Reconciler{Store: store, Books: hidden}.Run(context.Background(),
			reconcile.Scope{Account: owner, Processor: processor.Adyen, From: c.from, To: c.to},
			func(reconcile.Difference) error { return nil }, func(reconcile.Progress) {})
		if err != nil || got != c.want {
			t.Errorf("from %s to %s: %+v %v, want %+v", c.from, c.to, got, err, c.want)
		}
	}
	got, err := reconcile.Reconciler{Store: store, Books: hidden}.Run(context.Background(), reconcile.Scope{Account: "acct2", Processor: processor.Adyen},
		func(reconcile.Difference) error { return nil }, func(reconcile.Progress) {})
	if err != nil || got != (reconcile.Counts{}) {
		t.Errorf("another account: %+v %v", got, err)
	}
}

// TestClaims: the claim of an idempotency key is not counted as a payment.
func TestClaims(t *testing.T) {
	store := open(t)
	fill(t, store, 2)
	meta, err := store.NewMeta("test", "request")
	if err != nil {
		t.Fatal(err)
	}
	_, err = eventstore.ExecuteNew(context.Background(), store, eventstore.Payments, eventstore.Payments.Key(owner, "01claim"), meta,
		func(payment.State) (payment.Event, error) {
			return payment.KeyClaimed{At: meta.At, Account: owner, Payment: "01payment0000001", Operation: processor.Capture}, nil
		})
	if err != nil {
		t.Fatal(err)
	}
	total, passed := uint64(0), uint64(0)
	counts, err := reconcile.Reconciler{Store: store, Books: mirror{store: store}}.Run(context.Background(),
		reconcile.Scope{Account: owner, Processor: processor.Adyen}, func(reconcile.Difference) error { return nil },
		func(p reconcile.Progress) {
			if !p.Books {
				total, passed = p.Total, uint64(p.Payments)
			}
		})
	if want := (reconcile.Counts{Payments: 2, Operations: 20, Records: 20}); err != nil || counts != want || total != 2 || passed != 2 {
		t.Errorf("%+v %v, progress %d of %d; want %+v", counts, err, passed, total, want)
	}
}
