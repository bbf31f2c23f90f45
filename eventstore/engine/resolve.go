package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"payledger/eventstore/due"
	"payledger/eventstore/fault"
	"payledger/eventstore/format"
	"payledger/eventstore/jetapi"
)

// resolve determines the outcomes of the groups in flight whose answers were not clear, in their
// order. One goroutine of a shard does so at a time. The shard sends no new group meanwhile.
func (h *shard) resolve() {
	for {
		h.mu.Lock()
		h.applyAcknowledged()
		f := h.beyond.unclear()
		if f == nil {
			h.beyond.resolving = false
			h.sendNext()
			h.mu.Unlock()
			return
		}
		h.mu.Unlock()
		h.resolveFirst(f)
	}
}

// resolveFirst takes one step towards the outcome of the first group in flight.
func (h *shard) resolveFirst(f *flight) {
	closed, stopped := h.s.closing.Load(), h.healthy()
	switch {
	case f.result == refused && !f.uncertain:
		h.giveUp(f, fault.ErrRefused, f.err)
	case closed:
		h.giveUp(f, fault.ErrUnknown, h.s.Healthy())
	case f.orphan && f.result == acknowledged:
		h.giveUp(f, fault.ErrUnknown, h.markDamaged(f.g.Seq, errors.New("a group was stored after another writer's group")))
	case f.orphan && !f.silent: // it had an answer, and no acknowledgement: it can never be stored
		h.requeue(f)
	case f.orphan && stopped != nil: // no group takes the place before it
		h.giveUp(f, fault.ErrUnknown, stopped)
	case f.orphan:
		h.stop(f, errors.New("a group may still arrive whose predecessor was not stored"))
	default:
		h.lookUp(f)
	}
}

func (h *shard) lookUp(f *flight) {
	ctx, cancel := context.WithTimeout(h.s.life, jetapi.ReadTimeout)
	defer cancel()
	there, err := h.groupAtLeader(ctx, f.g.Seq)
	switch {
	case err == nil && there.Hash == f.g.Hash:
		h.foundInLog(f, there.Writer)
	case err == nil:
		h.superseded(f, there)
	case errors.Is(err, fault.ErrNotFound):
		h.sendAgain(f)
	case errors.Is(err, format.ErrGroup), errors.Is(err, format.ErrFrame):
		h.giveUp(f, fault.ErrUnknown, h.markDamaged(f.g.Seq, err))
	case errors.Is(err, fault.ErrUnhealthy): // the guard found damage
		h.giveUp(f, fault.ErrUnknown, err)
	default:
		h.waitOrEnd(f, err)
	}
}

// sendAgain publishes the same bytes again. The server can store at most one copy: all copies
// expect the same place.
func (h *shard) sendAgain(f *flight) {
	if h.timedOut(f, nil) {
		return
	}
	h.mu.Lock()
	if h.stopped != nil {
		h.mu.Unlock()
		h.giveUp(f, fault.ErrUnknown, h.healthy())
		return
	}
	f.result, f.repeated = unanswered, true
	h.send(f)
	h.mu.Unlock()
	_ = due.Rest(h.s.life, resolvePause, nil) // it ends early with the store
	h.drive(f, nil)
}

// waitOrEnd waits before the next look, or ends the group when its time is over.
func (h *shard) waitOrEnd(f *flight, err error) {
	if !h.timedOut(f, err) {
		_ = due.Rest(h.s.life, resolvePause, nil) // it ends early with the store
	}
}

// timedOut reports whether the group's time is over, given the error of the newest look. If so, it
// ends the group: the outcome stays unknown. An embedded server that has not answered at all, for
// longer than a publish and a read may take, has lost its disk: the process must stop.
func (h *shard) timedOut(f *flight, newest error) bool {
	age, err := time.Since(f.began), errors.Join(f.err, newest)
	switch {
	case f.silent && h.s.sole && age > min(jetapi.PublishTimeout+h.s.api.Patience(), appendTimeout):
		h.stop(f, err)
	case age > appendTimeout:
		h.giveUp(f, fault.ErrUnknown, err)
	default:
		return false
	}
	return true
}

