package notifier

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/deliverylog"
	"payledger/notifier/delivery"
)

// TestNames: of one delivery one attempt is under way at a time; who waits goes when its time is
// over.
func TestNames(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n, busy := &deliveryLocks{}, 0
		for range 20 {
			go func() {
				unlock, ok := n.lock(context.Background(), "one")
				if busy++; !ok || busy != 1 {
					t.Errorf("%d at once", busy)
				}
				pauseFor(time.Second)
				busy--
				unlock()
			}()
		}
		synctest.Wait()
		if unlock, ok := n.lock(context.Background(), "another"); !ok {
			t.Error("another name is busy too")
		} else {
			unlock()
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second/2)
		defer cancel()
		if _, ok := n.lock(ctx, "one"); ok {
			t.Error("a busy name was taken")
		}
		pauseFor(time.Minute)
		n.mu.Lock()
		defer n.mu.Unlock()
		if len(n.busy) != 0 {
			t.Errorf("%d names are busy", len(n.busy))
		}
	})
}

// record puts a record of a delivery behind another one, as another process does.
func (b *bubble) record(at uint64, d delivery.Delivery) uint64 {
	b.t.Helper()
	body, err := d.Encode()
	if err != nil {
		b.t.Fatal(err)
	}
	seq, err := b.stream.Put(context.Background(), d.Name(), at, body, d.Status.Open())
	if err != nil {
		b.t.Fatal(err)
	}
	return seq
}

// TestEndedMeanwhile: a delivery that was just planned, and succeeds by hand while its first
// automatic attempt waits for that one, is not sent again.
func TestEndedMeanwhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t)
		b.answer = status(204)
		b.start()
		d := b.put(goldenDelivery.EventID, goldenDelivery.Endpoint)
		unlock, _ := b.locks.lock(context.Background(), d.Name())
		lane := b.lanes.of(d.Lane())
		lane.offer(d)
		synctest.Wait()
		after := d.WithAttempt(delivery.Attempt{StartedAt: time.Now(), StatusCode: 200, Manual: true}, nominal)
		lane.moved(d.at, b.record(d.at, after), after)
		unlock()
		pauseFor(time.Hour)
		b.stop()
		if n := len(b.callsTo(d.Name())); n != 0 {
			t.Errorf("it came %d times after its success", n)
		}
	})
}

// TestConflict checks that the outcome of another process counts if it was recorded first: the
// delivery continues from it.
func TestConflict(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t)
		var planned plannedDelivery
		b.answer = func(n int, w http.ResponseWriter, _ *http.Request) {
			if n == 1 {
				b.record(planned.at, planned.WithAttempt(delivery.Attempt{StartedAt: time.Now(), StatusCode: 500, Failure: delivery.FailureStatus}, nominal))
			}
			w.WriteHeader(http.StatusInternalServerError)
		}
		b.start()
		planned = b.put(goldenDelivery.EventID, goldenDelivery.Endpoint)
		b.lanes.of(planned.Lane()).offer(planned)
		pauseFor(time.Hour)
		b.stop()
		calls := b.callsTo(planned.Name())
		if d := b.stream.decoded(t)[planned.Name()]; d.Status != delivery.Exhausted || len(d.Attempts) != 6 || len(calls) != 6 {
			t.Fatalf("%s after %d attempts on record, %d calls", d.Status, len(d.Attempts), len(calls))
		}
		onTime(t, "the rest", calls[1:], 1, 0)
	})
}

// TestSuccessAfterAResend checks that a success is recorded behind a failed resend of another node:
// the webhook does not come again.
func TestSuccessAfterAResend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t)
		var planned plannedDelivery
		b.answer = func(_ int, w http.ResponseWriter, _ *http.Request) {
			b.record(planned.at, planned.WithAttempt(delivery.Attempt{StartedAt: time.Now(), StatusCode: 500, Failure: delivery.FailureStatus, Manual: true}, nominal))
			w.WriteHeader(http.StatusNoContent)
		}
		b.start()
		planned = b.put(goldenDelivery.EventID, goldenDelivery.Endpoint)
		b.lanes.of(planned.Lane()).offer(planned)
		pauseFor(time.Hour)
		b.stop()
		d := b.stream.decoded(t)[planned.Name()]
		if calls := b.callsTo(planned.Name()); d.Status != delivery.Succeeded || len(d.Attempts) != 2 || len(calls) != 1 || d.Attempts[1].Number != 2 || d.Attempts[1].Manual {
			t.Fatalf("%s with %+v on record, %d calls", d.Status, d.Attempts, len(calls))
		}
	})
}

// manualPlans is the real stream. It calls meanwhile between the storing of a delivery and the
// answer.
type manualPlans struct {
	stream
	meanwhile func(at uint64) error
}

func (m *manualPlans) Put(ctx context.Context, name string, expected uint64, body []byte, open bool) (uint64, error) {
	at, err := m.stream.Put(ctx, name, expected, body, open)
	if err == nil && expected == 0 && m.meanwhile != nil && (deliverylog.Record{Name: name}).IsDelivery() {
		err = m.meanwhile(at)
	}
	return at, err
}

// TestPlanMeanwhile checks that a start finds a delivery that is being planned by hand as soon as
// it is stored. A delivery is also sent if its storing is uncertain.
func TestPlanMeanwhile(t *testing.T) {
	t.Parallel()
	inbox := newReceiver(t, nil)
	plans := &manualPlans{}
	r := newRig(t)
	r.wrap = func(s stream) stream { plans.stream = s; return plans }
	r.start()
	s := r.pay(processor.Succeeded)
	ctx := context.Background()
	e, err := r.store.Load(ctx, eventstore.Payments.Key(merchantID, string(s.ID)), eventstore.Applied)
	r.must(err)
	r.plannedAll() // without a waiting caller
	first, second := r.endpoint(inbox.url+"/first"), r.endpoint(inbox.url+"/second")
	plans.meanwhile = func(uint64) error { // a start now would find it
		if open, err := plans.Lanes(ctx); err != nil || len(open) != 1 {
			t.Errorf("open: %q %v", open, err)
		}
		return nil
	}
	if made, err := r.notifier.Plan(ctx, e, first, nil); err != nil || len(made) != 1 {
		t.Fatal(made, err)
	}
	inbox.waitFor(1)
	lost := errors.New("the answer was lost")
	plans.meanwhile = func(uint64) error { return lost }
	if made, err := r.notifier.Plan(ctx, e, second, nil); !errors.Is(err, lost) || len(made) != 0 {
		t.Fatal(made, err)
	}
	if h := inbox.waitFor(1)[0]; h.path != "/second" {
		t.Errorf("came to %s", h.path)
	}
}
