package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"payledger/eventstore/deliverylog"
	"payledger/eventstore/fault"
	"payledger/eventstore/format"
	"payledger/eventstore/handover"
	"payledger/eventstore/jetapi"
	"payledger/eventstore/ownership"
)

const (
	appendTimeout       = 15 * time.Second      // of an append with all publishes of its group
	resolvePause        = 50 * time.Millisecond // between two looks at a group with an unknown outcome
	outcomePatience     = 50 * time.Millisecond // how long the record of an outcome lets first records overtake it
	maxBody             = minPayload - 64<<10   // bytes of the largest event: its group must fit into a message
	soleDepth           = 2                     // groups of a shard that a sole writer has under way; other writers have one, as they interleave
	defaultPipelineFrom = 32                    // events that must wait before a second group is sent: fewer are faster in one group
)

type outcome int

const (
	unanswered outcome = iota
	stored             // acknowledged: durable
	refused            // the server stored nothing
	unknown            // everything else, "wrong last sequence" included (eventstore/doc.go)
)

// entry is a draft that waits to be appended, or a reader that waits until this process has applied what it may not miss (r is nil).
type entry struct {
	r     *format.Recorded
	began time.Time
	err   error
	ended bool
	done  chan struct{}

	origin  *origin // the node that handed it over; nil: a caller of this process
	handed  *shard  // in which another node may have it; nil: no other node has it
	away    string  // the node that has it, while it is not in the queue
	again   bool    // it goes to that node again soon
	sent    uint64  // number of the newest request with it
	through uint64  // the group that must be applied before a reader or a refused draft ends; 0: none yet

	keys  []format.Key // of a reader: the aggregates; none: the whole shard
	group bool         // it waits for a group that is sent after it came
}

// end returns the result to the goroutine that waits for it. The shard is locked.
func (d *entry) end(err error) {
	if d.ended {
		return
	}
	if d.handed != nil {
		delete(d.handed.exchange.handed, d.r.Hash)
		if errors.Is(err, fault.ErrRefused) { // the other node may still append it
			err = fmt.Errorf("%w: %v", fault.ErrUnknown, err) //nolint:errorlint // it is no refusal
		}
	}
	d.err, d.ended = err, true
	if d.origin != nil {
		d.origin.ended(d)
		return
	}
	close(d.done)
}

func endAll(drafts []*entry, err error) {
	for _, d := range drafts {
		d.end(err)
	}
}

type groupInFlight struct {
	g        *format.Group
	data     []byte
	seg      segment
	drafts   []*entry
	began    time.Time
	asOf     ownership.Reading // before the first publish
	sent     time.Time         // of the newest publish
	barriers []*entry

	reply  *jetapi.Reply
	result outcome // of the newest publish
	err    error

	uncertain bool // the server may have stored a publish without an answer
	again     bool // published more than once, or found in the log
	silent    bool // a publish had no answer at all
	orphan    bool // an earlier group in flight was not stored
}

// append appends r, whose bytes are final except for its place, and sets the place. ErrConflict: another event follows the same
// event of the aggregate. ErrRefused: nothing was recorded. ErrUnknown: the append timed out or was abandoned; the outcome is unknown.
func (s *Store) append(ctx context.Context, r *format.Recorded) error {
	began := time.Now()
	err := s.appendNext(ctx, r)
	s.noteAppend(r, began, err)
	return err
}

func (s *Store) appendNext(ctx context.Context, r *format.Recorded) error {
	if s.readOnly {
		return fmt.Errorf("%w: opened for reading", fault.ErrRefused)
	}
	h := s.numbered(r.Shard)
	if err := s.awaitConnection(ctx, h); err != nil {
		return fmt.Errorf("%w: %w", fault.ErrRefused, err)
	}
	if len(r.Body) > maxBody {
		return fmt.Errorf("%w: an event of %d bytes; %d are the limit", fault.ErrRefused, len(r.Body), maxBody)
	}
	d := &entry{r: r, began: time.Now(), done: make(chan struct{})}
	h.mu.Lock()
	h.enqueue(d)
	f := h.dequeueGroup()
	h.mu.Unlock()
	if f != nil && !h.drive(f, ctx.Done()) {
		go h.drive(f, nil)
	}
	select {
	case <-d.done:
		return d.err
	default:
	}
	select {
	case <-d.done:
		return d.err
	case <-ctx.Done():
		return h.withdraw(ctx, d)
	}
}

// enqueue puts a draft into the queue. The first record of a delivery overtakes records of outcomes, because its webhook has not
// been sent yet. It does not overtake a draft that has waited for outcomePatience. The caller holds the lock.
func (h *shard) enqueue(d *entry) {
	at := len(h.waiting)
	if h.n == deliverylog.ShardNumber && d.r.Revision == 1 {
		at = 0
		for at < len(h.waiting) && (h.waiting[at].r.Revision == 1 || d.began.Sub(h.waiting[at].began) > outcomePatience) {
			at++
		}
	}
	h.waiting = slices.Insert(h.waiting, at, d)
}

