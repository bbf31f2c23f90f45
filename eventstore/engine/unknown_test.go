package engine_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/eventstore/clustertest"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/format"
)

// far is a server, or three, whose connections to a store go through a proxy.
type far struct {
	direct      engine.Config // of a store that has connections of its own
	through     engine.Config // of the store
	proxy       *proxy
	reconnected <-chan struct{}
}

// The ways in which a store writes.
var writers = map[string]func(*testing.T) far{"sole writer": farServer, "node of a cluster": farCluster}

// eachWriter runs a test with a store whose connections go through a proxy, for each of the
// writers.
func eachWriter(t *testing.T, test func(t *testing.T, f far, s *engine.Store)) {
	t.Helper()
	for name, build := range writers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := build(t)
			test(t, f, eventstoretest.OpenOn(t, f.through))
		})
	}
}

// farServer is an embedded server.
func farServer(t *testing.T) far {
	t.Helper()
	p := newProxy(t, "")
	c := eventstoretest.Config(eventstoretest.Server(t, t.TempDir()))
	return newFar(c, c, p, p.through)
}

// farCluster is a cluster, with a proxy before one of its servers.
func farCluster(t *testing.T) far {
	t.Helper()
	servers := clustertest.Start(t, 3, func(_ int, o *server.Options) { o.Cluster.NoAdvertise = true }).Formed(t).Servers
	p := newProxy(t, servers[0].Addr().String())
	return newFar(eventstoretest.ConfigAt(at(servers[0].Addr().String())), eventstoretest.ConfigAt(at(p.Addr())), p)
}

func newFar(direct, through engine.Config, p *proxy, options ...nats.Option) far {
	back := make(chan struct{}, 10)
	direct.Shards, through.Shards = 1, 1
	through.Options = append(options, nats.ReconnectHandler(func(*nats.Conn) { back <- struct{}{} }),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})) // else it prints the ends of connections
	return far{direct, through, p, back}
}

// await waits until the store's connections are back: its own, and for reading one shard,
// deliveries, secrets and checkpoints.
func await(reconnected <-chan struct{}) {
	for range 5 {
		<-reconnected
	}
}

// isPubAck reports whether bytes are the answer to a successful publish of an event.
func isPubAck(piece []byte) bool { return pubAck.Match(piece) }

var pubAck = regexp.MustCompile(`\{"stream":"LEDGER_[0-9_]+", ?"seq":`)

// checkOnce checks that the aggregate has exactly one event of the writer.
func checkOnce(t testing.TB, s *engine.Store, key eventstore.Key, who string) {
	t.Helper()
	events, err := s.History(testContext(t), key)
	if err != nil {
		t.Fatal(err)
	}
	checkChain(t, events)
	if n := countOf(t, events, who); n != 1 {
		t.Errorf("%s stands there %d times", who, n)
	}
}

func countOf(t testing.TB, events []*eventstore.Recorded, who string) (n int) {
	t.Helper()
	for _, r := range events {
		e, err := tallies.Event(r)
		if err != nil {
			t.Fatal(err)
		}
		if e.Who == who {
			n++
		}
	}
	return n
}

// TestLostAck: the answer is lost after the publish was stored: it is dropped silently, or the
// connection ends. The writer asks the leader, finds its command and succeeds; the log has the
// event once.
func TestLostAck(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*proxy){
		"dropped": func(*proxy) {},
		"cut":     func(p *proxy) { p.Drop() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachWriter(t, func(t *testing.T, f far, s *engine.Store) {
				key, p := newKey(), f.proxy
				mustAdd(t, s, key, added{Who: "before"})
				var lost atomic.Bool
				p.Answers(func(piece []byte) bool {
					if !isPubAck(piece) || !lost.CompareAndSwap(false, true) {
						return true
					}
					lose(p)
					return false
				})
				tip := mustAdd(t, s, key, added{Who: "mine"})
				if !tip.Appended || tip.Recorded.Revision != 2 || !lost.Load() {
					t.Error(tip, lost.Load())
				}
				checkOnce(t, s, key, "mine")
				mustAdd(t, s, key, added{Who: "after"})
				checkWhole(t, f.direct, key, "before", "mine", "after")
			})
		})
	}
}