// foundInLog handles a group of this process that was found in the log. In a cluster it is stored:
// a reader sees only groups that a quorum has committed. On an embedded server only the
// acknowledgement of a later group proves it: the group waits for that acknowledgement, and its
// callers with it.
func (h *shard) foundInLog(f *flight, writer format.Writer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f.repeated, f.g.Writer = true, writer
	h.returnReaders(f, 0) // the group may be an earlier one of another process: empty groups for one place can have the same bytes
	if !h.s.sole {
		f.result = acknowledged
		return
	}
	h.beyond.found()
	h.rollAfter(f.g)
	h.need.through = max(h.need.through, f.g.Seq)
	if h.s.closing.Load() {
		h.refuseWaiting(errors.New("the store was closed"))
		return
	}
	time.AfterFunc(appendTimeout, func() { h.expire(f) })
}

// expire ends the callers of a group that was found in the log and is still not known to be
// durable.
func (h *shard) expire(f *flight) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f.endAwaited(fmt.Errorf("%w: %s group %d is not known to be on disk", fault.ErrUnknown, h.name(), f.g.Seq))
}

// superseded handles a group whose place holds another group.
func (h *shard) superseded(f *flight, there *format.Group) {
	h.mu.Lock()
	ours, takes := h.beyond.doubted[there.Hash], f.g.Writer.Node != "" && !f.g.Writer.Visitor && !h.owner.Owns()
	h.mu.Unlock()
	if h.s.sole && !ours {
		h.giveUp(f, fault.ErrRefused, h.markDamaged(there.Seq, errors.New("somebody else has written to the log")))
		return
	}
	h.requeue(f)
	to := there.Seq
	if takes { // group by group it would wait after each one
		ctx, cancel := context.WithTimeout(h.s.life, jetapi.ReadTimeout)
		if last, err := h.lastAtLeader(ctx); err == nil {
			to = max(to, last)
		}
		cancel()
	}
	ctx, cancel := context.WithTimeout(h.s.life, jetapi.ReadTimeout)
	defer cancel()
	if err := h.tryReadUpTo(ctx, to); err != nil {
		h.s.log.Debug().Err(err).Int("shard", h.n).Msg("the log could not be read on; trying again")
	}
}

// errBusy means that a group of this process is under way: the answer to that group decides about
// its place first.
var errBusy = errors.New("eventstore: a group of ours is under way")

// tryReadUpTo reads the log up to seq. It returns errBusy if a group of this process is under way.
func (h *shard) tryReadUpTo(ctx context.Context, seq uint64) error {
	h.mu.Lock()
	next := h.beyond.front.Seq + 1
	if h.beyond.busy() {
		h.mu.Unlock()
		return errBusy
	}
	h.mu.Unlock()
	return h.readGroups(ctx, next, seq, h.observe)
}

// untilClosed runs a read, which ends when the store closes: an answer that was on its way does not
// come any more.
func (h *shard) untilClosed(ctx context.Context, read func(context.Context) error) error {
	reading, end := context.WithCancel(ctx)
	defer end()
	defer context.AfterFunc(h.s.life, end)()
	err := read(reading)
	if err != nil && ctx.Err() == nil && h.s.life.Err() != nil {
		return fmt.Errorf("%w: the store was closed", fault.ErrUnhealthy)
	}
	return err
}

