package notifier

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/deliverylog"
	"payledger/eventstore/secrets"
	"payledger/notifier/delivery"
	"payledger/notifier/health"
	"payledger/notifier/message"
	"payledger/notifier/sender"
	"payledger/projections"
)

// node starts one more service on the rig's log, with a store, views and a notifier of its own. handover is how long
// it leaves others their deliveries.
func (r *rig) node(n int, handover time.Duration, views func(message.Views) message.Views) *rig {
	r.t.Helper()
	ctx := context.Background()
	other := &rig{t: r.t, dir: r.dir, config: r.config, shards: r.shards, server: r.server}
	var err error
	other.store, err = eventstore.Open(ctx, eventstore.Config{
		Server: r.server, Shards: r.shards, Now: time.Now, Random: rand.Reader, Logger: zerolog.Nop(), ReadTimeout: patience,
	})
	r.must(err)
	other.vault, err = secrets.Open(ctx, other.store, secrets.Key{1, 2, 3}, rand.Reader)
	r.must(err)
	fanout := eventstore.NewFanout(other.store)
	shown, err := projections.Open(ctx, projections.Config{
		Dir: fmt.Sprintf("%s/views%d", r.dir, n), Store: other.store, Fanout: fanout, Secrets: other.vault, Logger: zerolog.Nop(), Now: time.Now,
	})
	r.must(err)
	other.close = []func() error{shown.Close, other.store.Close}
	c := r.config
	c.Store, c.Fanout, c.Secrets, c.Views, c.Now, c.Random, c.Shared = other.store, fanout, other.vault, views(shown), time.Now, rand.Reader, true
	other.notifier, err = New(ctx, c)
	r.must(err)
	if handover > 0 {
		other.notifier.ownership.Handover, other.notifier.lanes.ownership.Handover = handover, handover
	}
	other.run(shown.Run, fanout.Run)
	r.t.Cleanup(other.stop)
	return other
}

func asTheyAre(v message.Views) message.Views { return v }

// base starts the rig's server and account, and nothing that sends.
func (r *rig) base() {
	r.t.Helper()
	r.start()
	r.cancel()
	r.running.Wait()
	r.context, r.cancel = context.WithCancel(context.Background())
}

// TestNodes: of two processes on one log one sends each webhook, at its first attempt and at its retries.
func TestNodes(t *testing.T) {
	t.Parallel()
	const payments = 60
	inbox := newReceiver(t, map[string]http.HandlerFunc{"/": func(w http.ResponseWriter, _ *http.Request) {
		<-time.After(20 * time.Millisecond) // long enough for the other one to find the same delivery
		w.WriteHeader(http.StatusServiceUnavailable)
	}})
	r := newRig(t)
	r.config.RetryDelays = []time.Duration{100 * time.Millisecond, 100 * time.Millisecond}
	r.base()
	nodes := []*rig{r.node(1, 0, asTheyAre), r.node(2, 0, asTheyAre)}
	r.endpoint(inbox.url + "/")
	for range payments {
		r.pay(processor.Succeeded)
	}
	hooks := inbox.waitFor(3 * payments)
	for over := false; !over; {
		over = true
		for _, d := range r.records() {
			over = over && d.Status == delivery.Exhausted
		}
	}
	for _, n := range nodes {
		n.stop()
	}
	inbox.none()
	for event, n := range count(hooks) {
		if n != 3 {
			t.Errorf("%s came %d times", event, n)
		}
	}
	senders := map[string]int{}
	for name, d := range r.records() {
		if len(d.Attempts) != 3 {
			t.Errorf("%s: %d attempts", name, len(d.Attempts))
		}
		senders[d.Sender]++
	}
	t.Logf("sent by %v", senders)
}