// testOwnBelowTip: the group is stored, its answer is lost, and others append after it. The writer
// looks at the group's place, finds it there and succeeds, once. If another event is at the place,
// the result is a conflict.
func testOwnBelowTip(t testing.TB, r *rig) {
	ctx := testContext(t)
	r.own(t, 0) // another node's events go to the owner
	s := r.store()
	key := keyIn(s, 0)
	first := mustAdd(t, s, key, added{Who: "before"})
	mine := draft(t, s, key, first.Recorded, added{Who: "mine"})
	flight, err := s.Depart(ctx, mine)
	if err != nil {
		t.Fatal(err)
	}
	publish(t, flight, 0) // it was stored, and its answer is lost
	var behind sync.WaitGroup
	next := func() {
		mustAdd(t, r.other(), key, added{Who: "next"})
		mustAdd(t, r.other(), key, added{Who: "next but one"})
	}
	if s == r.other() { // the sole writer appends the next one behind the doubt, as soon as that is cleared
		behind.Go(next)
	} else {
		next()
		publish(t, flight, 10071) // the same bytes again
	}
	if err := flight.Lose(ctx); err != nil || mine.Seq != format.At(flight.Seq(), 0) {
		t.Errorf("%v, %+v", err, mine)
	}
	behind.Wait()
	checkOnce(t, s, key, "mine")
	if events, err := s.History(ctx, key); err != nil || len(events) != 4 {
		t.Errorf("%d events, %v", len(events), err)
	}
	other := draft(t, s, key, first.Recorded, added{Who: "never"})
	if err := s.Append(ctx, other); !errors.Is(err, eventstore.ErrConflict) {
		t.Errorf("another's place: %v", err)
	}
}

// draft makes the aggregate's next event.
func draft(t testing.TB, s *engine.Store, key eventstore.Key, tip *eventstore.Recorded, e added) *eventstore.Recorded {
	t.Helper()
	r, err := engine.Draft(s, tallies, key, tip, newMeta(t, s), e)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// publish sends a group's bytes once past the store, and expects an error code; 0 is an
// acknowledgement.
func publish(t testing.TB, f *engine.Flight, want int) {
	t.Helper()
	if code, err := f.Publish(testContext(t)); err != nil || code != want {
		t.Errorf("the answer to a publish: %d, %v; want %d", code, err, want)
	}
}

// TestNoResponders: no server receives the publish: that is a definite refusal.
func TestNoResponders(t *testing.T) {
	t.Parallel()
	r := sole(t, 2)
	if _, err := r.store().Conn().Request("$JS.API.STREAM.DELETE."+engine.StreamName(1), nil, time.Minute); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	_, err := eventstore.ExecuteNew(testContext(t), r.store(), tallies, keyIn(r.store(), 1), newMeta(t, r.store()),
		func(tally) (added, error) { return added{}, nil })
	var refusal *domain.Error
	if !errors.Is(err, eventstore.ErrRefused) || !errors.As(err, &refusal) || refusal.Reason != domain.ReasonServiceUnavailable {
		t.Error(err)
	}
	if took := time.Since(start); took > 10*time.Second { // an unclear outcome takes longer
		t.Errorf("a definite refusal took %s", took)
	}
}

// TestDeadline: no answer comes until the deadline, though the event was stored: the error is
// ErrUnknown. Another store then finds the event, once.
func TestDeadline(t *testing.T) {
	t.Parallel()
	eachWriter(t, func(t *testing.T, f far, s *engine.Store) {
		key, late, p := newKey(), newKey(), f.proxy
		mustAdd(t, s, key, added{Who: "before"})
		ctx, deadline := context.WithCancel(testContext(t))
		defer deadline()
		p.Answers(func(piece []byte) bool {
			if isPubAck(piece) { // it is stored
				deadline()
			}
			return false
		})
		_, err := eventstore.ExecuteNew(ctx, s, tallies, late, newMeta(t, s), func(tally) (added, error) { return added{Who: "mine"}, nil })
		var unknown *domain.Error
		if !errors.Is(err, eventstore.ErrUnknown) || errors.Is(err, eventstore.ErrRefused) || !errors.As(err, &unknown) {
			t.Errorf("%v", err)
		}
		checkWhole(t, f.direct, late, "mine")
		p.Heal("")
		p.Drop()
		await(f.reconnected)
		mustAdd(t, s, key, added{Who: "after"})
		checkOnce(t, s, late, "mine")
		if tip := mustAdd(t, s, late, added{Who: "next"}); tip.Recorded.Revision != 2 {
			t.Errorf("after the event of unknown outcome came revision %d", tip.Recorded.Revision)
		}
		checkWhole(t, f.direct, late, "mine", "next")
		checkWhole(t, f.direct, key, "before", "after")
	})
}

// checkWhole checks that a store that has only what the servers have finds exactly these events of
// an aggregate, in this order.
func checkWhole(t *testing.T, c engine.Config, key eventstore.Key, who ...string) {
	t.Helper()
	c.ReadOnly = true
	events, err := eventstoretest.OpenOn(t, c).History(testContext(t), key)
	if err != nil {
		t.Fatal(err)
	}
	checkChain(t, events)
	var found []string
	for _, r := range events {
		e, err := tallies.Event(r)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, e.Who)
	}
	if !slices.Equal(found, who) {
		t.Errorf("there stand %v, not %v", found, who)
	}
}

