package notifier

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/deliverylog"
	"payledger/eventstore/engine"
	"payledger/eventstore/secrets"
	"payledger/notifier/delivery"
	"payledger/notifier/message"
	"payledger/projections"
)

// town is the processes of a test. A name is gone when the test says so.
type town struct {
	mu     sync.Mutex
	gone   map[string]bool
	author string // the process that wrote the events; "": each process takes them for its own
}

func newTown() *town { return &town{gone: map[string]bool{}} }

func (t *town) end(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.gone[name] = true
}

func (t *town) Gone(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.gone[name]
}

// citizen is one process of a town.
type citizen struct {
	*town
	name   string
	cutOff bool
}

var errCutOff = errors.New("cut off")

func (c *citizen) Holder() (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cutOff {
		return c.name, errCutOff
	}
	return c.name, nil
}

func (c *citizen) Plans(string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.author == "" || c.author == c.name || c.gone[c.author]
}

// renamed ends the name of a process, and sets another one; with "" the process is cut off.
func (c *citizen) renamed(name string) {
	c.end(c.name)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cutOff = name == ""; !c.cutOff {
		c.name = name
	}
}

// node starts another service on the rig's log, with its own store, views and notifier.
func (r *rig) node(n int, nodes delivery.Nodes, views func(message.Views) message.Views) *rig {
	r.t.Helper()
	ctx := context.Background()
	other := &rig{t: r.t, dir: r.dir, config: r.config, shards: r.shards, cluster: true, log: r.log}
	var err error
	other.store, err = engine.Open(ctx, r.log)
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
	c.Store, c.Fanout, c.Secrets, c.Views, c.Now, c.Random, c.Nodes = other.store, fanout, other.vault, views(shown), time.Now, rand.Reader, nodes
	other.notifier, err = New(ctx, c)
	r.must(err)
	other.notifier.position.Events = 0
	other.run(shown.Run, fanout.Run)
	r.t.Cleanup(other.stop)
	return other
}

func asTheyAre(v message.Views) message.Views { return v }

// base starts a cluster and the account, and nothing that sends.
func (r *rig) base() {
	r.t.Helper()
	r.cluster = true
	r.start()
	r.cancel()
	r.running.Wait()
	r.context, r.cancel = context.WithCancel(context.Background())
}

