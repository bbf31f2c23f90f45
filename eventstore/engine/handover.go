package engine

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"payledger/eventstore/applied"
	"payledger/eventstore/fault"
	"payledger/eventstore/format"
	"payledger/eventstore/handover"
	"payledger/eventstore/nodes"
	"payledger/eventstore/ownership"
)

var errElsewhere = errors.New("eventstore: another node appends to the shard")

// exchange has what a shard handed over to its owner, another node, and what it holds for other
// nodes; see package handover.
type exchange struct {
	busy      bool                   // a goroutine hands drafts and readers over
	waking    bool                   // a look at the shard is due soon
	number    uint64                 // of the newest request
	abandoned uint64                 // of the newest request that a caller did not wait for
	asked     time.Time              // when it was sent
	heard     time.Time              // when a node last answered
	handed    map[format.Hash]*entry // drafts of this node that another node may have
	refused   []*entry               // of handed, in conflict with the log up to entry.through
	stored    []*entry               // of handed, in the group that is being applied
	readers   []*entry               // readers of this node whose request is at the owner
	// Readers of this node that the owner left without an answer: they wait for an empty group of
	// this node.
	visits  []*entry
	closing time.Time       // the owner was last requested to close the segment
	awaited uint64          // this group is fetched soon, unless the tail brings it; 0: none
	relay   ownership.Relay // the way to an owner that does not answer

	held      map[format.Hash]*entry // drafts of other nodes in this process
	reading   []*entry               // readers of any node: they wait for the end of the group in flight
	refusals  handover.Refusals      // of drafts and readers of other nodes: they leave soon
	repeating bool                   // what an owner refused that did not know it yet goes to it again soon
}

const closeEvery = time.Second // between two requests to close a segment

// askSoon hands everything that waits to the owner. An owner that left a request without an answer
// gets the next one only after a while, and readers do not wait for it. The caller holds the lock.
func (h *shard) askSoon() {
	h.queue.drafts = slices.DeleteFunc(h.queue.drafts, overdue)
	if h.exchange.busy || !h.asks() {
		return
	}
	if wait := h.askAfter(); wait > 0 {
		h.exchange.visits = append(h.exchange.visits, h.localOnly(h.queue.readers, false)...)
		h.queue.readers, h.queue.drafts = nil, h.localOnly(h.queue.drafts, false)
		h.wake(wait)
		return
	}
	h.exchange.busy = true
	go func() {
		runtime.Gosched() // more callers join
		h.mu.Lock()
		defer h.mu.Unlock()
		h.exchange.busy = false
		for !h.owner.MayAppend() && h.asks() && h.askAfter() == 0 {
			h.ask()
		}
		h.sendNext() // readers may visit the shard now, or the owner is another one
	}()
}

// asks reports whether there is something to hand over. The caller holds the lock.
func (h *shard) asks() bool {
	return len(h.queue.drafts) > 0 || len(h.queue.readers) > 0 || h.wantsClosed()
}

// wantsClosed reports whether the owner is to be requested to close the segment. The caller holds
// the lock.
func (h *shard) wantsClosed() bool {
	return h.segments.toClose() && time.Since(h.exchange.closing) > closeEvery
}

// askAfter returns how long no request goes to the owner: it is not known, or has just left one
// without an answer. The caller holds the lock.
func (h *shard) askAfter() time.Duration {
	rest := ownership.Patience - time.Since(h.exchange.asked)
	switch {
	case h.owner.Target() == "":
		rest = ownership.Absence
	case !h.owner.Silent() || rest <= 0:
		return 0
	}
	return max(time.Millisecond, min(rest, h.owner.Wait()))
}

// ask sends the first drafts in the queue, up to a group's size, and all readers to the owner. The
// caller holds the lock.
func (h *shard) ask() {
	x := &h.exchange
	target := h.owner.Target()
	to := x.relay.To(target)
	x.number++
	x.asked = time.Now()
	request := handover.Request{From: h.s.node, To: to, Shard: h.n, Head: h.head.Seq, Relay: to != target}
	if h.wantsClosed() {
		request.Close, x.closing = h.segments.closeAt, x.asked
		h.lookAfter(closeEvery + jitter()) // the request may be lost
	}
	size := 0
	h.queue.drafts = h.localOnly(h.queue.drafts, to == target)
	for len(h.queue.drafts) > 0 && len(request.Drafts) < format.MaxFrames && (size == 0 || size+len(h.queue.drafts[0].r.Body) <= format.MaxGroupBytes) {
		d := h.queue.drafts[0]
		h.queue.drafts = h.queue.drafts[1:]
		size += len(d.r.Body)
		d.handed, d.away, d.sent = h, to, x.number
		x.handed[d.r.Hash] = d
		request.Drafts = append(request.Drafts, d.r)
	}
	if readers := h.localOnly(h.queue.readers, to == target); len(readers) > 0 {
		request.Barrier = x.number
		for _, b := range readers {
			b.away, b.sent = to, x.number
		}
		request.Keys, request.Group = readsOf(readers)
		x.readers = append(x.readers, readers...)
	}
	h.queue.readers = nil
	_ = h.s.nc.PublishMsg(request.Message()) // it fails without a connection: no answer comes, and the drafts are taken back
	h.expectAnswer(target, to, x.number, x.asked, time.Now())
}

