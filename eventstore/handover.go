package eventstore

import (
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
)

// sequencerSilence is how long a shard may be without a new group until a node appends to it without the sequencer. Each wait is up to fenceDelay
// longer, so that the nodes do not begin together.
const sequencerSilence = time.Second

// errElsewhere means that this node does not append a draft of another node.
var errElsewhere = errors.New("eventstore: another node appends to the shard")

// sequencer is what a shard knows about the node that appends to it; see package handover.
type sequencer struct {
	newest uint64    // the newest group whose writer is known
	writer string    // the node that wrote it; "": this node, or a node that takes no drafts
	heard  time.Time // when its newest group came

	busy    bool            // a goroutine hands drafts over
	handed  map[Hash]*entry // drafts of this node that another node may have
	readers []*handedReaders
	number  uint64          // of the newest handed readers
	held    map[Hash]*entry // drafts of other nodes in this process
	refused []*entry        // of handed, in conflict with the log up to entry.head
}

// handedReaders are barriers that wait for a group of the sequencer.
type handedReaders struct {
	number  uint64
	to      string
	waiting []*entry
	through uint64 // they wait until this process has applied the group; 0: it is not known yet
}

// origin is the node that handed a draft or a barrier over.
type origin struct {
	h       *shard
	reply   string
	barrier uint64
}

// handsOver reports whether another node appends to the shard. The caller holds the lock.
func (h *shard) handsOver() bool {
	return h.sequencer.writer != "" && time.Since(h.sequencer.heard) < sequencerSilence
}

// noteWriter notes the node that wrote a group. The caller holds the lock.
func (h *shard) noteWriter(seq uint64, node string) {
	if seq <= h.sequencer.newest || h.s.node == "" {
		return
	}
	if node == h.s.node {
		node = ""
	}
	h.sequencer.newest, h.sequencer.writer, h.sequencer.heard = seq, node, time.Now()
}

// handOverSoon hands everything that waits to the sequencer. The caller holds the lock.
func (h *shard) handOverSoon() {
	if h.sequencer.busy || len(h.waiting) == 0 && len(h.barriers) == 0 {
		return
	}
	h.sequencer.busy = true
	go func() {
		runtime.Gosched() // more callers join
		h.mu.Lock()
		defer h.mu.Unlock()
		h.sequencer.busy = false
		for h.handsOver() && (len(h.waiting) > 0 || len(h.barriers) > 0) {
			h.handOver()
		}
		h.sendNext() // the sequencer may have changed
	}()
}

// handOver sends the first drafts in the queue, as many as a group has room for, and all barriers to the sequencer. The caller holds
// the lock.
func (h *shard) handOver() {
	request := handover.Request{From: h.s.node, To: h.sequencer.writer, Shard: h.n}
	var sent []*entry
	size := 0
	for len(h.waiting) > 0 && len(sent) < format.MaxFrames && (len(sent) == 0 || size+len(h.waiting[0].r.Body) <= format.MaxGroupBytes) {
		d := h.waiting[0]
		h.waiting = h.waiting[1:]
		if d.origin != nil {
			d.end(errElsewhere)
			continue
		}
		size += len(d.r.Body)
		d.away, d.handed = request.To, h
		h.sequencer.handed[d.r.Hash] = d
		sent, request.Drafts = append(sent, d), append(request.Drafts, d.r)
	}
	readers := h.handReaders(request.To)
	if readers != nil {
		request.Barrier = readers.number
	}
	if len(sent) == 0 && readers == nil {
		return
	}
	_ = h.s.nc.PublishMsg(request.Message()) // it fails without a connection: no answer comes, and the drafts are taken back
	time.AfterFunc(sequencerSilence+jitter(), func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.takeBack(sent)
		h.takeBackReaders(readers)
		h.sendNext()
	})
}