// TestNodes: of two processes on one log one sends each webhook, at its first attempt and at its
// retries.
func TestNodes(t *testing.T) {
	t.Parallel()
	const payments = 30
	inbox := newReceiver(t, map[string]http.HandlerFunc{"/": func(w http.ResponseWriter, _ *http.Request) {
		<-time.After(20 * time.Millisecond) // long enough for the other one to find the same delivery
		w.WriteHeader(http.StatusServiceUnavailable)
	}})
	r := newRig(t)
	r.config.RetryDelays = []time.Duration{100 * time.Millisecond, 100 * time.Millisecond}
	r.base()
	living := newTown()
	nodes := []*rig{r.node(1, &citizen{town: living, name: "one"}, asTheyAre), r.node(2, &citizen{town: living, name: "two"}, asTheyAre)}
	r.endpoint(inbox.url + "/")
	for range payments {
		r.pay(processor.Succeeded)
	}
	hooks := inbox.waitFor(3 * payments)
	poll(t, func() bool {
		for _, d := range r.records() {
			if d.Status != delivery.Exhausted {
				return false
			}
		}
		return true
	}, func() string { return statuses(r.records()) })
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

// TestPlannedByTheAuthor: the process that wrote an event plans its webhooks, another one only what
// it leaves unplanned. Each passes the events that the other one planned.
func TestPlannedByTheAuthor(t *testing.T) {
	t.Parallel()
	const payments = 20
	inbox := newReceiver(t, nil)
	r := newRig(t)
	r.base()
	living := newTown()
	living.author = "author"
	author := r.node(1, &citizen{town: living, name: "author"}, asTheyAre)
	r.config.turn = time.Hour // it plans nothing of the author's
	other := r.node(2, &citizen{town: living, name: "other"}, asTheyAre)
	r.endpoint(inbox.url)
	var last *eventstore.Recorded
	pay := func() {
		s := r.pay(processor.Succeeded)
		var err error
		last, err = r.store.Load(context.Background(), eventstore.Payments.Key(merchantID, string(s.ID)), eventstore.Applied)
		r.must(err)
	}
	for range payments {
		pay()
	}
	inbox.waitFor(payments)
	passes := func(n *rig) {
		poll(t, func() bool { return n.notifier.position.At()[last.Shard] >= last.Seq }, func() string { return "a process does not pass the event" })
	}
	passes(author)
	passes(other)
	author.stop()
	other.stop()
	planners := map[string]int{}
	for _, d := range r.records() {
		planners[d.Planner]++
	}
	if len(planners) != 1 || planners["author"] != payments {
		t.Errorf("planned by %v", planners)
	}
	r.config.turn = 0
	heir := r.node(3, &citizen{town: living, name: "heir"}, asTheyAre) // the author lives, and plans nothing
	pay()
	inbox.waitFor(1)
	passes(heir)
	heir.stop()
	inbox.none()
}

// isPast waits until the durable position is past an event.
func (r *rig) isPast(e *eventstore.Recorded) {
	r.t.Helper()
	poll(r.t, func() bool {
		at, err := openPosition(context.Background(), r.notifier.stream, r.shards)
		r.must(err)
		return at.At()[e.Shard] >= e.Seq
	}, func() string { return "the position does not pass the event" })
}

// TestNodeGone checks that the unsent plans of a process are sent by another process when the first
// one is gone, and not before, if no other process had to plan their events.
func TestNodeGone(t *testing.T) {
	t.Parallel()
	inbox := newReceiver(t, nil)
	r := newRig(t)
	r.base()
	living := newTown()
	stays := r.node(1, &citizen{town: living, name: "stays"}, asTheyAre)
	s := r.pay(processor.Succeeded)
	e, err := r.store.Load(context.Background(), eventstore.Payments.Key(merchantID, string(s.ID)), eventstore.Applied)
	r.must(err)
	stays.isPast(e) // no caller waits for it, and no process plans it again
	id := r.endpoint(inbox.url)
	goes := r.node(2, &citizen{town: living, name: "goes"}, func(v message.Views) message.Views { return held{v, true} })
	if made, err := goes.notifier.Plan(context.Background(), e, id, nil); err != nil || len(made) != 1 {
		t.Fatal(made, err)
	}
	goes.stop()
	inbox.none()
	living.end("goes")
	inbox.waitFor(1)
	d := r.until("over", func(d delivery.Delivery) bool { return d.Status == delivery.Succeeded })
	if d.Sender != "stays" || !d.TakenAt.IsZero() {
		t.Errorf("%+v", d)
	}
	stays.stop()
	inbox.none()
}

// neighbours are two bubbles on one stream.
func neighbours(t *testing.T) (one, two *bubble, living *town) {
	one, two, living = newBubble(t), newBubble(t), newTown()
	two.stream = one.stream
	one.nodes, two.nodes = &citizen{town: living, name: "one"}, &citizen{town: living, name: "two"}
	return one, two, living
}

// see lets a bubble's lanes read the records of the stream after a number of records. It returns
// the number of all records.
func (b *bubble) see(after int) int {
	b.t.Helper()
	b.stream.mu.Lock()
	page := slices.Clone(b.stream.records[after:])
	b.stream.mu.Unlock()
	if err := b.notifier.apply(page); err != nil {
		b.t.Fatal(err)
	}
	return after + len(page)
}

// TestTakeOver: the deliveries of a process that is gone are sent by another one, on time.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		one, two, living := neighbours(t)
		one.answer, two.answer = status(500), status(500)
		one.start()
		two.start()
		name := one.plan(goldenDelivery.EventID, goldenDelivery.Endpoint)
		two.see(0)
		pauseFor(time.Second)
		next := one.stream.decoded(t)[name].NextAt
		two.see(1)
		one.stop()
		late := one.put("00000000-0000-4000-8000-000000000001", goldenDelivery.Endpoint).Name() // and never sent
		two.see(2)
		pauseFor(5 * time.Second)
		gone := time.Now()
		living.end("one")
		pauseFor(time.Hour)
		two.stop()
		calls := two.callsTo(name)
		if len(one.callsTo(name)) != 1 || len(calls) != 5 {
			t.Fatalf("%d and %d attempts", len(one.callsTo(name)), len(calls))
		}
		if calls[0].Sub(next).Abs() > time.Millisecond {
			t.Errorf("sent at %s, want %s", calls[0], next)
		}
		onTime(t, "afterwards", calls, 1, 0)
		if d := one.stream.decoded(t)[name]; d.Status != delivery.Exhausted || len(d.Attempts) != 6 || d.Sender != "two" {
			t.Errorf("%+v", d)
		}
		if calls := two.callsTo(late); len(calls) != 6 || calls[0].Before(gone) || calls[0].Sub(gone) > goneEvery+time.Millisecond {
			t.Errorf("the delivery that was never sent: %d attempts, the first after %s", len(calls), calls[0].Sub(gone))
		}
	})
}

// TestSlowLaneShared: an endpoint that takes long gets each delivery once: a process that lives
// keeps its deliveries, however late it is.
func TestSlowLaneShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		one, two, _ := neighbours(t)
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
			if n := len(one.callsTo(name)); n != 1 {
				t.Errorf("%s came %d times", name, n)
			}
		}
		if len(two.calls) > 0 {
			t.Errorf("%d deliveries were taken over", len(two.calls))
		}
		for name, d := range one.stream.decoded(t) {
			if d.Status != delivery.Succeeded || len(d.Attempts) != 1 {
				t.Errorf("%s: %+v", name, d)
			}
		}
	})
}