// expectAnswer takes back what a request handed over, if the owner does not answer. An owner that
// answered other requests meanwhile is slow: it gets more time, as groups of visitors would make it
// slower. The caller holds the lock.
func (h *shard) expectAnswer(target, to string, number uint64, first, since time.Time) {
	time.AfterFunc(ownership.Patience+jitter()/2, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		slow := h.exchange.heard.After(since) && to == h.exchange.relay.To(target) // the way that it went is still in use
		if slow && time.Since(first) < ownership.Absence && target == h.owner.Target() {
			h.expectAnswer(target, to, number, first, time.Now())
			return
		}
		back, heard := h.takeBack(func(d *entry) bool { return d.sent == number }), h.exchange.heard
		if back && heard.Before(since) || h.exchange.abandoned >= number && heard.Before(first) {
			h.unanswered(target, to)
		}
		h.sendNext()
	})
}

// unanswered notes that a request got no answer, or no help on its way to the owner. The caller
// holds the lock.
func (h *shard) unanswered(owner, to string) {
	if to == owner {
		h.owner.Unanswered(owner)
	}
	if owner == h.owner.Target() && (to != owner || h.owner.Beyond()) {
		serving, _ := h.s.serving()
		h.exchange.relay.Failed(to, owner, h.s.node, serving)
	}
}

// ownerBehind returns the owner if a node hands requests on to it, else the node. The caller holds
// the lock.
func (h *shard) ownerBehind(node string) string {
	if h.exchange.relay.Is(node) {
		return h.owner.Target()
	}
	return node
}

// localOnly ends the entries of other nodes, which ask the owner themselves, and returns the
// others; relayed ones, too, if they can go to the owner. The caller holds the lock.
func (h *shard) localOnly(entries []*entry, relayed bool) []*entry {
	return slices.DeleteFunc(entries, func(e *entry) bool {
		foreign := e.origin != nil && !(e.origin.relay && relayed)
		if foreign {
			e.end(errElsewhere)
		}
		return foreign
	})
}

// takeBack returns drafts without an answer to the queue: the same bytes go to the owner again, or
// into a group of this node. Readers without an answer visit the shard. It reports whether there
// were any. The caller holds the lock.
func (h *shard) takeBack(which func(*entry) bool) (any bool) {
	x := &h.exchange
	back := len(h.queue.drafts)
	for _, d := range x.handed {
		if d.away != "" && d.through == 0 && which(d) {
			d.away, d.repeats = "", false
			h.queue.drafts = append(h.queue.drafts, d)
			any = true
		}
	}
	slices.SortFunc(h.queue.drafts[back:], func(a, b *entry) int { return a.began.Compare(b.began) }) // first come, first served
	x.readers = slices.DeleteFunc(x.readers, func(b *entry) bool {
		if b.through > 0 || !which(b) {
			return false
		}
		b.away, b.repeats, any = "", false, true
		if b.origin != nil { // a visit of this node would pass for an answer of the owner
			b.end(errElsewhere)
		} else {
			x.visits = append(x.visits, b)
		}
		return true
	})
	return any
}

// refuseHanded ends what this node has handed over: it takes no more answers. The caller holds the
// lock.
func (h *shard) refuseHanded(cause error) {
	x := &h.exchange
	for _, d := range x.handed {
		if d.away != "" {
			d.end(fmt.Errorf("%w: %w", fault.ErrUnknown, cause))
		}
	}
	endAll(slices.Concat(x.readers, x.visits, x.reading), fmt.Errorf("%w: %w", fault.ErrUnhealthy, cause))
	x.readers, x.visits, x.reading, x.refused = nil, nil, nil, nil
}

func (h *shard) takeAnswer(a handover.Answer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.s.closing.Load():
		return
	case a.Nobody: // its drafts go to it again after a while: its shards may be taken over by then
		h.unanswered(h.ownerBehind(a.From), a.From)
		h.takeBack(func(e *entry) bool { return e.r == nil && e.away == a.From })
	case a.Refused == "":
		h.takeStored(a)
	default:
		h.takeRefusal(a)
	}
	h.sendNext()
}

// tailPatience is how long an acknowledged group may take to come by the tail, before it is read
// from the log: the server with the tail's consumer may be gone.
const tailPatience = 200 * time.Millisecond

