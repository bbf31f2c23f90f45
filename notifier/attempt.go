package notifier

import (
	"bytes"
	"context"
	"errors"
	"time"

	"payledger/eventstore"
	"payledger/eventstore/deliverylog"
	"payledger/eventstore/due"
	"payledger/notifier/delivery"
	"payledger/notifier/health"
	"payledger/notifier/message"
	"payledger/notifier/sender"
)

// recordTime bounds the last writes when the notifier ends.
const recordTime = time.Second

type dispatcher struct {
	*Notifier
	compose func(context.Context, delivery.Delivery) (sender.Message, error)
	cut     context.Context // ends later than a lane's context, so that attempts in flight can finish
}

// deliver makes the attempt of a lane's entry and records it. If the notifier stops before the
// outcome is durable, the record stays as it is, and the next start makes the attempt (at least
// once, §6.1).
func (p *dispatcher) deliver(ctx context.Context, l *lane, e entry, free func()) {
	name, err := p.nameOf(ctx, l, e)
	if err != nil {
		return
	}
	unlock, ok := p.locks.lock(ctx, name)
	if !ok {
		return
	}
	defer unlock()
	for {
		owner, ok := p.ownerID(ctx)
		if !ok {
			return
		}
		d, at, ok := p.current(ctx, l, e, name, owner)
		if !ok {
			return
		}
		made := p.attempt(ctx, d, owner)
		if made.ok {
			free()
			made.after.Sender = owner
			p.record(l, name, at, d, made)
		}
		if !made.again {
			return
		}
		e.at, e.fresh = at, false
	}
}

const ownerEvery = 100 * time.Millisecond

// ownerID waits until this node may send, and returns its owner id. It reports false if ctx ends
// first.
func (n *Notifier) ownerID(ctx context.Context) (string, bool) {
	for {
		id, err := n.ownership.Holder()
		if err == nil {
			return id, true
		}
		if due.Rest(ctx, ownerEvery, nil) != nil {
			return "", false
		}
	}
}

func (p *dispatcher) nameOf(ctx context.Context, l *lane, e entry) (name string, err error) {
	if e.record != nil {
		return e.record.Name(), nil
	}
	gone := false
	err = p.persist(ctx, l.name, func() error {
		stored, err := p.stream.At(ctx, e.at)
		name, gone = stored.Name, errors.Is(err, deliverylog.ErrDropped)
		if gone {
			return nil
		}
		return err
	})
	if gone { // a copy at the end of the stream replaces the dropped record
		l.leave(e.at)
		l.scanFrom(e.at)
		err = deliverylog.ErrDropped
	}
	return name, err
}

// current returns the entry's delivery and its place, and reports whether this node sends the
// delivery now. Unless this node has just planned the delivery, current reads the record again:
// another node or a person may have tried or ended the delivery.
func (p *dispatcher) current(ctx context.Context, l *lane, e entry, name, owner string) (d delivery.Delivery, at uint64, ok bool) {
	if !l.holds(e.at) {
		return d, 0, false
	}
	if e.fresh && p.ownership.IsMine(*e.record) {
		return *e.record, e.at, true
	}
	var last deliverylog.Record
	err := p.persist(ctx, name, func() (err error) {
		last, d, err = p.last(ctx, name)
		return err
	})
	if err != nil {
		return d, 0, false
	}
	if last.Seq != e.at || !d.Status.Open() || !p.ownership.MayTake(d) { // a newer record may be due later
		l.moved(e.at, last.Seq, d)
		return d, 0, false
	}
	if !p.ownership.IsMine(d) {
		return p.claim(ctx, l, e.at, d, owner)
	}
	return d, e.at, true
}

// claim makes owner the owner of d with compare-and-swap. It reports false if another node was
// faster, or ctx ended.
func (p *dispatcher) claim(ctx context.Context, l *lane, from uint64, d delivery.Delivery, owner string) (taken delivery.Delivery, at uint64, ok bool) {
	taken = delivery.WithOwner(d, owner, p.Now())
	err := p.persist(ctx, d.Name(), func() (err error) {
		at, err = p.put(from, taken)
		if errors.Is(err, eventstore.ErrConflict) { // another node was faster
			at, err = 0, nil
		}
		return err
	})
	switch {
	case err != nil:
		return taken, 0, false
	case at == 0:
		l.scanFrom(from)
		l.leave(from)
		return taken, 0, false
	}
	l.movedInFlight(from, at)
	return taken, at, true
}

// tried is the result of an attempt.
type tried struct {
	after   delivery.Delivery
	request string // the id of the request that caused the event
	ok      bool   // after must be recorded
	again   bool   // nothing was sent, because the message or the owner id changed meanwhile
}