// TestNodeGone: what a process planned and never sent, and of no event that others had still to plan, is sent by
// another one when its time for that is over.
func TestNodeGone(t *testing.T) {
	t.Parallel()
	inbox := newReceiver(t, nil)
	r := newRig(t)
	r.base()
	stays := r.node(1, 200*time.Millisecond, asTheyAre)
	s := r.pay(processor.Succeeded)
	e, err := r.store.Load(context.Background(), eventstore.Payments.Key(merchantID, string(s.ID)), eventstore.AllowStale)
	r.must(err)
	for planned := false; !planned; { // for nobody, and no process plans it again
		at, err := readPosition(context.Background(), stays.notifier.stream, r.shards)
		r.must(err)
		planned = at[e.Shard] >= e.Seq
	}
	id := r.endpoint(inbox.url)
	goes := r.node(2, 0, func(v message.Views) message.Views { return held{v, true} })
	if made, err := goes.notifier.Plan(context.Background(), e, id, nil); err != nil || len(made) != 1 {
		t.Fatal(made, err)
	}
	goes.stop()
	inbox.waitFor(1)
	d := r.until("over", func(d delivery.Delivery) bool { return d.Status == delivery.Succeeded })
	if d.Sender != stays.notifier.ownership.ProcessID || !d.TakenAt.IsZero() {
		t.Errorf("%+v", d)
	}
	stays.stop()
	inbox.none()
}

// neighbours are two bubbles on one stream.
func neighbours(t *testing.T) (one, two *bubble) {
	one, two = newBubble(t), newBubble(t)
	two.stream = one.stream
	one.ownership, two.ownership = delivery.NewOwnership("one", true, sender.DefaultTimeout), delivery.NewOwnership("two", true, sender.DefaultTimeout)
	return one, two
}

// see tells a bubble's lanes of what stands in the stream after so many records, and gives how many stand there.
func (b *bubble) see(after int) int {
	b.t.Helper()
	b.stream.mu.Lock()
	page := slices.Clone(b.stream.records[after:])
	b.stream.mu.Unlock()
	if err := b.peers.apply(page); err != nil {
		b.t.Fatal(err)
	}
	return after + len(page)
}

// TestTakeOver: the deliveries of a process that died are sent by another one, late by the time of the handover the
// first time, and then on time.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		one, two := neighbours(t)
		one.answer, two.answer = status(500), status(500)
		one.start()
		two.start()
		name := one.plan(goldenDelivery.EventID, goldenDelivery.Endpoint)
		two.see(0)
		pauseFor(time.Second)
		next := one.stream.decoded(t)[name].NextAt
		one.stop()
		pauseFor(time.Hour)
		two.stop()
		calls := two.callsTo(name)
		if len(one.callsTo(name)) != 1 || len(calls) != 5 {
			t.Fatalf("%d and %d attempts", len(one.callsTo(name)), len(calls))
		}
		if want := next.Add(two.ownership.Handover); calls[0].Sub(want).Abs() > time.Millisecond {
			t.Errorf("taken over at %s, want %s", calls[0], want)
		}
		onTime(t, "afterwards", calls, 1, 0)
		if d := one.stream.decoded(t)[name]; d.Status != delivery.Exhausted || len(d.Attempts) != 6 || d.Sender != "two" {
			t.Errorf("%+v", d)
		}
	})
}

// TestSlowLaneShared: an endpoint that takes long, so that its deliveries wait longer than the handover, gets each of
// them once: the processes share the work and do not repeat it.
func TestSlowLaneShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		one, two := neighbours(t)
		slow := func(_ int, w http.ResponseWriter, _ *http.Request) {
			pauseFor(9 * time.Second)
			w.WriteHeader(http.StatusNoContent)
		}
		one.answer, two.answer = slow, slow
		one.start()
		two.start()
		var all []string
		for i := range 300 {
			all = append(all, one.plan(fmt.Sprintf("00000000-0000-4000-8000-%012d", i), goldenDelivery.Endpoint))
		}
		two.see(0)
		pauseFor(time.Hour)
		one.stop()
		two.stop()
		for _, name := range all {
			if n := len(one.callsTo(name)) + len(two.callsTo(name)); n != 1 {
				t.Errorf("%s came %d times", name, n)
			}
		}
		if len(two.calls) == 0 {
			t.Error("nothing was taken over")
		}
		for name, d := range one.stream.decoded(t) {
			if d.Status != delivery.Succeeded || len(d.Attempts) != 1 {
				t.Errorf("%s: %+v", name, d)
			}
		}
	})
}

