package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"payledger/eventstore/fault"
	"payledger/eventstore/format"
	"payledger/eventstore/jetapi"
)

// resolve determines the outcomes of the groups in flight whose answers were not clear, in their order. One
// goroutine of a shard does so at a time. The shard sends no new group meanwhile.
func (h *shard) resolve() {
	for {
		h.mu.Lock()
		h.releaseStored()
		if len(h.inFlight) == 0 || h.inFlight[0].result == unanswered {
			h.resolving = false
			h.sendNext()
			h.mu.Unlock()
			return
		}
		f := h.inFlight[0]
		h.mu.Unlock()
		h.resolveFirst(f)
	}
}

// resolveFirst takes one step towards the outcome of the first group in flight.
func (h *shard) resolveFirst(f *groupInFlight) {
	closed := h.s.closing.Load()
	switch {
	case closed:
		h.giveUp(f, fault.ErrUnknown, h.s.Healthy())
	case f.result == refused && !f.uncertain:
		h.giveUp(f, fault.ErrRefused, f.err)
	case f.orphan && f.result == stored:
		h.giveUp(f, fault.ErrUnknown, h.markDamaged(f.g.Seq, errors.New("a group was stored after another writer's group")))
	case f.orphan && !f.silent: // it had an answer, and no acknowledgement: it can never be stored
		h.requeue(f)
	case f.orphan:
		h.stop(f, errors.New("a group may still arrive whose predecessor was not stored"))
	default:
		h.lookUp(f)
	}
}

func (h *shard) lookUp(f *groupInFlight) {
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
	default:
		h.waitOrEnd(f, err)
	}
}

// sendAgain publishes the same bytes again. The server can store at most one copy: all copies expect the same place.
func (h *shard) sendAgain(f *groupInFlight) {
	if h.timedOut(f) {
		return
	}
	h.mu.Lock()
	if h.stopped != nil {
		h.mu.Unlock()
		h.giveUp(f, fault.ErrUnknown, h.healthy())
		return
	}
	f.result, f.again = unanswered, true
	h.send(f)
	h.mu.Unlock()
	_ = jetapi.Pause(h.s.life, resolvePause) // it ends early with the store
	h.drive(f, nil)
}

// waitOrEnd waits before the next look, or ends the group when its time is over.
func (h *shard) waitOrEnd(f *groupInFlight, err error) {
	h.mu.Lock()
	f.err = errors.Join(f.err, err)
	h.mu.Unlock()
	if !h.timedOut(f) {
		_ = jetapi.Pause(h.s.life, resolvePause) // it ends early with the store
	}
}

// timedOut reports whether the group's time is over. If so, it ends the group: the outcome stays unknown. An embedded server
// that has not answered at all, for longer than a publish and a read may take, has lost its disk: the process must stop.
func (h *shard) timedOut(f *groupInFlight) bool {
	age := time.Since(f.began)
	switch {
	case f.silent && h.s.embedded != nil && h.s.replicas == 1 && age > min(jetapi.PublishTimeout+h.s.api.Patience(), appendTimeout):
		h.stop(f, f.err)
	case age > appendTimeout:
		h.giveUp(f, fault.ErrUnknown, f.err)
	default:
		return false
	}
	return true
}

// foundInLog handles a group of this process that was found in the log. On several replicas it is stored: a reader sees only groups
// that a quorum has committed. On one replica only the acknowledgement of a later group proves it: the group waits for
// that acknowledgement in seen, beside the groups of other writers; its callers wait in pendingDrafts.
func (h *shard) foundInLog(f *groupInFlight, writer format.Writer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f.again, f.g.Writer = true, writer
	h.againBarriers(f, 0) // the group may be an earlier one of another process: empty groups for one place have the same bytes
	if h.s.replicas > 1 {
		f.result = stored
		return
	}
	h.inFlight = h.inFlight[1:]
	h.seen, h.pendingDrafts[f.g.Seq] = append(h.seen, f.g), f.drafts
	h.closed(f.g)
	h.wanted = max(h.wanted, f.g.Seq)
	if h.s.closing.Load() {
		h.refuseWaiting(errors.New("the store was closed"))
		return
	}
	time.AfterFunc(appendTimeout, func() { h.expire(f) })
}

// expire ends the callers of a group that was found in the log and is still not known to be durable.
func (h *shard) expire(f *groupInFlight) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if drafts, there := h.pendingDrafts[f.g.Seq]; there {
		delete(h.pendingDrafts, f.g.Seq)
		endAll(drafts, fmt.Errorf("%w: %s group %d is not known to be on disk", fault.ErrUnknown, h.name(), f.g.Seq))
	}
}

