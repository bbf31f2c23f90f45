package commands_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/commands/pending"
	"payledger/eventstore/commands/service"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/processorsim/adapter"
	"payledger/projections"
)

var captures = flag.Int("pending", 2000, "how many captures are pending in TestPendingCaptures")

const (
	pendingAccount domain.AccountID = "01jq5c6k2rz3h8v9m4x7t1w0ab"
	// mostBytes is the greatest memory for any number of pending captures: much less than 300 bytes
	// for each of a million.
	mostBytes = 48 << 20
	// mostGoroutines are those of the look-ups under way, of their connections, and of the
	// answering server.
	mostGoroutines = 1000
)

// confirmsLater is processors that say of each operation that it is pending still; one of them
// accepts look-ups and never answers.
type confirmsLater struct {
	asked   atomic.Int64
	hanging atomic.Int64
	seen    sync.Map
}

const hangs = processor.Adyen

// ServeHTTP answers a look-up.
func (c *confirmsLater) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.Contains(r.URL.Path, "/"+string(hangs)+"/") {
		c.hanging.Add(1)
		defer c.hanging.Add(-1)
		<-r.Context().Done()
		return
	}
	if _, again := c.seen.LoadOrStore(r.URL.Path, true); !again {
		c.asked.Add(1)
	}
	_ = json.NewEncoder(w).Encode(processor.Lookup{State: processor.Known, Answer: &processor.Answer{ // the client may be gone
		State: processor.Pending, At: time.Now(), ProcessorTransactionID: "t-2", ProcessorEventID: "e-2",
	}})
}

// node is a log with its views.
type node struct {
	store *engine.Store
	views *projections.Projections
}

