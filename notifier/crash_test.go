package notifier

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"payledger/domain/processor"
	"payledger/domain/webhook"
	"payledger/eventstore"
	"payledger/eventstore/deliverylog"
	"payledger/eventstore/position"
	"payledger/notifier/delivery"
	"payledger/notifier/message"
)

var errCrashed = errors.New("crashed")

// crashing is the real stream up to a crash. It does not carry out a call that refuse selects, nor
// any call of a dead process.
type crashing struct {
	stream
	dead   atomic.Bool
	refuse func(name string, expected uint64, position bool) bool
	puts   chan uint64   // expected sequence of every Put that was carried out
	saves  chan []uint64 // positions that were written
}

func (c *crashing) Put(ctx context.Context, name string, expected uint64, body []byte, open bool) (uint64, error) {
	of := deliverylog.Record{Name: name, Body: body}
	if c.dead.Load() || c.refuse(name, expected, !of.IsDelivery()) {
		return 0, errCrashed
	}
	seq, err := c.stream.Put(ctx, name, expected, body, open)
	switch {
	case err != nil:
	case of.IsDelivery():
		c.puts <- expected
	default:
		at, _ := position.Parse(of)
		c.saves <- at
	}
	return seq, err
}

// held are views that show nothing until they are let go: no webhook leaves.
type held struct {
	message.Views
	hold bool
}

func (h held) Shown(ctx context.Context, aggregate string, shard int, seq uint64) error {
	if h.hold {
		<-ctx.Done()
		return ctx.Err()
	}
	return h.Views.Shown(ctx, aggregate, shard, seq)
}

// crashRig starts a rig whose notifier can crash. With hold the notifier sends nothing.
func crashRig(t *testing.T, hold bool, refuse func(name string, expected uint64, position bool) bool) (*rig, *crashing) {
	r := newRig(t)
	c := &crashing{refuse: refuse, puts: make(chan uint64, 1024), saves: make(chan []uint64, 1024)}
	r.config.Grace = time.Millisecond
	r.wrap = func(s stream) stream { c.stream = s; return c }
	r.views = func(v message.Views) message.Views { return held{v, hold} }
	r.start()
	return r, c
}

// crash ends the process without another write, and starts the next one without faults.
func (r *rig) crash(c *crashing) {
	c.dead.Store(true)
	r.stop()
	r.wrap, r.views, r.config.Grace = nil, nil, 0
	r.start()
}

// await waits for n puts with or without an expectation: plans, or outcomes.
func (c *crashing) await(t *testing.T, n int, outcomes bool) {
	t.Helper()
	timeout := time.After(patience)
	for n > 0 {
		select {
		case expected := <-c.puts:
			if (expected > 0) == outcomes {
				n--
			}
		case <-timeout:
			t.Fatalf("%d puts are missing", n)
		}
	}
}

// saved waits until the position is behind the events that were just planned.
func (c *crashing) saved(r *rig) {
	ends := r.store.Appended()
	for at := range c.saves {
		if !behind(at, ends) {
			return
		}
	}
}

func nothing(string, uint64, bool) bool           { return false }
func positions(_ string, _ uint64, pos bool) bool { return pos }
func outcomes(_ string, e uint64, pos bool) bool  { return e > 0 && !pos }
func outcomesAndPosition(n string, e uint64, r bool) bool {
	return positions(n, e, r) || outcomes(n, e, r)
}