// TestCloseDuringAppend: closing the store ends an append under way at once, with an outcome that
// is said to be unknown.
func TestCloseDuringAppend(t *testing.T) {
	t.Parallel()
	eachWriter(t, func(t *testing.T, f far, s *engine.Store) {
		sent := make(chan struct{})
		var once sync.Once
		f.proxy.Answers(func(piece []byte) bool {
			if isPubAck(piece) {
				once.Do(func() { close(sent) })
				return false
			}
			return true
		})
		ended := make(chan error, 1)
		go func() { ended <- second(add(t, s, newKey(), added{})) }()
		select {
		case <-sent:
		case err := <-ended:
			t.Fatalf("it ended before its answer: %v", err)
		}
		start := time.Now()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; !errors.Is(err, eventstore.ErrUnknown) {
			t.Error(err)
		}
		if took := time.Since(start); took > 10*time.Second { // an append that is not ended takes longer
			t.Errorf("it took %s", took)
		}
		select {
		case err := <-s.Fatal():
			t.Errorf("an orderly end is called fatal: %v", err)
		default:
		}
	})
}

// TestRefusedWhileClosing: the server refuses a group while the store closes: that is no unknown
// outcome.
func TestRefusedWhileClosing(t *testing.T) {
	t.Parallel()
	s := sole(t, 1).store()
	flight, err := s.Depart(testContext(t), draft(t, s, newKey(), nil, added{}))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := flight.Refuse(testContext(t)); !errors.Is(err, eventstore.ErrRefused) || errors.Is(err, eventstore.ErrUnknown) {
		t.Error(err)
	}
}

// TestCloseWithQueue: closing the store ends appends that wait behind two under way, too: each gets
// ErrRefused or ErrUnknown.
func TestCloseWithQueue(t *testing.T) {
	t.Parallel()
	for range 5 {
		f := farServer(t)
		s := eventstoretest.OpenOn(t, f.through)
		s.PipelineFrom(1)
		mustAdd(t, s, newKey(), added{})
		f.proxy.Answers(func(piece []byte) bool { return !isPubAck(piece) })
		ended := make(chan error, 64)
		for flights := range 2 { // as many as may be under way
			go func() { ended <- s.Append(testContext(t), draft(t, s, newKey(), nil, added{})) }()
			if err := s.WaitFlights(testContext(t), 0, flights+1); err != nil {
				t.Fatal(err)
			}
		}
		for n := 2; n < cap(ended); n++ {
			go func() { ended <- s.Append(testContext(t), draft(t, s, newKey(), nil, added{})) }()
		}
		if err := s.WaitWaiting(testContext(t), 0, cap(ended)-2); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		stand := 0
		for range cap(ended) {
			switch err := <-ended; {
			case err == nil:
				stand++
			case !errors.Is(err, eventstore.ErrUnknown) && !errors.Is(err, eventstore.ErrRefused):
				t.Error(err)
			}
		}
		if stand > 2 { // those under way, if a look-up found them before the end
			t.Errorf("%d appends of %d ended well", stand, cap(ended))
		}
	}
}