func newNode(t *testing.T) *node {
	t.Helper()
	config := eventstoretest.Config(eventstoretest.Server(t, t.TempDir()))
	config.Memory = 64 << 20
	n := &node{store: eventstoretest.OpenOn(t, config)}
	fanout := eventstore.NewFanout(n.store)
	var err error
	n.views, err = projections.Open(context.Background(), projections.Config{
		Dir: t.TempDir(), Store: n.store, Fanout: fanout, Secrets: eventstoretest.Secrets(t, n.store), Logger: zerolog.Nop(), Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var loops sync.WaitGroup
	for _, run := range []func(context.Context) error{n.views.Run, fanout.Run} {
		loops.Go(func() {
			if err := run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(func() {
		cancel()
		loops.Wait()
		if err := n.views.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

// capture makes a payment with a pending capture.
func (n *node) capture(i int, name processor.Name) error {
	var bytes [16]byte
	if _, err := rand.Read(bytes[:]); err != nil {
		return err
	}
	id, amount := domain.NewPaymentID(bytes), domain.Amount(2500)
	answer := func(request uint64, state processor.State) func(payment.State, payment.Request) (payment.Event, error) {
		return func(s payment.State, r payment.Request) (payment.Event, error) {
			return payment.DecideAnswer(s, payment.RecordAnswer{At: r.At, EventID: r.EventID, Request: request, Answer: processor.Answer{
				State: state, At: r.At, ProcessorTransactionID: "t-1", ProcessorEventID: "e-1",
			}})
		}
	}
	for _, decide := range []func(payment.State, payment.Request) (payment.Event, error){
		func(s payment.State, r payment.Request) (payment.Event, error) {
			return payment.DecideCreate(s, payment.Create{
				At: r.At, ID: id, Account: pendingAccount, OrderID: fmt.Sprint("order-", i), Currency: "EUR", Amount: &amount,
				Method: payment.Method{Token: "01token", Type: "PAYMENT_CARD", AuthorizationType: "FINAL", Card: domain.NewCard("4111111111111111", "12", "2030", true)},
				Route:  []payment.Target{{Processor: name, MerchantID: "merchant"}},
			})
		},
		answer(1, processor.Succeeded),
		func(s payment.State, r payment.Request) (payment.Event, error) {
			return payment.DecideCapture(s, payment.Capture{Request: r, Final: true})
		},
		answer(3, processor.Pending),
	} {
		meta, err := n.store.NewMeta("test", "request")
		if err == nil {
			_, err = eventstore.Execute(context.Background(), n.store, eventstore.Payments, eventstore.Payments.Key(pendingAccount, string(id)), meta,
				func(s payment.State) (payment.Event, error) {
					return decide(s, payment.Request{At: meta.At, EventID: meta.EventID})
				})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// fill makes payments with pending captures, at all processors.
func (n *node) fill(t *testing.T, count int) {
	t.Helper()
	began := time.Now()
	var next atomic.Int64
	var running sync.WaitGroup
	for range min(256, count) {
		running.Go(func() {
			for i := int(next.Add(1)) - 1; i < count && !t.Failed(); i = int(next.Add(1)) - 1 {
				if err := n.capture(i, processor.Names[i%len(processor.Names)]); err != nil {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
	if err := n.views.CaughtUp(context.Background()); err != nil {
		t.Fatal(err)
	}
	if t.Failed() {
		t.FailNow()
	}
	t.Logf("%d captures recorded and in the views in %s", count, time.Since(began).Round(time.Millisecond))
}

// inUse is the memory in use, and the goroutines.
func inUse() (bytes, goroutines int) {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc + m.StackInuse), runtime.NumGoroutine()
}

// TestPendingCaptures: pending captures cost no goroutine each and almost no memory, while one of
// the processors answers no look-up; after a start there is a look-up of every capture at the
// others, and a stop waits for no processor. With -pending 1000000 it takes some minutes.
func TestPendingCaptures(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	eventstoretest.WithoutLeaks(t)
	n := newNode(t)
	n.fill(t, *captures)
	later := &confirmsLater{}
	web := httptest.NewServer(later)
	defer web.Close()
	port, err := adapter.New(web.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	before, goroutines := inUse()
	service := service.New(commands.Config{
		Store: n.store, Secrets: eventstoretest.Secrets(t, n.store), Processors: port, PaymentTimeout: time.Second, ActionTimeout: time.Hour,
		ClientTokenTTL: time.Hour, Random: rand.Reader, Logger: zerolog.Nop(), PaymentAccount: n.views.PaymentAccount,
	})
	ctx, cancel := context.WithCancel(context.Background())
	var scanner sync.WaitGroup
	began := time.Now()
	scanner.Go(func() {
		(&pending.Scanner{
			Views: n.views, Commands: service, Patience: time.Minute, Every: 30 * time.Second, Now: time.Now, Logger: zerolog.Nop(),
		}).Run(ctx)
	})
	want := int64(*captures - (*captures+len(processor.Names)-1)/len(processor.Names)) // all but those of the first processor
	most := 0
	for tick := time.NewTicker(20 * time.Millisecond); later.asked.Load() < want; <-tick.C {
		most = max(most, runtime.NumGoroutine())
		if time.Since(began) > 5*time.Minute+time.Duration(*captures)*5*time.Millisecond {
			t.Fatalf("%d of %d captures were asked about in %s", later.asked.Load(), want, time.Since(began))
		}
	}
	took := time.Since(began)
	later.seen.Clear()
	after, now := inUse()
	most = max(most, now) - goroutines
	t.Logf("%d asked about in %s, %.0f/s; %d questions hang; at most %d more goroutines; %d bytes more: %.1f for each capture",
		want, took.Round(time.Millisecond), float64(want)/took.Seconds(), later.hanging.Load(), most, after-before, float64(after-before)/float64(*captures))
	if most > mostGoroutines || after-before > mostBytes || later.hanging.Load() == 0 {
		t.Error("that is too much, or nobody hangs")
	}
	ended := time.Now()
	service.Close()
	cancel()
	scanner.Wait()
	if took := time.Since(ended); took > 15*time.Second { // a look-up takes 20 s
		t.Errorf("the end took %s", took)
	}
	counted := time.Now()
	list, err := n.views.PendingOperations(context.Background(), time.Now())
	all := 0
	for _, of := range list {
		if all += of.Count; of.Kind != processor.Capture || of.State != payment.StatePending {
			t.Errorf("%+v", of)
		}
	}
	if err != nil || len(list) != len(processor.Names) || all != *captures {
		t.Errorf("%+v %v", list, err)
	}
	t.Logf("counted in %s", time.Since(counted).Round(time.Microsecond))
}