// attempt makes the next attempt of d. If the endpoint is deleted or disabled, attempt cancels d
// instead.
func (p *dispatcher) attempt(ctx context.Context, d delivery.Delivery, owner string) (made tried) {
	var m sender.Message
	made.after = d
	err := p.persist(ctx, d.Name(), func() (err error) {
		m, err = p.compose(ctx, d)
		if errors.Is(err, message.ErrNoEndpoint) || errors.Is(err, message.ErrDisabled) {
			made.after, err = d.Cancel(), nil
		}
		return err
	})
	if err != nil || ctx.Err() != nil {
		return tried{after: d}
	}
	made.request = m.Request
	if made.after.Status == delivery.Cancelled {
		made.ok = true
		return made
	}
	a, err := p.sender.Attempt(p.cut, fence(p.ownership, m, owner))
	switch {
	case errors.Is(err, sender.ErrNotSent):
		made.again = ctx.Err() == nil
		return made
	case err != nil:
		if p.cut.Err() == nil && p.health.Set(d.Name(), err) {
			p.logProblem(d.Name(), err)
		}
		return made
	}
	made.after, made.ok = d.WithAttempt(a, p.retries), true
	return made
}

// record writes an outcome with compare-and-swap, and moves the delivery in its lane. If another
// record was written meanwhile, record writes behind it in two cases: the newer record is a copy of
// the record before the attempt (Retention), or it is open and this attempt succeeded. Otherwise
// the newer record stands.
func (p *dispatcher) record(l *lane, name string, at uint64, before delivery.Delivery, made tried) {
	after := made.after
	_ = p.persist(p.cut, name, func() error {
		place, err := p.put(at, after)
		for errors.Is(err, eventstore.ErrConflict) {
			newest, there, unread := p.newest(name)
			switch {
			case unread != nil:
				return unread
			case newest.Seq > at && same(there, before):
			case newest.Seq > at && there.Status.Open() && after.Status == delivery.Succeeded:
				sender := after.Sender
				before, after = there, there.WithAttempt(after.Attempts[len(after.Attempts)-1], p.retries)
				after.Sender = sender
			default:
				l.scanFrom(at)
				l.leave(at)
				return nil
			}
			l.movedInFlight(at, newest.Seq)
			at = newest.Seq
			place, err = p.put(at, after)
		}
		if err != nil {
			return err
		}
		l.moved(at, place, after)
		p.tally.record(before.Status, after, made.request)
		p.logOutcome(name, after)
		return nil
	})
}

// newest reads a delivery's newest record. If cut ends, the reading has recordTime left.
func (p *dispatcher) newest(name string) (deliverylog.Record, delivery.Delivery, error) {
	ctx, cancel := health.Extend(p.cut, recordTime)
	defer cancel()
	return p.last(ctx, name)
}

func same(a, b delivery.Delivery) bool {
	one, err := a.Encode()
	other, failed := b.Encode()
	return err == nil && failed == nil && bytes.Equal(one, other)
}

// put writes a record once. If cut ends, the write has recordTime left.
func (p *dispatcher) put(at uint64, after delivery.Delivery) (uint64, error) {
	body, err := after.Encode()
	if err != nil {
		return 0, err
	}
	ctx, cancel := health.Extend(p.cut, recordTime)
	defer cancel()
	return p.stream.Put(ctx, after.Name(), at, body, after.Status.Open())
}

// persist repeats an operation until it succeeds or ctx ends. A failure counts as payledger's own,
// not as the receiver's.
func (p *dispatcher) persist(ctx context.Context, what string, do func() error) error {
	return p.health.Retry(ctx, what, do, func(err error) { p.logProblem(what, err) })
}

func (p *dispatcher) logProblem(what string, err error) {
	p.Logger.Error().Err(err).Str("delivery", what).Msg("a webhook cannot be sent or recorded; trying again")
}

// logOutcome logs an outcome without the body, the answer and the URL, which may contain a
// merchant's secret.
func (p *dispatcher) logOutcome(name string, d delivery.Delivery) {
	if d.Status == delivery.Cancelled {
		p.Logger.Info().Str("delivery", name).Str("aggregateId", d.AggregateID).Msg("webhook cancelled: its endpoint is deleted or disabled")
		return
	}
	a := d.Attempts[len(d.Attempts)-1]
	line := p.Logger.Debug()
	if a.Failure != "" {
		line = p.Logger.Warn()
	}
	line.Str("delivery", name).Str("aggregateId", d.AggregateID).Int("attempt", a.Number).Str("outcome", string(d.Status)).
		Int("status", a.StatusCode).Str("failure", string(a.Failure)).Dur("took", time.Duration(a.Duration)*time.Microsecond).
		Bool("manual", a.Manual).Msg("webhook attempt")
}