// withdraw takes back the draft of a caller that stopped waiting.
func (h *shard) withdraw(ctx context.Context, d *entry) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case <-d.done:
		return d.err
	default:
	}
	delete(h.exchange.handed, d.r.Hash)
	h.exchange.left = max(h.exchange.left, d.sent)
	if i := slices.Index(h.waiting, d); i >= 0 {
		h.waiting = slices.Delete(h.waiting, i, i+1)
		if d.handed == nil {
			return fmt.Errorf("%w: it was never sent: %w", fault.ErrRefused, ctx.Err())
		}
	}
	return fmt.Errorf("%w: %w", fault.ErrUnknown, ctx.Err())
}

// sendNext sends the next group, if dequeueGroup returns one. The caller holds the lock.
func (h *shard) sendNext() {
	if f := h.dequeueGroup(); f != nil {
		go h.drive(f, nil)
	}
}

// dequeueGroup moves waiting drafts into the next group, or returns nil if none can be sent now. The caller holds the lock, and drives the group.
func (h *shard) dequeueGroup() *groupInFlight {
	defer h.tellRefusals()
	if h.s.closing.Load() {
		h.refuseWaiting(errors.New("the store was closed"))
		return nil
	}
	if h.stopped != nil {
		h.refuseWaiting(h.stopped)
		return nil
	}
	idle, depth := len(h.inFlight) == 0, 1
	if h.s.sole {
		depth = soleDepth
	}
	mine := h.owner.MayAppend()
	if !mine {
		h.askSoon()
	}
	fence := idle && (len(h.exchange.visits) > 0 || h.wanted > h.head.Seq || mine && h.wantsFence())
	full := mine && !h.quietNow() && (h.open().bytes >= h.s.segmentBytes || h.rollFrom == h.open().number)
	nothing := (!mine || len(h.waiting) == 0 && h.rollFrom != h.open().number) && !fence
	if h.resolving || h.building || h.rolling || len(h.inFlight) >= depth || h.s.opening || nothing || h.s.hold.Active() || time.Now().Before(h.leaderless) {
		return nil
	}
	if !idle && len(h.waiting) < h.s.pipelineFrom {
		return nil // they share a group, after the group under way is acknowledged
	}
	if full && !idle || h.tips.Bytes() > 2*h.s.dirtyLimit || idle && mine && !fence && !full && h.gathers() {
		return nil
	}
	f := &groupInFlight{began: time.Now(), asOf: h.owner.Now(), seg: h.open(), g: h.next(format.KindEvents)}
	switch {
	case !mine:
		f.g.Kind, f.g.Writer.Visitor = format.KindFence, true
	case h.leaves():
		f.g.Kind, f.g.Writer.Next = format.KindFence, h.heir
		h.owner.Void()
	case full:
		f.g.Kind, f.g.Next = format.KindClosing, h.open().number+1
		h.rolling = true
	default:
		h.fillGroup(f)
		if len(f.drafts) == 0 && !fence && (len(h.seen) == 0 || len(h.waiting) == 0) {
			return nil
		}
		if len(f.drafts) == 0 {
			f.g.Kind = format.KindFence
		}
	}
	f.g.Place()
	f.barriers, h.exchange.visits = h.exchange.visits, nil
	if mine {
		f.barriers, h.barriers, h.renew = append(f.barriers, h.barriers...), nil, false
	}
	h.building = true
	return f
}

// refuseWaiting ends the barriers and the drafts in the queue: they were never sent. It also ends, as unknown, the drafts of groups that were
// found in the log and are not known to be durable. The caller holds the lock.
func (h *shard) refuseWaiting(cause error) {
	endAll(h.waiting, fmt.Errorf("%w: it was never sent: %w", fault.ErrRefused, cause))
	endAll(h.barriers, fmt.Errorf("%w: %w", fault.ErrUnhealthy, cause))
	h.waiting, h.barriers = nil, nil
	h.refuseHanded(cause)
	h.tellRefusals()
	for seq, drafts := range h.pendingDrafts {
		delete(h.pendingDrafts, seq)
		endAll(drafts, fmt.Errorf("%w: %w", fault.ErrUnknown, cause))
	}
}