// handReaders moves the waiting barriers to those that the sequencer serves. The caller holds the lock.
func (h *shard) handReaders(to string) *handedReaders {
	var own []*entry
	for _, b := range h.barriers {
		if b.origin != nil {
			b.end(errElsewhere)
		} else {
			own = append(own, b)
		}
	}
	h.barriers = nil
	if len(own) == 0 {
		return nil
	}
	h.sequencer.number++
	readers := &handedReaders{number: h.sequencer.number, to: to, waiting: own}
	h.sequencer.readers = append(h.sequencer.readers, readers)
	return readers
}

// takeBack returns drafts without an answer to the queue: the same bytes go to the sequencer again, or into a group of this node. The
// caller holds the lock.
func (h *shard) takeBack(drafts []*entry) {
	for _, d := range drafts {
		if d.away != "" && h.sequencer.handed[d.r.Hash] == d {
			d.away = ""
			h.waiting = append(h.waiting, d)
		}
	}
}

// takeBackReaders returns barriers without an answer to the queue. The caller holds the lock.
func (h *shard) takeBackReaders(r *handedReaders) {
	at := slices.Index(h.sequencer.readers, r)
	if r == nil || at < 0 || r.through > 0 {
		return
	}
	h.sequencer.readers = slices.Delete(h.sequencer.readers, at, at+1)
	h.barriers = append(h.barriers, r.waiting...)
}

// refuseHanded ends what this node has handed over: it takes no more answers. The caller holds the lock.
func (h *shard) refuseHanded(cause error) {
	for _, d := range h.sequencer.handed {
		if d.away != "" {
			d.end(fmt.Errorf("%w: %w", ErrUnknown, cause))
		}
	}
	for _, r := range h.sequencer.readers {
		endAll(r.waiting, fmt.Errorf("%w: %w", ErrUnhealthy, cause))
	}
	h.sequencer.readers = nil
}

// takeAnswer reads an answer of a sequencer.
func (h *shard) takeAnswer(a handover.Answer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case a.Nobody:
		h.forgetSequencer(a.From)
		for _, d := range h.sequencer.handed {
			if d.away == a.From {
				h.takeBack([]*entry{d})
			}
		}
		h.readersRefused(a.From, h.sequencer.number)
	case a.Refused == "":
		h.takeStored(a)
	default:
		h.takeRefusal(a)
	}
	h.sendNext()
}

// takeStored applies an acknowledged group that the sequencer sent. If this process has not read the groups before it, the group comes
// from the log soon. The caller holds the lock.
func (h *shard) takeStored(a handover.Answer) {
	g, err := format.ParseGroup(a.Group)
	if err != nil || g.Shard != h.n || g.Log != h.s.id {
		h.s.log.Warn().Err(err).Int("shard", h.n).Msg("a node sent an unreadable group; it is read from the log")
		return
	}
	h.noteWriter(g.Seq, a.From)
	for _, r := range h.sequencer.readers {
		if r.number <= a.Barrier && r.to == a.From && r.through == 0 {
			r.through = g.Seq
		}
	}
	if err := h.observeLocked(g); err != nil && !errors.Is(err, errBusy) {
		h.s.log.Error().Err(err).Int("shard", h.n).Msg("a node sent a group that does not follow the log")
	}
	h.endHanded()
}

// takeRefusal handles drafts and readers that the sequencer refused. The caller holds the lock.
func (h *shard) takeRefusal(a handover.Answer) {
	if a.Refused == handover.Elsewhere {
		h.forgetSequencer(a.From)
	}
	for _, hash := range a.Hashes {
		d := h.sequencer.handed[hash]
		if d == nil || d.away != a.From {
			continue // this node has taken it back, or it is appended
		}
		if a.Refused == handover.Elsewhere {
			h.takeBack([]*entry{d})
			continue
		}
		d.head = a.Head // the draft itself may be the event that has its place
		h.sequencer.refused = append(h.sequencer.refused, d)
	}
	h.readersRefused(a.From, a.Barrier)
	h.endHanded()
}

