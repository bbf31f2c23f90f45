package eventstore

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"payledger/eventstore/deliverylog"
	"payledger/eventstore/format"
	"payledger/eventstore/handover"
	"payledger/eventstore/jetapi"
)

// sequencerSilence is the time without a new group after which a node appends to a shard without the sequencer. Each wait is up to
// fenceDelay longer, so that the nodes do not begin together.
const sequencerSilence = time.Second

var errElsewhere = errors.New("eventstore: another node appends to the shard")

// sequencer is what a shard knows about the node that appends to it; see package handover.
type sequencer struct {
	newest uint64    // the newest group whose writer is known
	writer string    // the node that wrote it; "": this node, or a node that takes no drafts
	lastAt time.Time // when its newest group came

	busy    bool            // a goroutine hands drafts over
	handed  map[Hash]*entry // drafts of this node that another node may have
	readers []*entry        // barriers that wait for a group of the sequencer
	number  uint64          // of the newest request
	held    map[Hash]*entry // drafts of other nodes in this process
	refused []*entry        // of handed, in conflict with the log up to entry.through
	closing time.Time       // the sequencer was last requested to close the segment
	awaited bool            // a group of the sequencer is fetched soon
}

const (
	maxHeld      = 4096    // drafts of other nodes that a shard takes
	maxFrameText = 8 << 10 // bytes of the text of such a draft's frame
)

// origin is the node that handed a draft or a barrier over.
type origin struct {
	h       *shard
	reply   string
	barrier uint64
}

// handsOver reports whether another node appends to the shard. The caller holds the lock.
func (h *shard) handsOver() bool {
	return h.sequencer.writer != "" && time.Since(h.sequencer.lastAt) < sequencerSilence
}

// noteWriter notes the node that wrote a group. The caller holds the lock.
func (h *shard) noteWriter(seq uint64, node string) {
	if seq <= h.sequencer.newest || h.s.node == "" {
		return
	}
	if node == h.s.node {
		node = ""
	}
	h.sequencer.newest, h.sequencer.writer, h.sequencer.lastAt = seq, node, time.Now()
}

// handOverSoon hands everything that waits to the sequencer. The caller holds the lock.
func (h *shard) handOverSoon() {
	if h.sequencer.busy || !h.handsWork() {
		return
	}
	h.sequencer.busy = true
	go func() {
		runtime.Gosched() // more callers join
		h.mu.Lock()
		defer h.mu.Unlock()
		h.sequencer.busy = false
		for h.handsOver() && h.handsWork() {
			h.handOver()
		}
		h.sendNext() // the sequencer may have changed
	}()
}

// handsWork reports whether there is something to hand over. The caller holds the lock.
func (h *shard) handsWork() bool { return len(h.waiting) > 0 || len(h.barriers) > 0 || h.wantsClosed() }

// wantsClosed reports whether the sequencer is to be requested to close the segment: each second. The caller holds the lock.
func (h *shard) wantsClosed() bool {
	return h.rollFrom == h.open().number && time.Since(h.sequencer.closing) > sequencerSilence
}

// handOver sends the first drafts in the queue, up to a group's size, and all barriers to the sequencer. The caller holds the lock.
func (h *shard) handOver() {
	h.sequencer.number++
	request := handover.Request{From: h.s.node, To: h.sequencer.writer, Shard: h.n}
	if h.wantsClosed() {
		request.Close, h.sequencer.closing = h.rollFrom, time.Now()
	}
	var sent []*entry
	size := 0
	for len(h.waiting) > 0 && len(request.Drafts) < format.MaxFrames && (size == 0 || size+len(h.waiting[0].r.Body) <= format.MaxGroupBytes) {
		d := h.waiting[0]
		h.waiting = h.waiting[1:]
		if d.origin != nil {
			d.end(errElsewhere)
			continue
		}
		size += len(d.r.Body)
		d.handed = h
		h.sequencer.handed[d.r.Hash] = d
		sent, request.Drafts = append(sent, d), append(request.Drafts, d.r)
	}
	for _, b := range h.barriers {
		if b.origin != nil {
			b.end(errElsewhere)
			continue
		}
		if b.since == 0 {
			b.since = h.sequencer.number
		}
		request.Barrier = h.sequencer.number
		h.sequencer.readers = append(h.sequencer.readers, b)
		sent = append(sent, b)
	}
	h.barriers = nil
	for _, d := range sent {
		d.away, d.sent = request.To, h.sequencer.number
		d.tries++
	}
	number := h.sequencer.number
	_ = h.s.nc.PublishMsg(request.Message()) // it fails without a connection: no answer comes, and the drafts are taken back
	time.AfterFunc(sequencerSilence+jitter(), func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.takeBack(func(d *entry) bool { return d.sent == number }) { // a second time: its requests are lost
			h.forgetSequencer(request.To)
		}
		h.sendNext()
	})
}