// TestCutOffWhileConnecting: a process connects for a delivery, and is cut off meanwhile. When the
// connection is there, it sends nothing: another process took the delivery over.
func TestCutOffWhileConnecting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		one, two, _ := neighbours(t)
		one.answer, two.answer = status(204), status(204)
		hang := make(chan struct{})
		one.hang = hang
		one.start()
		two.start()
		name := one.plan(goldenDelivery.EventID, goldenDelivery.Endpoint)
		two.see(0)
		synctest.Wait() // one connects
		if one.connecting() != 1 {
			t.Fatal("the first process does not connect")
		}
		one.nodes.(*citizen).renamed("")
		pauseFor(2 * goneEvery)
		if n := len(two.callsTo(name)); n != 1 {
			t.Fatalf("the other process sent it %d times", n)
		}
		close(hang)
		pauseFor(time.Second)
		one.nodes.(*citizen).renamed("one again")
		pauseFor(time.Hour)
		one.stop()
		two.stop()
		if n := len(one.callsTo(name)); n != 0 {
			t.Errorf("the process that was cut off sent it %d times", n)
		}
	})
}

// TestWatching checks that completed deliveries of another process take no memory, however many
// they were, and that its open deliveries stay known.
func TestWatching(t *testing.T) {
	t.Parallel()
	me := &citizen{town: newTown(), name: "me"}
	n := &Notifier{lanes: newLanes(sharedOf(newMemory(), limits{})), ownership: delivery.Ownership{Nodes: me}}
	n.lanes.limits, n.lanes.ownership = limits{queue: 4, waiting: 200, page: 8}, n.ownership
	d, seq := goldenDelivery, uint64(0)
	d.Planner = "other"
	put := func(d delivery.Delivery) {
		seq++
		body, err := d.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if err := n.apply([]deliverylog.Record{{Name: d.Name(), Seq: seq, Body: body}}); err != nil {
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
	if len(l.known) != 0 || len(l.waiting) != 0 || l.overflow.open || len(n.lanes.owners.ids) != 1 {
		t.Errorf("%d are known, %d wait, %v own; in the stream only: %v", len(l.known), len(l.waiting), n.lanes.owners.ids, l.overflow.open)
	}
	if n.lanes.owners.takeGone(me.Gone) {
		t.Error("a process that lives is gone")
	}
	me.end("other")
	if !n.lanes.owners.takeGone(me.Gone) || len(n.lanes.owners.ids) != 0 {
		t.Error("a process that is gone is not taken over")
	}
}

// TestOwnership: which deliveries a process sends, which ones it may take over, and how long they
// wait.
func TestOwnership(t *testing.T) {
	t.Parallel()
	living := newTown()
	living.end("gone")
	me := delivery.Ownership{Nodes: &citizen{town: living, name: "me"}}
	d := func(planner, sender string) delivery.Delivery {
		return delivery.Delivery{Status: delivery.Planned, PlannedAt: goldenTime, Planner: planner, Sender: sender}
	}
	for name, c := range map[string]struct {
		ownership delivery.Ownership
		d         delivery.Delivery
		mine, may bool
	}{
		"alone":               {delivery.Ownership{}, d("other", "other"), true, true},
		"planned here":        {me, d("me", ""), true, true},
		"planned elsewhere":   {me, d("other", ""), false, false},
		"tried here":          {me, d("other", "me"), true, true},
		"tried elsewhere":     {me, d("me", "other"), false, false},
		"planned by a gone":   {me, d("gone", ""), false, true},
		"tried by a gone":     {me, d("me", "gone"), false, true},
		"taken over from one": {me, d("gone", "other"), false, false},
	} {
		if mine, may := c.ownership.IsMine(c.d), c.ownership.MayTake(c.d); mine != c.mine || may != c.may {
			t.Errorf("%s: mine %v, may be taken %v", name, mine, may)
		}
		l := newLane("lane", shared{now: func() time.Time { return goldenTime.Add(-time.Hour) }, ownership: c.ownership})
		if at := l.sendAt(c.d); !at.IsZero() {
			t.Errorf("%s: a first attempt waits until %s", name, at)
		}
	}
	waits := delivery.Delivery{Status: delivery.Failed, NextAt: goldenTime.Add(time.Minute), Attempts: []delivery.Attempt{{StartedAt: goldenTime}}}
	synctest.Test(t, func(t *testing.T) {
		for ahead, want := range map[time.Duration]time.Duration{0: time.Minute, -time.Hour: time.Minute, 20 * time.Second: 40 * time.Second, time.Hour: -59 * time.Minute} {
			l := newLane("lane", shared{now: func() time.Time { return goldenTime.Add(ahead) }, ownership: me})
			if left := time.Until(l.sendAt(waits)); left != want {
				t.Errorf("%s after the attempt a retry waits for %s, want %s", ahead, left, want)
			}
		}
	})
}
