package eventstore_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/eventstore/eventstoretest"
)

// remote is a store whose connection to a server goes through a proxy.
func remote(t *testing.T) (s *eventstore.Store, p *proxy, reconnected <-chan struct{}) {
	t.Helper()
	server, err := eventstore.StartServer(eventstore.ServerConfig{Dir: t.TempDir(), Name: "test", Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	p = newProxy(t, server.ClientAddr())
	back := make(chan struct{}, 10)
	c := eventstoretest.Config(nil)
	c.URL, c.Shards = "nats://payledger:"+server.Password()+"@"+p.Addr(), 1
	c.Options = []nats.Option{nats.ReconnectHandler(func(*nats.Conn) { back <- struct{}{} })}
	return eventstoretest.OpenOn(t, c), p, back
}

// await waits until the store's connections are back: its own, and for reading one shard, deliveries and secrets.
func await(reconnected <-chan struct{}) {
	for range 4 {
		<-reconnected
	}
}

// isPubAck tells the answer to a successful publish of an event.
func isPubAck(piece []byte) bool {
	return bytes.Contains(piece, []byte(`"stream":"LEDGER_`)) && bytes.Contains(piece, []byte(`"seq":`)) && !bytes.Contains(piece, []byte(`"error"`))
}

// checkOnce holds the aggregate to exactly one event of the writer.
func checkOnce(t *testing.T, s *eventstore.Store, key eventstore.Key, who string) {
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

// The answer is lost after the publish went through: dropped in silence, or with the connection. The
// writer asks the leader, finds its command and succeeds; the event stands there once.
func TestLostAck(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*proxy){
		"dropped": func(*proxy) {},
		"cut":     func(p *proxy) { p.Drop() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, p, _ := remote(t)
			key := newKey()
			mustAdd(t, s, key, added{Who: "before"})
			var once sync.Once
			p.Answers(func(piece []byte) bool {
				lost := false
				if isPubAck(piece) {
					once.Do(func() { lost = true; lose(p) })
				}
				return !lost
			})
			tip := mustAdd(t, s, key, added{Who: "mine"})
			if !tip.Appended || tip.Recorded.Revision != 2 {
				t.Error(tip)
			}
			checkOnce(t, s, key, "mine")
			mustAdd(t, s, key, added{Who: "after"})
		})
	}
}

// Answer and look-up are both lost and another event follows: sent again, the same bytes are answered
// 10071; the writer walks down from the tip and finds its own event below.
func testOwnBelowTip(t *testing.T, r *rig) {
	ctx := testContext(t)
	s := r.store()
	key := newKey()
	first := mustAdd(t, s, key, added{Who: "before"})
	mine, err := eventstore.Draft(s, tallies, key, first.Recorded, newMeta(t, s), added{Who: "mine"})
	if err != nil {
		t.Fatal(err)
	}
	if code := publishRaw(t, s, mine); code != 0 { // went through; nobody learns of it
		t.Fatal(code)
	}
	mustAdd(t, r.other(), key, added{Who: "next"})
	mustAdd(t, r.other(), key, added{Who: "next but one"})
	if code := publishRaw(t, s, mine); code != 10071 {
		t.Fatalf("the same bytes again: %d", code)
	}
	again := *mine
	if err := s.Append(ctx, &again); err != nil || again.Seq == 0 || again.Hash != mine.Hash {
		t.Errorf("%v, %+v", err, again)
	}
	checkOnce(t, s, key, "mine")
	other, err := eventstore.Draft(s, tallies, key, first.Recorded, newMeta(t, s), added{Who: "never"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Append(ctx, other); !errors.Is(err, eventstore.ErrConflict) {
		t.Errorf("another's place: %v", err)
	}
}

// publishRaw sends the event's bytes once and gives the error code of the answer, 0 for a PubAck.
func publishRaw(t *testing.T, s *eventstore.Store, r *eventstore.Recorded) int {
	t.Helper()
	m, err := s.Conn().RequestMsgWithContext(testContext(t), r.Message())
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Error struct {
			Code int `json:"err_code"`
		} `json:"error"`
	}
	if err := json.Unmarshal(m.Data, &answer); err != nil {
		t.Fatal(err)
	}
	return answer.Error.Code
}

// Nobody takes the publish: that is a definite refusal.
func TestNoResponders(t *testing.T) {
	t.Parallel()
	r := single(t, 2)
	if _, err := r.store().Conn().Request("$JS.API.STREAM.DELETE."+eventstore.StreamName(1), nil, time.Second); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	_, err := eventstore.ExecuteNew(testContext(t), r.store(), tallies, keyIn(r.store(), 1), newMeta(t, r.store()),
		func(tally) (added, error) { return added{}, nil })
	var refusal *domain.Error
	if !errors.Is(err, eventstore.ErrRefused) || !errors.As(err, &refusal) || refusal.Reason != domain.ReasonServiceUnavailable {
		t.Error(err)
	}
	if took := time.Since(start); took > 10*time.Second { // an unclear one is asked about for longer
		t.Errorf("a definite refusal took %s", took)
	}
}

// No answer comes back until the deadline: the outcome is unknown, and is said to be. Afterwards the event
// turns out to stand there, once.
func TestDeadline(t *testing.T) {
	t.Parallel()
	s, p, reconnected := remote(t)
	key := newKey()
	mustAdd(t, s, key, added{Who: "before"})
	p.Answers(func([]byte) bool { return false })
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	_, err := eventstore.ExecuteNew(ctx, s, tallies, newKey(), newMeta(t, s), func(tally) (added, error) { return added{Who: "mine"}, nil })
	var unknown *domain.Error
	if !errors.Is(err, eventstore.ErrUnknown) || errors.Is(err, eventstore.ErrRefused) || !errors.As(err, &unknown) {
		t.Errorf("%v", err)
	}
	p.Heal("")
	p.Drop()
	await(reconnected)
	mustAdd(t, s, key, added{Who: "after"})
}

// Closing the store ends an append under way at once, with an outcome that is said to be unknown.
func TestCloseDuringAppend(t *testing.T) {
	t.Parallel()
	s, p, _ := remote(t)
	sent := make(chan struct{})
	var once sync.Once
	p.Answers(func(piece []byte) bool {
		if isPubAck(piece) {
			once.Do(func() { close(sent) })
			return false
		}
		return true
	})
	ended := make(chan error, 1)
	go func() { ended <- second(add(t, s, newKey(), added{})) }()
	<-sent
	start := time.Now()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, eventstore.ErrUnknown) {
		t.Error(err)
	}
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("it took %s", took)
	}
	select {
	case err := <-s.Fatal():
		t.Errorf("an orderly end is called fatal: %v", err)
	default:
	}
}