// TestSubscriptionSurvivesReconnect: a subscription continues at its place after its connection was
// lost. Another store appends, so only the server has the new events.
func TestSubscriptionSurvivesReconnect(t *testing.T) {
	t.Parallel()
	f := farCluster(t)
	s, writer := eventstoretest.OpenOn(t, f.through), eventstoretest.OpenOn(t, f.direct)
	ctx, cancel := context.WithCancel(testContext(t))
	defer cancel()
	got := make(chan *eventstore.Recorded, 100)
	ended := make(chan error, 1)
	go func() {
		ended <- s.Subscribe(ctx, 0, 0, func(r *eventstore.Recorded) error { got <- r; return nil })
	}()
	for want := uint64(1); want <= uint64(scale(3, 5)); want++ { // a subscription finds the loss of its connection after 2 s
		if want > 1 {
			f.proxy.Drop()
			await(f.reconnected)
		}
		tip := mustAdd(t, writer, newKey(), added{})
		if r := <-got; r.Number != want || r.Key != tip.Recorded.Key {
			t.Fatalf("event %d of %s instead of %d of %s", r.Number, r.Key, want, tip.Recorded.Key)
		}
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestDoubtIsNotRemembered: a sole writer does not append after its remembered state while an
// earlier append may still arrive: it finds the late group at its own next place, and decides again
// on top of it.
func TestDoubtIsNotRemembered(t *testing.T) {
	t.Parallel()
	for _, arrives := range []bool{true, false} {
		t.Run(fmt.Sprintf("arrives %t", arrives), func(t *testing.T) {
			t.Parallel()
			s := sole(t, 1).store()
			key := newKey()
			first := mustAdd(t, s, key, added{N: 1})
			flight, err := s.Depart(testContext(t), draft(t, s, key, first.Recorded, added{N: 10}))
			if err != nil {
				t.Fatal(err)
			}
			if err := flight.GiveUp(testContext(t)); !errors.Is(err, eventstore.ErrUnknown) {
				t.Fatal(err)
			}
			want := int64(101)
			if arrives {
				publish(t, flight, 0)
				want = 111
			}
			if tip := mustAdd(t, s, key, added{N: 100}); tip.State.Sum != want {
				t.Errorf("%+v, want %d", tip.State, want)
			}
			if !arrives {
				publish(t, flight, 10071) // too late: its place is taken
			}
			for range 2 {
				tip, err := eventstore.Load(testContext(t), s, tallies, key, eventstore.Applied)
				if err != nil || tip.State.Sum != want {
					t.Errorf("%+v, %v, want %d", tip.State, err, want)
				}
			}
			events, err := s.History(testContext(t), key)
			if err != nil {
				t.Fatal(err)
			}
			checkChain(t, events)
			if err := s.Healthy(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestCallerStopsWaiting: the caller stops waiting while its group is under way: the outcome is
// unknown to it, the group goes on.
func TestCallerStopsWaiting(t *testing.T) {
	t.Parallel()
	s := sole(t, 1).store()
	key := newKey()
	first := mustAdd(t, s, key, added{N: 1})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	err := s.Append(ended, draft(t, s, key, first.Recorded, added{N: 10}))
	if err != nil && !errors.Is(err, eventstore.ErrUnknown) {
		t.Fatal(err)
	}
	if tip := mustAdd(t, s, key, added{N: 100}); tip.State.Sum != 111 {
		t.Errorf("%+v", tip.State)
	}
}