// superseded handles a group whose place holds another group.
func (h *shard) superseded(f *groupInFlight, there *format.Group) {
	h.mu.Lock()
	ours, takes := h.doubted[there.Hash], f.g.Writer.Node != "" && !f.g.Writer.Visitor && !h.owner.Owns()
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

// errBusy means that a group of this process is under way: the answer to that group decides about its place first.
var errBusy = errors.New("eventstore: a group of ours is under way")

// busy reports whether a group of this process is under way. The caller holds the lock.
func (h *shard) busy() bool { return len(h.inFlight) > 0 || h.building }

// tryReadUpTo reads the log up to seq. It returns errBusy if a group of this process is under way.
func (h *shard) tryReadUpTo(ctx context.Context, seq uint64) error {
	h.mu.Lock()
	next := h.front.Seq + 1
	if h.busy() {
		h.mu.Unlock()
		return errBusy
	}
	h.mu.Unlock()
	return h.readGroups(ctx, next, seq, h.observe)
}

// untilClosed runs a read, which ends when the store closes: an answer that was on its way does not come any more.
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
		known, grown := max(h.head.Seq, h.lastSeen()), h.grown
		h.mu.Unlock()
		if known >= last {
			break
		}
		err := h.tryReadUpTo(ctx, last)
		if err == nil {
			break
		}
		if !errors.Is(err, errBusy) {
			return err
		}
		select {
		case <-grown:
		case <-time.After(resolvePause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	h.mu.Lock()
	needed := h.lastEvents()
	h.mu.Unlock()
	h.wantFence(needed)
	return h.await(ctx, needed)
}

// lastEvents returns the last group with events in seen; nothing waits for groups without events. The caller holds the lock.
func (h *shard) lastEvents() uint64 {
	for i := len(h.seen) - 1; i >= 0; i-- {
		if len(h.seen[i].Frames) > 0 {
			return h.seen[i].Seq
		}
	}
	return 0
}

// requeue returns the drafts of the first group in flight to the queue. The group was not stored and never will be.
func (h *shard) requeue(f *groupInFlight) {
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
	h.waiting = append(again, h.waiting...)
	h.againBarriers(f, 0)
	if f.g.Kind == format.KindFence && len(h.pendingDrafts) == 0 {
		h.wantLater(jitter()) // several writers that retry at once would conflict again
	}
}

// againBarriers returns the barriers of a group that was not stored to the queue, after a pause. The caller holds the lock.
func (h *shard) againBarriers(f *groupInFlight, pause time.Duration) {
	var again []*entry
	for _, b := range f.barriers {
		if time.Since(b.began) < h.s.api.Patience() {
			again = append(again, b)
		} else {
			b.end(noMajority(h, errors.Join(f.err, context.DeadlineExceeded)))
		}
	}
	f.barriers = nil
	if len(again) == 0 {
		return
	}
	if pause == 0 {
		h.barriers = append(h.barriers, again...)
		return
	}
	time.AfterFunc(pause, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.barriers = append(h.barriers, again...)
		h.sendNext()
	})
}

// lookAfter looks at the shard again after a wait.
func (h *shard) lookAfter(wait time.Duration) {
	time.AfterFunc(wait, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.sendNext()
	})
}

// wake looks at the shard again after a wait. The caller holds the lock.
func (h *shard) wake(wait time.Duration) {
	if h.exchange.waking || !h.asks() {
		return
	}
	h.exchange.waking = true
	time.AfterFunc(max(wait, time.Millisecond)+jitter(), func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.exchange.waking = false
		h.sendNext()
	})
}

// jitter returns a random wait before an empty group.
func jitter() time.Duration { return rand.N(fenceDelay) } //nolint:gosec // not security-relevant

// wantLater delays the request for an empty group. The caller holds the lock.
func (h *shard) wantLater(delay time.Duration) {
	if wanted := h.wanted; wanted > h.head.Seq {
		h.wanted = 0
		time.AfterFunc(delay, func() { h.wantFence(wanted) })
	}
}

// giveUp ends the first group in flight with an error for its callers. Drafts that were at another node before are unknown after a refusal: they
// try on until their time is over.
func (h *shard) giveUp(f *groupInFlight, kind, cause error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if errors.Is(kind, fault.ErrUnknown) {
		h.doubted[f.g.Hash] = true
		h.owner.Void()
	}
	if len(f.drafts) == 0 {
		h.quiet = time.Now().Add(resolvePause)
		h.lookAfter(resolvePause)
	}
	h.drop(f)
	if cause == nil {
		cause = f.err
	}
	if errors.Is(kind, fault.ErrRefused) && h.stopped == nil {
		f.drafts = h.againDrafts(h.awaitLeader(f.drafts, cause))
	}
	endAll(f.drafts, fmt.Errorf("%w: %w", kind, cause))
	h.againBarriers(f, resolvePause)
	h.wantLater(recheckPause)
}

// againDrafts returns the drafts that another node may still append to the queue, after a pause, unless their time is over. It returns the others.
// The caller holds the lock.
func (h *shard) againDrafts(drafts []*entry) (others []*entry) {
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
			again = slices.DeleteFunc(again, func(d *entry) bool { return d.ended || h.exchange.handed[d.r.Hash] != d }) // the log has it, or nobody waits
			h.waiting = append(again, h.waiting...)
			h.sendNext()
		})
	}
	return others
}

// drop removes the first group in flight, which is not known to be stored. Groups behind it become orphans. The caller holds the lock.
func (h *shard) drop(f *groupInFlight) {
	h.inFlight = h.inFlight[1:]
	h.forget(f.g)
	h.front = h.head
	for _, g := range h.seen {
		h.front = g.After(h.front)
	}
	for _, later := range h.inFlight {
		later.orphan = true
		h.front = later.g.After(h.front)
	}
	if f.g.Kind == format.KindClosing {
		h.rolling = false
	}
	h.renew = h.renew || h.owner.Named()
	h.readAgain()
}

// stop ends the first group in flight and sends the error to Fatal: the disk does not keep writes, or a group without callers
// may still be stored.
func (h *shard) stop(f *groupInFlight, cause error) {
	err := fmt.Errorf("%s: group %d is not known to be on disk after %s: %w", h.name(), f.g.Seq, time.Since(f.began).Round(time.Second), cause)
	h.s.markUnhealthy(err, true)
	h.giveUp(f, fault.ErrUnknown, h.markDamaged(f.g.Seq, fmt.Errorf("%w: %w", fault.ErrUnhealthy, err)))
}