// takeBack returns drafts and barriers without an answer to the queue: the same bytes go to the sequencer again, or into a group of this
// node. It reports whether a sequencer left one without an answer for the second time. The caller holds the lock.
func (h *shard) takeBack(which func(*entry) bool) (again bool) {
	for _, d := range h.sequencer.handed {
		if d.away != "" && d.through == 0 && which(d) {
			d.away = ""
			h.waiting = append(h.waiting, d)
			again = again || d.tries > 1
		}
	}
	h.sequencer.readers = slices.DeleteFunc(h.sequencer.readers, func(b *entry) bool {
		if b.through > 0 || !which(b) {
			return false
		}
		b.away = ""
		h.barriers = append(h.barriers, b)
		again = again || b.tries > 1
		return true
	})
	return again
}

// refuseHanded ends what this node has handed over: it takes no more answers. The caller holds the lock.
func (h *shard) refuseHanded(cause error) {
	for _, d := range h.sequencer.handed {
		if d.away != "" {
			d.end(fmt.Errorf("%w: %w", ErrUnknown, cause))
		}
	}
	endAll(h.sequencer.readers, fmt.Errorf("%w: %w", ErrUnhealthy, cause))
	h.sequencer.readers, h.sequencer.refused = nil, nil
}

func (h *shard) takeAnswer(a handover.Answer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.s.closing.Load():
		return
	case a.Nobody:
		h.forgetSequencer(a.From)
		h.takeBack(func(d *entry) bool { return d.away == a.From })
	case a.Refused == "":
		h.takeStored(a)
	default:
		h.takeRefusal(a)
	}
	h.sendNext()
}

// tailPatience is how long an acknowledged group may take to come by the tail, before it is read from the log: the server with the tail's consumer
// may be gone.
const tailPatience = 200 * time.Millisecond

// takeStored notes that the sequencer has the acknowledgement of a group. The tail applies the group. The caller holds the lock.
func (h *shard) takeStored(a handover.Answer) {
	if a.Head > h.head.Seq && !h.sequencer.awaited {
		h.sequencer.awaited = true
		time.AfterFunc(tailPatience, func() { h.fetch(a.Head) })
	}
	for _, b := range h.sequencer.readers {
		if b.since <= a.Barrier && b.through == 0 { // requests are numbered in their order: the group was sent after this one
			b.through = a.Head
		}
	}
	h.endHanded()
}