// A subscription goes on after its connection was lost, from where it was.
func TestSubscriptionSurvivesReconnect(t *testing.T) {
	t.Parallel()
	s, p, reconnected := remote(t)
	ctx, cancel := context.WithCancel(testContext(t))
	defer cancel()
	got := make(chan uint64, 100)
	ended := make(chan error, 1)
	go func() {
		ended <- s.Subscribe(ctx, 0, 0, func(r *eventstore.Recorded) error { got <- r.Seq; return nil })
	}()
	for want := uint64(1); want <= 5; want++ {
		mustAdd(t, s, newKey(), added{})
		if seq := <-got; seq != want {
			t.Fatalf("%d instead of %d", seq, want)
		}
		p.Drop()
		await(reconnected)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A sole writer does not go on from what it remembers once an append of its own may still arrive.
func TestDoubtIsNotRemembered(t *testing.T) {
	t.Parallel()
	s := sole(t, 1).store()
	key := newKey()
	first := mustAdd(t, s, key, added{N: 1})
	mine, err := eventstore.Draft(s, tallies, key, first.Recorded, newMeta(t, s), added{N: 10})
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Append(ended, mine); !errors.Is(err, eventstore.ErrUnknown) {
		t.Fatal(err)
	}
	if code := publishRaw(t, s, mine); code != 0 { // it arrives late
		t.Fatal(code)
	}
	for range 2 {
		tip, err := eventstore.LoadTip(testContext(t), s, tallies, key)
		if err != nil || tip.State.Sum != 11 {
			t.Errorf("%+v, %v", tip.State, err)
		}
	}
	if tip := mustAdd(t, s, key, added{N: 100}); tip.State.Sum != 111 {
		t.Errorf("%+v", tip.State)
	}
}