// forgetSequencer makes this node append by itself until it reads a newer group of another node. The caller holds the lock.
func (h *shard) forgetSequencer(node string) {
	if h.sequencer.writer == node {
		h.sequencer.writer = ""
	}
}

// readersRefused takes back the readers up to a number. The caller holds the lock.
func (h *shard) readersRefused(from string, through uint64) {
	for _, r := range slices.Clone(h.sequencer.readers) {
		if r.to == from && r.number <= through {
			h.takeBackReaders(r)
		}
	}
}

// settleHanded ends the drafts of this node that a group of another node holds. The caller holds the lock, and applies the group next.
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

// endHanded ends what another node was to do and the groups up to head decide: drafts and readers. The caller holds the lock.
func (h *shard) endHanded() {
	endAll(h.stored, nil)
	h.stored = nil
	h.sequencer.refused = slices.DeleteFunc(h.sequencer.refused, func(d *entry) bool {
		if d.head <= h.head.Seq && h.sequencer.handed[d.r.Hash] == d {
			d.end(ErrConflict)
		}
		return d.head <= h.head.Seq
	})
	h.sequencer.readers = slices.DeleteFunc(h.sequencer.readers, func(r *handedReaders) bool {
		served := r.through > 0 && r.through <= h.head.Seq
		if served {
			endAll(r.waiting, nil)
		}
		return served
	})
}

// takeDrafts takes the drafts and the readers of another node.
func (h *shard) takeDrafts(r handover.Request, reply string) {
	from := &origin{h: h, reply: reply, barrier: r.Barrier}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, d := range r.Drafts {
		if h.sequencer.held[d.Hash] != nil {
			continue // it came before
		}
		e := &entry{r: d, began: time.Now(), origin: from}
		h.sequencer.held[d.Hash] = e
		if err := h.acceptable(d); err != nil {
			e.end(err)
			continue
		}
		h.enqueue(e)
	}
	if r.Barrier > 0 {
		h.barriers = append(h.barriers, &entry{began: time.Now(), origin: from})
	}
	h.sendNext()
}

// acceptable checks a draft of another node before it waits here.
func (h *shard) acceptable(d *Recorded) error {
	if err := d.Key.Valid(); err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if len(d.Body) > maxBody || h.n != deliverylog.ShardNumber && h.s.ShardOf(d.Key) != h.n {
		return fmt.Errorf("%w: %s does not belong into shard %d", ErrRefused, d.Key, h.n)
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
		h.s.tellNode(handover.Stored(reply, f.data, barrier))
	}
}

// tellNode sends an answer to another node. If it is lost, the node reads the group from the log, or sends its drafts again.
func (s *Store) tellNode(m *nats.Msg) {
	if err := s.nc.PublishMsg(m); err != nil {
		s.log.Debug().Err(err).Msg("an answer to another node was not sent")
	}
}

// openHandover gives this node its name among the nodes of a cluster, and takes their drafts and answers.
func (s *Store) openHandover() error {
	if s.sole || s.readOnly || s.replicas == 1 {
		return nil
	}
	s.node = rand.Text()
	_, err := s.nc.Subscribe(handover.DraftsSubject(s.node), func(m *nats.Msg) {
		r, err := handover.ParseRequest(m)
		s.inShard(r.Shard, err, func(h *shard) { h.takeDrafts(r, m.Reply) })
	})
	if err != nil {
		return err
	}
	_, err = s.nc.Subscribe(handover.AnswersSubject(s.node), func(m *nats.Msg) {
		a, err := handover.ParseAnswer(m)
		s.inShard(a.Shard, err, func(h *shard) { h.takeAnswer(a) })
	})
	return err
}

// inShard hands a message of another node to its shard, unless the message is unreadable.
func (s *Store) inShard(n int, err error, take func(*shard)) {
	if err != nil || n != deliverylog.ShardNumber && (n < 0 || n >= len(s.shard)) {
		s.log.Warn().Err(err).Int("shard", n).Msg("a message of another node is unreadable")
		return
	}
	take(s.numbered(n))
}
