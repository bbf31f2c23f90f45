package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"payledger/eventstore/fault"
	"payledger/eventstore/format"
	"payledger/eventstore/handover"
	"payledger/eventstore/jetapi"
)

const (
	appendTimeout = 15 * time.Second      // of a group with all its publishes; a draft may have waited as long before
	resolvePause  = 50 * time.Millisecond // between two looks at a group with an unknown outcome
	maxBody       = minPayload - 64<<10   // bytes of the largest event: its group must fit into a message
	// Groups of a shard that a sole writer has under way; the node of a cluster has one, as another
	// node may append between two.
	soleDepth           = 2
	witnessEvery        = 100 * time.Millisecond // between two groups of a shard with a witness: the newest group of the next shard
	defaultPipelineFrom = 32                     // events that must wait before a second group is sent: fewer are faster in one group
)

// append appends r, whose bytes are final except for its place, and sets the place. ErrConflict:
// another event follows the same event of the aggregate. ErrRefused: nothing was recorded.
// ErrUnknown: the append timed out or was abandoned; the outcome is unknown.
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
	h := s.byNumber(r.Shard)
	if err := s.awaitConnection(ctx, h); err != nil {
		return fmt.Errorf("%w: %w", fault.ErrRefused, err)
	}
	if len(r.Body) > maxBody {
		return fmt.Errorf("%w: an event of %d bytes; %d are the limit", fault.ErrRefused, len(r.Body), maxBody)
	}
	d := &entry{r: r, began: time.Now(), done: make(chan struct{})}
	h.mu.Lock()
	h.enqueue(d)
	f := h.makeGroup()
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

// sendNext sends the next group, if makeGroup returns one. The caller holds the lock.
func (h *shard) sendNext() {
	if f := h.makeGroup(); f != nil {
		go h.drive(f, nil)
	}
}

// purpose is why the next group of a shard is sent.
type purpose int

const (
	nothing      purpose = iota // no group can be sent now, or none is due
	visit                       // an empty group of a node that is not the owner: readers wait for it
	leave                       // an empty group that names the next owner
	closing                     // the last group of its segment
	events                      // the drafts that wait; none of them may fit, then nothing is sent
	confirmation                // as events, but somebody waits for its acknowledgement: without a draft it is empty
)

// nextPurpose returns why a group is to be sent now. The caller holds the lock.
func (h *shard) nextPurpose() purpose {
	alone, mine := len(h.beyond.sent) == 0, h.owner.MayAppend()
	required := alone && h.requires()
	full := mine && h.endsSegment()
	switch {
	case h.blocked(), h.tips.Bytes() > 2*h.s.dirtyLimit:
		return nothing
	case !mine && required:
		return visit
	case !mine, !required && len(h.queue.drafts) == 0 && !h.segments.toClose():
		return nothing
	case !alone && (full || len(h.queue.drafts) < h.s.pipelineFrom): // they share a group, after the group under way is acknowledged
		return nothing
	case alone && !required && !full && h.gathers():
		return nothing
	case h.leaves():
		return leave
	case full:
		return closing
	case required:
		return confirmation
	}
	return events
}

// blocked reports whether no group may be made now. The caller holds the lock.
func (h *shard) blocked() bool {
	depth := 1
	if h.s.sole {
		depth = soleDepth
	}
	return len(h.beyond.sent) >= depth || h.beyond.resolving || h.beyond.building != nil || h.segments.rolling ||
		h.s.opening || h.departure.isUntaken() || h.s.hold.Active() && !h.kind.Covers
}

// requires reports whether a group is due although no draft waits. The caller holds the lock.
func (h *shard) requires() bool {
	return len(h.exchange.visits) > 0 || h.need.through > h.head.Seq || h.owner.MayAppend() && h.wantsEmpty()
}

// endsSegment reports whether the next group closes the segment. The caller holds the lock.
func (h *shard) endsSegment() bool {
	due := h.segments.Open().Bytes >= h.s.segmentBytes || h.segments.toClose()
	return due && !h.departure.isQuiet() && h.mayClose()
}