// takeStored notes that the owner has the acknowledgement of a group. The tail applies the group.
// The caller holds the lock.
func (h *shard) takeStored(a handover.Answer) {
	h.hears(a.From)
	h.owner.Answered(h.ownerBehind(a.From))
	h.awaitGroup(a.Head, tailPatience)
	for _, b := range h.exchange.readers {
		if b.sent == a.Barrier && b.away == a.From && b.through == 0 {
			b.through = max(1, a.Head)
		}
	}
	h.endHanded()
}

// hears notes an answer of the owner; a late one of a former owner says nothing about it. The
// caller holds the lock.
func (h *shard) hears(from string) {
	if h.ownerBehind(from) == h.owner.Target() {
		h.exchange.heard = time.Now()
	}
}

// takeRefusal handles drafts and readers that another node refused. The caller holds the lock.
func (h *shard) takeRefusal(a handover.Answer) {
	if a.Refused == handover.Elsewhere {
		if a.Head > h.head.Seq { // the newer groups show the owner
			h.awaitGroup(a.Head, 0)
			return
		}
		refused := func(e *entry) bool {
			return e.away == a.From && (e.r != nil && slices.Contains(a.Hashes, e.r.Hash) || e.r == nil && e.sent == a.Barrier)
		}
		if h.owner.Expects(a.From, a.Head) {
			h.repeatSoon(refused)
			return
		}
		h.unanswered(h.ownerBehind(a.From), a.From)
		h.takeBack(refused)
		return
	}
	h.hears(a.From)
	for _, hash := range a.Hashes {
		// It may be at another node by now, which got it twice, and answers only the first one: the
		// log has an event in its place all the same.
		if d := h.exchange.handed[hash]; d != nil && d.away != "" && d.through == 0 && a.Head <= h.beyond.front.Seq+applied.MaxGroups {
			d.through = a.Head // the draft itself may be the event that has its place
			h.exchange.refused = append(h.exchange.refused, d)
		}
	}
	h.awaitGroup(a.Head, tailPatience)
	h.endHanded()
}

const behindPause = 20 * time.Millisecond // before an owner gets what it refused before it knew that it is the owner

// repeatSoon hands drafts and readers over again after behindPause. The caller holds the lock.
func (h *shard) repeatSoon(which func(*entry) bool) {
	x := &h.exchange
	for _, d := range x.handed {
		d.repeats = d.repeats || which(d)
	}
	for _, b := range x.readers {
		b.repeats = b.repeats || which(b)
	}
	if !x.repeating {
		x.repeating = true
		time.AfterFunc(behindPause, h.repeat)
	}
}

// repeat hands over again what repeatSoon marked.
func (h *shard) repeat() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.exchange.repeating = false
	visiting := len(h.exchange.visits)
	h.takeBack(func(e *entry) bool { return e.repeats })
	h.queue.readers = append(h.queue.readers, h.exchange.visits[visiting:]...)
	h.exchange.visits = h.exchange.visits[:visiting]
	h.sendNext()
}

// settleHanded moves the drafts that another node's group holds to exchange.stored. The caller
// holds the lock, and applies the group next.
func (h *shard) settleHanded(g *format.Group) {
	if len(h.exchange.handed) == 0 {
		return
	}
	for i, r := range g.Frames {
		d := h.exchange.handed[r.Hash]
		if d == nil || d.r.Key != r.Key {
			continue
		}
		d.r.PlaceAs(r)
		g.Frames[i] = d.r // it has the decoded state
		if d.away == "" {
			h.queue.drafts = slices.DeleteFunc(h.queue.drafts, func(w *entry) bool { return w == d })
		}
		d.away = ""
		delete(h.exchange.handed, d.r.Hash)
		h.exchange.stored = append(h.exchange.stored, d)
	}
}

// endHanded ends the handed drafts and readers that the groups up to head decide. The caller holds
// the lock.
func (h *shard) endHanded() {
	endAll(h.exchange.stored, nil)
	h.exchange.stored = nil
	x := &h.exchange
	x.refused = slices.DeleteFunc(x.refused, func(d *entry) bool {
		if d.through <= h.head.Seq && x.handed[d.r.Hash] == d {
			d.end(fault.ErrConflict)
		}
		return d.through <= h.head.Seq
	})
	x.readers = slices.DeleteFunc(x.readers, func(b *entry) bool {
		served := b.through > 0 && b.through <= h.head.Seq
		if served {
			b.end(nil)
		}
		return served
	})
}

// isVisit reports whether a group is a visitor's. Older tools leave the NATS header out.
func isVisit(g *format.Group) bool {
	return g.Writer.Visitor || g.Writer.Node == "" && len(g.Frames) == 0
}

// Owned returns the number of shards that this process owns, those beside the log included; 0 on a
// log with one process.
func (s *Store) Owned() int { return len(s.owned()) }

func machineClock() ownership.Reading { return ownership.Reading{Up: nodes.Clock(), Day: time.Now()} }