// fetch reads the log up to a group, unless the tail was faster.
func (h *shard) fetch(seq uint64) {
	ctx, cancel := context.WithTimeout(h.s.life, jetapi.ReadTimeout)
	defer cancel()
	err := h.tryReadUpTo(ctx, seq)
	if err != nil && !errors.Is(err, errBusy) && h.s.life.Err() == nil {
		h.s.log.Debug().Err(err).Int("shard", h.n).Msg("a group that another node appended was not read; the tail brings it")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sequencer.awaited = false
}

// takeRefusal handles drafts and readers that the sequencer refused. The caller holds the lock.
func (h *shard) takeRefusal(a handover.Answer) {
	if a.Refused == handover.Elsewhere {
		h.forgetSequencer(a.From)
		h.takeBack(func(d *entry) bool {
			return d.away == a.From && (d.r != nil && slices.Contains(a.Hashes, d.r.Hash) || d.r == nil && d.sent <= a.Barrier)
		})
		return
	}
	for _, hash := range a.Hashes {
		if d := h.sequencer.handed[hash]; d != nil && d.away == a.From && d.through == 0 && a.Head <= h.front.Seq+recentGroups {
			d.through = a.Head // the draft itself may be the event that has its place
			h.sequencer.refused = append(h.sequencer.refused, d)
		}
	}
	h.endHanded()
}

// forgetSequencer makes this node append by itself until it reads a newer group of another node. The caller holds the lock.
func (h *shard) forgetSequencer(node string) {
	if h.sequencer.writer == node {
		h.sequencer.writer = ""
	}
}

// settleHanded moves the drafts that another node's group holds to h.stored. The caller holds the lock, and applies the group next.
func (h *shard) settleHanded(g *format.Group) {
	if len(h.sequencer.handed) == 0 {
		return
	}
	for i, r := range g.Frames {
		d := h.sequencer.handed[r.Hash]
		if d == nil || d.r.Key != r.Key {
			continue
		}
		d.r.PlaceAs(r)
		g.Frames[i] = d.r // it has the decoded state
		if d.away == "" {
			h.waiting = slices.DeleteFunc(h.waiting, func(w *entry) bool { return w == d })
		}
		h.stored = append(h.stored, d)
	}
}

// endHanded ends the handed drafts and readers that the groups up to head decide. The caller holds the lock.
func (h *shard) endHanded() {
	endAll(h.stored, nil)
	h.stored = nil
	h.sequencer.refused = slices.DeleteFunc(h.sequencer.refused, func(d *entry) bool {
		if d.through <= h.head.Seq && h.sequencer.handed[d.r.Hash] == d {
			d.end(ErrConflict)
		}
		return d.through <= h.head.Seq
	})
	h.sequencer.readers = slices.DeleteFunc(h.sequencer.readers, func(b *entry) bool {
		served := b.through > 0 && b.through <= h.head.Seq
		if served {
			b.end(nil)
		}
		return served
	})
}

func (h *shard) takeDrafts(r handover.Request, reply string) {
	from := &origin{h: h, reply: reply, barrier: r.Barrier}
	unable := h.s.writable(h)
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, d := range r.Drafts {
		if h.sequencer.held[d.Hash] != nil {
			continue // it came before
		}
		e := &entry{r: d, began: time.Now(), origin: from}
		h.sequencer.held[d.Hash] = e
		if err := cmp.Or(unable, h.acceptable(d)); err != nil {
			e.end(err)
			continue
		}
		h.enqueue(e)
	}
	if b := (&entry{began: time.Now(), origin: from}); r.Barrier > 0 && unable != nil {
		b.end(unable)
	} else if r.Barrier > 0 {
		h.barriers = append(h.barriers, b)
	}
	if unable == nil && r.Close == h.open().number {
		h.rollFrom = r.Close
	}
	h.sendNext()
}

// acceptable checks a draft of another node before it waits here: this node writes nothing that a reader of the log refuses.
func (h *shard) acceptable(d *Recorded) error {
	beside := d.Aggregate == format.BesideAggregate || d.Aggregate == format.DeliveryAggregate
	home := h.n == deliverylog.ShardNumber && beside || h.n != deliverylog.ShardNumber && !beside && h.s.ShardOf(d.Key) == h.n
	_, err := deliverylog.ParseFloor(d)
	switch text := len(d.AppendFrame(nil)) - len(d.Body); {
	case d.Key.Valid() != nil, err != nil, !home:
		return fmt.Errorf("%w: %s does not belong into shard %d", ErrRefused, d.Key, h.n)
	case len(d.Body) > maxBody, text > maxFrameText, len(h.sequencer.held) > maxHeld:
		return fmt.Errorf("%w: no room for %d bytes", ErrRefused, len(d.Body)+text)
	}
	return nil
}

// ended answers a draft or a barrier of another node that ended. answerOrigins reports the stored ones. The caller holds the lock.
func (o *origin) ended(d *entry) {
	if d.r != nil {
		delete(o.h.sequencer.held, d.r.Hash)
	}
	if d.err == nil {
		return
	}
	why, hashes, barrier := handover.Elsewhere, []format.Hash(nil), o.barrier
	if errors.Is(d.err, ErrConflict) {
		why = handover.Conflict
	}
	if d.r != nil {
		hashes, barrier = []format.Hash{d.r.Hash}, 0
	}
	o.h.s.tellNode(handover.Refused(o.reply, why, o.h.head.Seq, barrier, hashes...))
}

// answerOrigins sends an acknowledged group to the nodes that handed a part of it over. The caller holds the lock.
func (h *shard) answerOrigins(f *groupInFlight) {
	barriers := map[string]uint64{}
	for _, d := range slices.Concat(f.drafts, f.barriers) {
		switch {
		case d.origin == nil:
		case d.r != nil:
			barriers[d.origin.reply] += 0
		default:
			barriers[d.origin.reply] = max(barriers[d.origin.reply], d.origin.barrier)
		}
	}
	for reply, barrier := range barriers {
		h.s.tellNode(handover.Stored(reply, f.g.Seq, barrier))
	}
}

// openHandover names this node, and subscribes to the drafts and answers of other nodes, and to the holds of back-ups.
func (s *Store) openHandover() error {
	if s.sole || s.readOnly || s.replicas == 1 {
		return nil
	}
	s.node = rand.Text()
	for subject, take := range map[string]nats.MsgHandler{
		handover.HoldSubject: s.hold.Handler(s.log, s.checkpoints.Hurry, s.sendAll),
		handover.DraftsSubject(s.node): func(m *nats.Msg) {
			r, err := handover.ParseRequest(m)
			s.inShard(r.Shard, err, func(h *shard) { h.takeDrafts(r, m.Reply) })
		},
		handover.AnswersSubject(s.node): func(m *nats.Msg) {
			a, err := handover.ParseAnswer(m)
			s.inShard(a.Shard, err, func(h *shard) { h.takeAnswer(a) })
		},
	} {
		if _, err := s.nc.Subscribe(subject, take); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) inShard(n int, err error, take func(*shard)) {
	if err != nil || n != deliverylog.ShardNumber && (n < 0 || n >= len(s.shard)) {
		s.log.Warn().Err(err).Int("shard", n).Msg("a message of another node is unreadable")
		return
	}
	take(s.numbered(n))
}