// makeGroup moves waiting drafts into the next group, or returns nil if none can be sent now. The
// caller holds the lock, and drives the group.
func (h *shard) makeGroup() *flight {
	defer h.tellRefusals()
	if h.s.closing.Load() {
		h.refuseWaiting(errors.New("the store was closed"))
		return nil
	}
	if h.stopped != nil {
		h.refuseWaiting(h.stopped)
		return nil
	}
	if !h.owner.MayAppend() {
		h.askSoon()
	}
	purpose := h.nextPurpose()
	if purpose == nothing {
		return nil
	}
	open := h.segments.Open()
	f := &flight{began: time.Now(), asOf: h.owner.Now(), seg: open, g: h.next(format.KindEvents)}
	switch purpose {
	case visit:
		f.g.Kind, f.g.Writer.Visitor = format.KindEmpty, true
	case leave:
		f.g.Kind, f.g.Writer.Next = format.KindEmpty, h.need.heir
		h.owner.Void()
	case closing:
		f.g.Kind, f.g.Next = format.KindClosing, open.Number+1
		h.segments.rolling = true
	default:
		h.fillGroup(f)
		if len(f.drafts) == 0 && purpose == events && (len(h.beyond.read) == 0 || len(h.queue.drafts) == 0) {
			return nil
		}
		if len(f.drafts) == 0 {
			f.g.Kind = format.KindEmpty
		}
	}
	f.g.Place()
	f.readers, h.exchange.visits = h.exchange.visits, nil
	if purpose != visit {
		f.readers, h.queue.readers, h.need.lease = append(f.readers, h.queue.readers...), nil, false
	}
	h.beyond.building = f
	return f
}

// fillGroup moves as many drafts as fit from the queue into the group. It refuses a draft that does
// not follow the newest event of its aggregate as a conflict. A draft of an aggregate with an event
// under way stays in the queue.
func (h *shard) fillGroup(f *flight) {
	var left []*entry
	size, most := 0, h.kind.GroupBytes
	if !h.s.sole { // a round of Raft costs the same for more of them (deploy/BENCHMARKS.md)
		most = max(most, format.MaxRecordBytes)
	}
	for i, d := range h.queue.drafts {
		if len(f.drafts) == format.MaxFrames || len(f.drafts) > 0 && size+len(d.r.Body) > most {
			left = append(left, h.queue.drafts[i:]...)
			break
		}
		if h.beyond.holds(d.r.Key) {
			left = append(left, d)
			continue
		}
		if err := h.fits(d); err != nil {
			d.end(err)
			continue
		}
		size += len(d.r.Body) + format.FrameHead
		h.beyond.reserve(d.r.Key)
		f.drafts, f.g.Frames = append(f.drafts, d), append(f.g.Frames, d.r)
	}
	h.queue.drafts = left
}