// TestCrash stops the notifier between any two of its steps. Nothing is lost, and only an attempt
// without a recorded outcome is repeated (§6.1 rule 4).
func TestCrash(t *testing.T) {
	t.Parallel()
	const payments = 12
	for _, c := range []struct {
		name   string
		hold   bool // crash before anything is sent
		refuse func(string, uint64, bool) bool
		await  func(*testing.T, *rig, *crashing, *receiver) int // until the point of the crash; webhooks that came
		resent bool
	}{
		{"between plan and position, nothing sent", true, positions, func(t *testing.T, r *rig, c *crashing, _ *receiver) int {
			c.await(t, payments, false)
			return 0
		}, false},
		{"between plan and position, all sent", false, positions, func(t *testing.T, r *rig, c *crashing, v *receiver) int {
			v.waitFor(payments)
			c.await(t, payments, true)
			return payments
		}, false},
		{"between position and attempt", true, nothing, func(t *testing.T, r *rig, c *crashing, _ *receiver) int {
			c.await(t, payments, false)
			c.saved(r)
			return 0
		}, false},
		{"between attempt and outcome, position written", false, outcomes, func(_ *testing.T, r *rig, c *crashing, v *receiver) int {
			n := len(v.waitFor(payments)) // attempts are made while outcomes wait for their records
			c.saved(r)
			return n
		}, true},
		{"between attempt and outcome, position not written", false, outcomesAndPosition, func(_ *testing.T, r *rig, _ *crashing, v *receiver) int {
			return len(v.waitFor(payments))
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			inbox := newReceiver(t, nil)
			r, faults := crashRig(t, c.hold, c.refuse)
			r.endpoint(inbox.url)
			for range payments {
				r.pay(processor.Succeeded)
			}
			came := c.await(t, r, faults, inbox)
			inbox.none()
			r.crash(faults)
			expected := payments - came
			if c.resent {
				expected = payments
			}
			hooks := inbox.waitFor(expected)
			r.pay(processor.Succeeded) // all that is older is planned when this comes
			hooks = append(hooks, inbox.waitFor(1)...)
			r.stop()
			inbox.none()
			for what, n := range count(hooks) {
				if n != 1 {
					t.Errorf("%s came %d times after the restart", what, n)
				}
			}
			r.start()
			if got := statuses(r.records()); got != "planned 0, succeeded 13, failed 0" {
				t.Error(got)
			}
		})
	}
}

// TestLostAnswers checks that plans and outcomes with lost answers are resolved by reading the
// stream.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	inbox := newReceiver(t, nil)
	r := newRig(t)
	var lost atomic.Int64
	r.wrap = func(s stream) stream { return forgetful{s, &lost} }
	r.start()
	r.endpoint(inbox.url)
	const payments = 10
	for range payments {
		r.pay(processor.Succeeded)
	}
	hooks := inbox.waitFor(payments)
	r.stop()
	inbox.none()
	if n := len(count(hooks)); n != payments || lost.Load() == 0 {
		t.Errorf("%d different webhooks came, %d answers were lost", n, lost.Load())
	}
	r.wrap = nil
	r.start()
	if got := statuses(r.records()); got != "planned 0, succeeded 10, failed 0" {
		t.Error(got)
	}
}

// forgetful stores, and loses the answer to every first write of a record.
type forgetful struct {
	stream
	lost *atomic.Int64
}

func (f forgetful) Put(ctx context.Context, name string, expected uint64, body []byte, open bool) (uint64, error) {
	last, err := f.Last(ctx, name)
	if errors.Is(err, eventstore.ErrNotFound) || err == nil && last.Seq == expected {
		_, err = f.stream.Put(ctx, name, expected, body, open)
		f.lost.Add(1)
		return 0, errors.Join(eventstore.ErrUnknown, err)
	}
	return f.stream.Put(ctx, name, expected, body, open)
}

// TestTakenUp checks that an open delivery in the stream is sent at the start, even if planning its
// event again would not make it: endpoints may have changed meanwhile.
func TestTakenUp(t *testing.T) {
	t.Parallel()
	inbox := newReceiver(t, nil)
	r := newRig(t)
	r.start()
	id := r.endpoint(inbox.url, "DISPUTE.OPENED")
	s := r.pay(processor.Succeeded)
	e, err := r.store.Load(context.Background(), eventstore.Payments.Key(merchantID, string(s.ID)), eventstore.Applied)
	r.must(err)
	stream := r.store.Deliveries()
	d := delivery.Plan(e, id, webhook.PaymentStatus, "an earlier process", time.Now().UTC())
	body, err := d.Encode()
	r.must(err)
	_, err = stream.Put(context.Background(), d.Name(), 0, body, true)
	r.must(err)
	r.stop()
	inbox.none()
	r.start()
	if hook := inbox.waitFor(1)[0]; hook.EventID != e.EventID {
		t.Errorf("received %s", hook.body)
	}
}