// fillGroup moves as many drafts as fit from the queue into the group. It refuses a draft that does not follow the newest event
// of its aggregate as a conflict. A draft of an aggregate with an event under way stays in the queue.
func (h *shard) fillGroup(f *groupInFlight) {
	var left []*entry
	size, full := 0, format.MaxGroupBytes
	if h.n == deliverylog.ShardNumber {
		full = format.MaxRecordBytes
	}
	for i, d := range h.waiting {
		if len(f.drafts) == format.MaxFrames || len(f.drafts) > 0 && size+len(d.r.Body) > full {
			left = append(left, h.waiting[i:]...)
			break
		}
		if h.pending[d.r.Key] > 0 {
			left = append(left, d)
			continue
		}
		if err := h.fits(d); err != nil {
			d.end(err)
			continue
		}
		size += len(d.r.Body) + format.FrameHead
		h.pending[d.r.Key]++
		f.drafts, f.g.Frames = append(f.drafts, d), append(f.g.Frames, d.r)
	}
	h.waiting = left
}

// drive encodes and sends a group, waits for the answer, and handles the outcome. It returns false if abandon closes first: another goroutine must
// then drive the group.
func (h *shard) drive(f *groupInFlight, abandon <-chan struct{}) bool {
	if f.data == nil {
		f.data = f.g.Encode()
		h.mu.Lock()
		h.building = false
		h.front = f.g.After(h.front)
		h.inFlight = append(h.inFlight, f)
		h.send(f)
		h.sendNext()
		h.mu.Unlock()
		runtime.Gosched() // the connection's goroutine sends the group first
		format.RefreshEncoder()
	}
	reply := f.reply
	if reply.Err != nil { // not sent: there is no connection
		h.s.api.Done(reply)
		h.noteOutcome(f, unknown, nats.ErrConnectionClosed)
		return true
	}
	timer := time.After(jetapi.PublishTimeout)
	for {
		select {
		case m := <-reply.Answers:
			if m.Subject != reply.Subject {
				continue // a late answer to an earlier message
			}
			result, err := h.readAnswer(f, m)
			h.noteOutcome(f, result, err)
		case <-timer:
			h.noteOutcome(f, unknown, nats.ErrTimeout)
		case <-h.s.gone:
			h.noteOutcome(f, unknown, nats.ErrConnectionClosed)
		case <-abandon:
			return false
		}
		h.s.api.Done(reply)
		return true
	}
}

// send publishes the group. Groups of a shard are sent in their order: the caller holds the lock.
func (h *shard) send(f *groupInFlight) {
	header := nats.Header{nats.ExpectedLastSeqHdr: {strconv.FormatUint(f.g.Seq-1, 10)}}
	handover.Header(header, f.g.Writer)
	f.sent = time.Now()
	f.reply = h.s.api.Send(&nats.Msg{Subject: f.seg.subject(h.n), Data: f.data, Header: header})
}

func (h *shard) readAnswer(f *groupInFlight, m *nats.Msg) (outcome, error) {
	if len(m.Data) == 0 && m.Header.Get("Status") == "503" {
		return refused, nats.ErrNoResponders
	}
	ack, err := jetapi.ParseAck(m)
	switch {
	case err != nil:
		return unknown, err
	case ack.Error == nil && ack.Seq == f.g.Seq && ack.Stream == f.seg.name(h.n):
		return stored, nil
	case ack.Error == nil:
		return unknown, fmt.Errorf("answer to a publish names %q %d", ack.Stream, ack.Seq)
	case ack.Error.Definite(h.s.replicas):
		return refused, ack.Error
	default:
		return unknown, ack.Error
	}
}

// noteOutcome notes the outcome of a publish. It applies the groups that are now stored, starts resolve if the first group has
// no clear outcome, and sends the next group.
func (h *shard) noteOutcome(f *groupInFlight, result outcome, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f.result, f.err = result, err
	f.silent = f.silent || errors.Is(err, nats.ErrTimeout)
	f.uncertain = f.uncertain || result == unknown
	if result == stored {
		h.pace.Acknowledged(time.Now(), time.Since(f.sent), len(f.drafts)+len(h.waiting))
		h.noteSync(f)
	}
	h.releaseStored()
	if len(h.inFlight) > 0 && h.inFlight[0].result != unanswered && !h.resolving {
		h.resolving = true
		go h.resolve()
	}
	h.sendNext()
}

// releaseStored releases the acknowledged groups at the front. An acknowledged group behind a group that was not stored follows
// a group of another writer: resolve stops the shard. The caller holds the lock.
func (h *shard) releaseStored() {
	for len(h.inFlight) > 0 && h.inFlight[0].result == stored && !h.inFlight[0].orphan {
		h.release()
	}
}

// release applies the first group in flight, which is acknowledged, and answers its callers. The caller holds the lock.
func (h *shard) release() {
	f := h.inFlight[0]
	h.inFlight = h.inFlight[1:]
	h.answerOrigins(f)
	h.confirm(f.g.Seq - 1)
	h.forget(f.g)
	h.apply(f.g)
	if !f.again {
		h.owner.Acknowledged(f.asOf)
	}
	h.segments[len(h.segments)-1].bytes += uint64(len(f.data)) + messageOverhead
	endAll(f.drafts, nil)
	endAll(f.barriers, nil)
	h.readAgain()
	h.closed(f.g)
}