// drive encodes and sends a group, waits for the answer, and handles the outcome. It returns false
// if abandon closes first, or if a look at the block may take long: another goroutine must then
// drive the group.
func (h *shard) drive(f *flight, abandon <-chan struct{}) bool {
	if f.data == nil {
		look := h.lookDue()
		if look && abandon != nil {
			return false
		}
		f.data = f.g.Encode()
		var unread error
		if look {
			unread = h.checkAfterSilence(f)
		}
		h.mu.Lock()
		made := h.sendMade(f, unread)
		h.sendNext()
		h.mu.Unlock()
		if !made {
			return true
		}
		runtime.Gosched() // the connection's goroutine sends the group first
		format.RefreshEncoder()
	}
	reply := f.reply
	if reply.Err != nil {
		result := unknown
		if reply.Unsent {
			result = refused
		}
		err := reply.Err
		h.s.api.Done(reply)
		h.noteOutcome(f, result, err)
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

// sendMade sends the group that was encoded. If the group before it was not stored meanwhile, a
// caller took its draft back, the shard stopped or the store closes, it is not sent: its entries
// return to the queue. Nor is it sent if the block that it goes to cannot be read: then its drafts
// are refused. The caller holds the lock.
func (h *shard) sendMade(f *flight, unread error) bool {
	ended := h.stopped != nil || h.s.closing.Load() // then the queue is refused
	if unread == nil && !f.orphan && !f.taken && !ended {
		h.beyond.encoded(f)
		h.send(f)
		return true
	}
	h.beyond.unmade()
	if f.g.Kind == format.KindClosing {
		h.segments.rolling = false
	}
	h.need.lease = h.need.lease || h.owner.Named()
	if unread != nil && !ended {
		endAll(f.drafts, fmt.Errorf("%w: it was never sent: %w", fault.ErrRefused, unread))
		f.drafts = nil
		h.rest()
		h.wantAcknowledgedLater(recheckPause)
	}
	h.queue.putBack(f.drafts)
	h.returnReaders(f, 0)
	return false
}

// send publishes the group. Groups of a shard are sent in their order: the caller holds the lock.
func (h *shard) send(f *flight) {
	header := nats.Header{nats.ExpectedLastSeqHdr: {strconv.FormatUint(f.g.Seq-1, 10)}}
	handover.NameWriter(header, f.g.Writer)
	f.sent = time.Now()
	f.reply = h.s.api.Send(&nats.Msg{Subject: f.seg.Subject(), Data: f.data, Header: header})
}

func (h *shard) readAnswer(f *flight, m *nats.Msg) (outcome, error) {
	if len(m.Data) == 0 && m.Header.Get("Status") == "503" {
		return refused, nats.ErrNoResponders
	}
	ack, err := jetapi.ParseAck(m)
	switch {
	case err != nil:
		return unknown, err
	case ack.Error == nil && ack.Seq == f.g.Seq && ack.Stream == f.seg.Name():
		return acknowledged, nil
	case ack.Error == nil:
		return unknown, fmt.Errorf("answer to a publish names %q %d", ack.Stream, ack.Seq)
	case ack.Error.Definite(h.s.replicas):
		return refused, ack.Error
	default:
		return unknown, ack.Error
	}
}

// noteOutcome notes the outcome of a publish. It applies the groups that are now stored, starts
// resolve if the first group has no clear outcome, and sends the next group.
func (h *shard) noteOutcome(f *flight, result outcome, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f.result, f.err = result, err
	f.silent = f.silent || errors.Is(err, nats.ErrTimeout)
	f.uncertain = f.uncertain || result == unknown
	if result == acknowledged {
		h.departure.pace.Acknowledged(time.Now(), time.Since(f.sent), len(f.drafts)+len(h.queue.drafts))
		h.beyond.stored = f.sent
		h.noteSync(f)
	}
	h.applyAcknowledged()
	if h.beyond.unclear() != nil && !h.beyond.resolving {
		h.beyond.resolving = true
		go h.resolve()
	}
	h.sendNext()
}

// applyAcknowledged applies the groups sent that are acknowledged, and answers their callers. An
// acknowledged group behind a group that was not stored follows a group of another writer: resolve
// stops the shard. The caller holds the lock.
func (h *shard) applyAcknowledged() {
	for f := h.beyond.acknowledged(); f != nil; f = h.beyond.acknowledged() {
		h.beyond.takeSent()
		h.answerOrigins(f)
		h.applyRead(f.g.Seq - 1)
		h.apply(f.g)
		if !f.repeated {
			h.owner.Acknowledged(f.asOf)
		}
		h.segments.Grow(len(f.data) + messageOverhead)
		endAll(f.drafts, nil)
		endAll(f.readers, nil)
		h.readAgain()
		h.rollAfter(f.g)
	}
}

// applyRead applies the groups up to seq that were read from the log: a later acknowledgement
// covers them. The caller holds the lock.
func (h *shard) applyRead(seq uint64) {
	for f := h.beyond.takeRead(seq); f != nil; f = h.beyond.takeRead(seq) {
		h.apply(f.g)
		f.endAwaited(nil)
	}
}

// next returns a group without events yet that follows all under way. At intervals the group has a
// witness: the newest acknowledged group of the next shard. Every group but those of the
// checkpoints names the newest group of the checkpoints, and the newest message of SECRETS. The
// caller holds the lock.
func (h *shard) next(kind format.Kind) *format.Group {
	g := &format.Group{
		Kind: kind, Shard: h.n, Log: h.s.id, Seq: h.beyond.front.Seq + 1, Before: h.beyond.front.Hash,
		Events: h.beyond.front.Events, Aggregates: h.beyond.front.Aggregates, Witness: format.Witness{Shard: format.NoShard},
	}
	g.Writer.Node = h.s.node
	if !h.kind.Covers { // else it follows that group, and the other shards name the message
		g.Ends = format.Ends{Checkpoints: h.s.covers.newest.Load().Seq, Secrets: h.s.secretWitness.End()}
	}
	if now := time.Now(); h.witness.newest != nil && now.Sub(h.witness.named) > witnessEvery {
		g.Witness, h.witness.named = h.witness.newest(), now
	}
	if known := h.s.nodes.Load(); known != nil {
		g.Limit((*known).ReadsHeader())
	} else if !h.s.sole { // before the node knows the others, a read can append a group
		g.Limit(1)
	}
	return g
}
