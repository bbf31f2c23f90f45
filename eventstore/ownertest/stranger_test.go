package ownertest

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"payledger/eventstore/format"
	"payledger/eventstore/handover"
	"payledger/eventstore/jetapi"
	"payledger/eventstore/ownership"
	"payledger/eventstore/streams"
)

// stranger is a node that a test plays: it takes requests for shard 0, and writes groups.
type stranger struct {
	w      *world
	nc     *nats.Conn
	answer func(handover.Request, string) // nil: it never answers

	mu       sync.Mutex
	requests []handover.Request
	answers  []handover.Answer // to its own requests
}

const strangersName = "stranger"

// stranger connects a stranger.
func (w *world) stranger() *stranger {
	w.t.Helper()
	nc, err := w.server.Connect()
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(nc.Close)
	o := &stranger{w: w, nc: nc}
	for subject, take := range map[string]func(*nats.Msg) error{
		handover.DraftsSubject(strangersName): func(m *nats.Msg) error {
			r, err := handover.ParseRequest(m)
			o.mu.Lock()
			o.requests = append(o.requests, r)
			o.mu.Unlock()
			if o.answer != nil {
				o.answer(r, m.Reply)
			}
			return err
		},
		handover.AnswersSubject(strangersName): func(m *nats.Msg) error {
			a, err := handover.ParseAnswer(m)
			o.mu.Lock()
			defer o.mu.Unlock()
			o.answers = append(o.answers, a)
			return err
		},
	} {
		_, err := nc.Subscribe(subject, func(m *nats.Msg) {
			if err := take(m); err != nil {
				w.t.Error(err)
			}
		})
		if err != nil {
			w.t.Fatal(err)
		}
	}
	if err := nc.Flush(); err != nil {
		w.t.Fatal(err)
	}
	return o
}

// taken returns how many requests came.
func (o *stranger) taken() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.requests)
}

func (o *stranger) send(m *nats.Msg) {
	if err := o.nc.PublishMsg(m); err != nil {
		o.w.t.Error(err)
	}
}

// append writes a group of frames at the end of shard 0; none: an empty group. The frames are the
// first events of their aggregates.
func (o *stranger) append(writer format.Writer, frames ...*format.Recorded) {
	o.w.t.Helper()
	js, err := o.nc.JetStream()
	if err != nil {
		o.w.t.Fatal(err)
	}
	var head format.Head
	for seq := uint64(1); ; seq++ {
		m, err := js.GetMsg(streams.Name(0, 1), seq)
		if err == nats.ErrMsgNotFound { //nolint:errorlint // it is this value
			break
		}
		if err != nil {
			o.w.t.Fatal(err)
		}
		g, err := format.ParseGroup(m.Data)
		if err != nil {
			o.w.t.Fatal(err)
		}
		head = g.After(head)
	}
	g := &format.Group{
		Kind: format.KindEmpty, Log: o.w.nodes[0].store.ID(), Seq: head.Seq + 1, Before: head.Hash, Events: head.Events, Aggregates: head.Aggregates,
		Witness: format.Witness{Shard: format.NoShard}, Frames: frames,
	}
	if len(frames) > 0 {
		g.Kind = format.KindEvents
	}
	g.Place()
	m := &nats.Msg{Subject: streams.Subject(0, 1), Data: g.Encode(), Header: nats.Header{}}
	handover.NameWriter(m.Header, writer)
	answer, err := o.nc.RequestMsg(m, time.Minute)
	if err != nil {
		o.w.t.Fatal(err)
	}
	if ack, err := jetapi.ParseAck(answer); err != nil || ack.Error != nil {
		o.w.t.Fatal(ack.Error, err)
	}
	synctest.Wait()
}

// many calls do at once, n times.
func (w *world) many(n int, do func() *call) {
	w.t.Helper()
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			if c := do(); c.err != nil {
				w.t.Error(c)
			}
		})
	}
	all.Wait()
}

// An owner without an answer gets one request in Patience, until the shard is taken over after
// Absence. A new owner gets more of them at first: it may not know yet that it is the owner.
const (
	mostRequests = int(ownership.Absence/ownership.Patience) + 2
	mostAtFirst  = int(ownership.Patience / (20 * time.Millisecond))
)