// TestWatching: what another process plans and sends takes no memory once it is over, however much it was; what it leaves
// open stays.
func TestWatching(t *testing.T) {
	t.Parallel()
	n := &Notifier{
		lanes: newLanes(newMemory(), &health.Health{}, zerolog.Nop(), time.Now), ownership: delivery.NewOwnership("me", true, sender.DefaultTimeout),
	}
	n.lanes.limits, n.lanes.ownership = limits{queue: 4, waiting: 200, page: 8}, n.ownership
	o := &peers{n, map[string]uint64{}}
	d, seq := goldenDelivery, uint64(0)
	put := func(d delivery.Delivery) {
		seq++
		body, err := d.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if err := o.apply([]deliverylog.Record{{Name: d.Name(), Seq: seq, Body: body}}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 5000 {
		d.EventID = fmt.Sprintf("00000000-0000-4000-8000-%012d", i)
		put(d)
		if i%100 > 0 {
			put(d.WithAttempt(delivery.Attempt{StatusCode: 204}, nominal))
		}
	}
	l := n.lanes.of(d.Lane())
	if len(l.known) != 50 || len(l.waiting) > 200 || l.overflow.open || len(o.places) != 50 {
		t.Errorf("%d are known, %d wait, %d are remembered; in the stream only: %v", len(l.known), len(l.waiting), len(o.places), l.overflow.open)
	}
}

// TestOwnership: when each process may send a delivery, and when it must take the delivery over first.
func TestOwnership(t *testing.T) {
	t.Parallel()
	const h = 30 * time.Second
	me := delivery.Ownership{ProcessID: "me", Shared: true, Handover: h}
	at := func(s int) time.Time { return goldenTime.Add(time.Duration(s) * time.Second) }
	planned := delivery.Delivery{Status: delivery.Planned, PlannedAt: at(0)}
	waits := delivery.Delivery{Status: delivery.Failed, PlannedAt: at(-1000), NextAt: at(0), Attempts: []delivery.Attempt{{StartedAt: at(-900)}}}
	by := func(d delivery.Delivery, planner, sender string, taken time.Time) delivery.Delivery {
		d.Planner, d.Sender, d.TakenAt = planner, sender, taken
		return d
	}
	for name, c := range map[string]struct {
		ownership delivery.Ownership
		d         delivery.Delivery
		sendAt    time.Time
		late      int // seconds after which it has to be taken over; -1: never
	}{
		"alone":                 {delivery.Ownership{}, by(waits, "other", "other", time.Time{}), at(0), -1},
		"planned here":          {me, by(planned, "me", "", time.Time{}), time.Time{}, 15},
		"planned elsewhere":     {me, by(planned, "other", "", time.Time{}), at(30), 0},
		"tried here":            {me, by(waits, "other", "me", time.Time{}), at(0), 15},
		"tried elsewhere":       {me, by(waits, "me", "other", time.Time{}), at(30), 0},
		"taken over here":       {me, by(waits, "other", "me", at(60)), at(0), 75},
		"taken over elsewhere":  {me, by(planned, "me", "other", at(60)), at(90), 0},
		"taken over long since": {me, by(waits, "me", "other", at(-60)), at(30), 0},
	} {
		asked, want := c.sendAt.Add(-5*time.Second), 5*time.Second
		if c.sendAt.IsZero() {
			asked, want = goldenTime, 0
		}
		for _, early := range []time.Duration{400 * time.Second, 24 * time.Hour} { // the second: before it was noted
			most := asked.Add(want).Sub(goldenTime) + 900*time.Second // of the longest wait
			if !c.ownership.IsMine(c.d) && (c.d.Status == delivery.Planned || c.d.TakenAt.After(goldenTime)) {
				most = h
			}
			if left := c.ownership.Wait(c.d, asked.Add(-early)); c.sendAt.IsZero() && left != 0 || left > most || !c.sendAt.IsZero() && left != min(want+early, most) {
				t.Errorf("%s: %s before its time %s are left, at most %s", name, early, left, most)
			}
		}
		if got := c.ownership.Wait(c.d, asked); got != want || c.ownership.AwaitsFirst(c.d) != c.sendAt.IsZero() {
			t.Errorf("%s: its time is %s, and %s before that %s are left", name, c.sendAt, want, got)
		}
		if late := c.ownership.MustTakeOver(c.d, at(c.late).Add(time.Microsecond)); late != (c.late >= 0) {
			t.Errorf("%s: taken over after %d s: %v", name, c.late, late)
		}
		if c.late > 0 && c.ownership.MustTakeOver(c.d, at(c.late)) {
			t.Errorf("%s: taken over before %d s", name, c.late)
		}
	}
}