// readToEnd applies every group up to the end that the leader knows.
func (h *shard) readToEnd(ctx context.Context) error {
	last, err := h.lastAtLeader(ctx)
	if err != nil {
		return err
	}
	for {
		h.mu.Lock()
		end, grown := h.head.Seq, h.grown
		h.mu.Unlock()
		if end >= last {
			return nil
		}
		if err := h.tryReadUpTo(ctx, last); !errors.Is(err, errBusy) {
			return err
		}
		select {
		case <-grown:
		case <-time.After(resolvePause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// requeue returns the drafts of the first group in flight to the queue. The group was not stored
// and never will be.
func (h *shard) requeue(f *flight) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drop(f)
	var again []*entry
	for _, d := range f.drafts {
		if time.Since(d.began) > appendTimeout {
			d.end(fmt.Errorf("%w: other writers came first for %s", fault.ErrRefused, appendTimeout))
			continue
		}
		again = append(again, d)
	}
	h.queue.putBack(again)
	h.returnReaders(f, 0)
}

// returnReaders returns the readers of a group that was not stored to the queue, after a pause. The
// caller holds the lock.
func (h *shard) returnReaders(f *flight, pause time.Duration) {
	var again []*entry
	for _, b := range f.readers {
		if time.Since(b.began) < h.s.api.Patience() {
			again = append(again, b)
		} else {
			b.end(noMajority(h, errors.Join(f.err, context.DeadlineExceeded)))
		}
	}
	f.readers = nil
	if len(again) == 0 {
		return
	}
	if pause == 0 {
		h.queue.readers = append(h.queue.readers, again...)
		return
	}
	time.AfterFunc(pause, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.queue.readers = append(h.queue.readers, again...)
		h.sendNext()
	})
}

// giveUp ends the first group in flight with an error for its callers. Drafts that were at another
// node before are unknown after a refusal: they try on until their time is over.
func (h *shard) giveUp(f *flight, kind, cause error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if errors.Is(kind, fault.ErrUnknown) {
		h.beyond.doubted[f.g.Hash] = true
		h.owner.Void()
	}
	if len(f.drafts) == 0 {
		h.rest()
	}
	h.drop(f)
	if cause == nil {
		cause = f.err
	}
	if errors.Is(kind, fault.ErrRefused) && h.stopped == nil {
		f.drafts = h.returnHanded(h.returnUntaken(f.drafts, cause))
	}
	endAll(f.drafts, fmt.Errorf("%w: %w", kind, cause))
	h.returnReaders(f, resolvePause)
	h.wantAcknowledgedLater(recheckPause)
}

// returnUntaken returns the drafts of a refused group to the queue if the stream of a cluster has
// no leader, or this process has no connection: nothing was stored, and the next leader or the next
// connection comes soon. It returns the drafts that do not wait, and those whose time is over. The
// caller holds the lock.
func (h *shard) returnUntaken(drafts []*entry, cause error) (others []*entry) {
	if leaderless := !h.s.sole && errors.Is(cause, nats.ErrNoResponders); !leaderless && !jetapi.IsReconnecting(cause) {
		return drafts
	}
	var again []*entry
	for _, d := range drafts {
		if time.Since(d.began) < appendTimeout {
			again = append(again, d)
		} else {
			others = append(others, d)
		}
	}
	h.queue.putBack(again)
	h.departure.untaken = time.Now().Add(resolvePause)
	h.lookAfter(resolvePause)
	return others
}

// returnHanded returns the drafts that another node may still append to the queue, after a pause,
// unless their time is over. It returns the others. The caller holds the lock.
func (h *shard) returnHanded(drafts []*entry) (others []*entry) {
	var again []*entry
	for _, d := range drafts {
		if d.handed != nil && time.Since(d.began) < appendTimeout {
			again = append(again, d)
		} else {
			others = append(others, d)
		}
	}
	if len(again) > 0 {
		time.AfterFunc(resolvePause, func() {
			h.mu.Lock()
			defer h.mu.Unlock()
			// The log has it, or nobody waits.
			again = slices.DeleteFunc(again, func(d *entry) bool { return d.ended || h.exchange.handed[d.r.Hash] != d })
			h.queue.putBack(again)
			h.sendNext()
		})
	}
	return others
}

// drop removes the first group in flight, which is not known to be stored. Groups behind it become
// orphans. The caller holds the lock.
func (h *shard) drop(f *flight) {
	h.beyond.drop(h.head)
	if f.g.Kind == format.KindClosing {
		h.segments.rolling = false
	}
	h.need.lease = h.need.lease || h.owner.Named()
	h.readAgain()
}

// stop ends the first group in flight and sends the error to Fatal: the disk does not keep writes,
// or a group without callers may still be stored.
func (h *shard) stop(f *flight, cause error) {
	err := fmt.Errorf("%s: group %d is not known to be on disk after %s: %w", h.name(), f.g.Seq, time.Since(f.began).Round(time.Second), cause)
	h.s.markUnhealthy(err, true)
	h.giveUp(f, fault.ErrUnknown, h.markDamaged(f.g.Seq, fmt.Errorf("%w: %w", fault.ErrUnhealthy, err)))
}