// TestRequests: however the owner of a shard, or the next one, refuses what it gets, it gets few
// requests, and the shard is taken over.
func TestRequests(t *testing.T) {
	refuse := func(head func(handover.Request) uint64, each bool) func(*stranger) func(handover.Request, string) {
		return func(o *stranger) func(handover.Request, string) {
			return func(r handover.Request, reply string) {
				var hashes []format.Hash
				for _, d := range r.Drafts {
					if hashes = append(hashes, d.Hash); each {
						o.send(handover.Refused(reply, handover.Elsewhere, head(r), 0, d.Hash))
					}
				}
				if each {
					hashes = nil
				}
				if r.Barrier > 0 || !each {
					o.send(handover.Refused(reply, handover.Elsewhere, head(r), r.Barrier, hashes...))
				}
			}
		}
	}
	behind := func(handover.Request) uint64 { return 0 }
	for name, c := range map[string]struct {
		answer func(*stranger) func(handover.Request, string) // nil: none
		next   bool                                           // the stranger is not the owner, but the next one
		old    bool                                           // it is so for a while
		calls  int
		more   int // requests at first
	}{
		"no answer":             {nil, false, false, 1, 0},
		"no answer to many":     {nil, false, false, 20, 0},
		"behind":                {refuse(behind, false), false, true, 1, 0},
		"behind, many":          {refuse(behind, true), false, true, 20, 0},
		"new, behind":           {refuse(behind, false), false, false, 1, mostAtFirst},
		"next for long, behind": {refuse(behind, false), true, true, 1, 0},
		"as far":                {refuse(func(r handover.Request) uint64 { return r.Head }, false), false, false, 1, 0},
		"ahead":                 {refuse(func(r handover.Request) uint64 { return r.Head + 1 }, false), false, false, 1, 0},
		"next, no answer":       {nil, true, false, 1, 0},
		"next, behind":          {refuse(behind, false), true, false, 1, mostAtFirst},
		"next, behind, many":    {refuse(behind, true), true, false, 20, mostAtFirst},
		"next, ahead":           {refuse(func(r handover.Request) uint64 { return r.Head + 1 }, false), true, false, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, 1, 1, func(w *world) {
				a, o := w.nodes[0], w.stranger()
				a.add(w.newKey(0)).must()
				if c.answer != nil {
					o.answer = c.answer(o)
				}
				writer := format.Writer{Node: strangersName}
				if c.next {
					writer = format.Writer{Node: "left", Next: strangersName}
				}
				if o.append(writer); c.old {
					w.pass(ownership.Patience)
				}
				began, before := time.Now(), len(w.groups(0))
				var reading sync.WaitGroup
				reading.Go(func() { a.read(w.newKey(0)).must() })
				w.many(c.calls, func() *call { return a.add(w.newKey(0)) })
				if took := time.Since(began); took > takeover {
					w.t.Errorf("taken over after %s", took)
				}
				reading.Wait()
				most := mostRequests + c.calls + 1 + c.more // each caller may come with a request of its own
				if n := o.taken(); n > most || n == 0 {
					w.t.Errorf("%d requests; at most %d", n, most)
				}
				if n := len(w.groups(0)) - before; n > 2+c.calls {
					w.t.Errorf("%d groups", n)
				}
				w.check()
			})
		})
	}
}

// TestOneRefusal: a node that does not own a shard refuses all drafts of a request, and its
// readers, in two messages.
func TestOneRefusal(t *testing.T) {
	play(t, 2, 1, func(w *world) {
		a, b, o := w.nodes[0], w.nodes[1], w.stranger()
		a.add(w.newKey(0)).must()
		o.append(format.Writer{Node: strangersName})
		const drafts = 40
		var all sync.WaitGroup
		all.Go(func() { w.many(drafts, func() *call { return a.add(w.newKey(0)) }) })
		synctest.Wait()
		whole := handover.Request{From: strangersName, To: b.name, Barrier: 7}
		o.mu.Lock()
		for _, r := range o.requests {
			whole.Drafts = append(whole.Drafts, r.Drafts...)
		}
		o.mu.Unlock()
		if len(whole.Drafts) != drafts {
			w.t.Fatalf("%d drafts", len(whole.Drafts))
		}
		o.send(whole.Message())
		synctest.Wait()
		o.mu.Lock()
		refused := 0
		for _, answer := range o.answers {
			if refused += len(answer.Hashes); answer.Refused != handover.Elsewhere {
				w.t.Errorf("%+v", answer)
			}
		}
		if n := len(o.answers); n != 2 || refused != drafts {
			w.t.Errorf("%d messages refuse %d drafts", n, refused)
		}
		o.mu.Unlock()
		all.Wait()
		w.check()
	})
}
