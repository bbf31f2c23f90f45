package notifier

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"payledger/eventstore"
	"payledger/eventstore/deliverylog"
	"payledger/notifier/delivery"
	"payledger/notifier/health"
	"payledger/notifier/message"
	"payledger/notifier/sender"
)

const (
	// recordTime bounds the last writes when the notifier ends.
	recordTime = time.Second
)

type dispatcher struct {
	write     func(context.Context, delivery.Delivery) (sender.Message, error)
	sender    *sender.Sender
	stream    stream
	retries   delivery.Schedule
	ownership delivery.Ownership
	now       func() time.Time
	locks     *deliveryLocks
	health    *health.Health
	tally     *tally
	log       zerolog.Logger
	// cut ends later than a lane's context, so that attempts in flight can finish.
	cut context.Context
}

// deliver makes the attempt of a lane's entry and records it. If the notifier ends first, the record stays as it is, and
// the next start makes the attempt (at least once, §6.1).
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
	for again := true; again; e.fresh = false {
		holder, ok := p.holder(ctx)
		if !ok {
			return
		}
		d, at, ok := p.current(ctx, l, e, name, holder)
		if !ok {
			return
		}
		var ended delivery.Delivery
		if ended, again, ok = p.attempt(ctx, d, holder); !ok {
			e.at = at
			continue
		}
		free()
		ended.Sender = holder
		if p.record(l, name, at, d, ended) {
			p.tally.record(d.Status, ended)
			p.logOutcome(name, ended)
		}
	}
}

// holderEvery is the interval of the questions whether this process may send again.
const holderEvery = 100 * time.Millisecond

// holder waits until this process may send, and returns its name. It reports false if ctx ends first.
func (p *dispatcher) holder(ctx context.Context) (string, bool) {
	for {
		name, err := p.ownership.Holder()
		if err == nil {
			return name, true
		}
		if !health.Pause(ctx, holderEvery) {
			return "", false
		}
	}
}

// nameOf returns the name of the delivery whose record is at the entry's place.
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
		l.moved(e.at, 0, delivery.Delivery{})
		l.scanFrom(e.at)
		err = deliverylog.ErrDropped
	}
	return name, err
}

// current returns the entry's delivery and its place, and reports whether this process sends it now. Unless this process
// has just planned the delivery, current reads the record again: another process or a person may have tried or ended it.
func (p *dispatcher) current(ctx context.Context, l *lane, e entry, name, holder string) (d delivery.Delivery, at uint64, is bool) {
	if !l.holds(e.at) {
		return d, 0, false
	}
	if e.fresh && p.ownership.IsMine(*e.record) {
		return *e.record, e.at, true
	}
	var last deliverylog.Record
	err := p.persist(ctx, name, func() (err error) {
		if last, err = p.stream.Last(ctx, name); err == nil {
			d, err = delivery.Decode(last)
		}
		return err
	})
	if err != nil {
		return d, 0, false
	}
	if last.Seq != e.at || !d.Status.Open() || !p.ownership.MayTake(d) { // an unchanged record is due: the lane has waited
		l.moved(e.at, last.Seq, d)
		return d, 0, false
	}
	if !p.ownership.IsMine(d) {
		return p.takeOver(ctx, l, e.at, d, holder)
	}
	return d, e.at, true
}

// takeOver makes this process the owner of a delivery that is due, and returns the delivery's new place.
func (p *dispatcher) takeOver(ctx context.Context, l *lane, from uint64, d delivery.Delivery, holder string) (taken delivery.Delivery, at uint64, is bool) {
	taken = delivery.TakeOver(d, holder, p.now())
	err := p.persist(ctx, d.Name(), func() (err error) {
		at, err = p.put(from, taken)
		if errors.Is(err, eventstore.ErrConflict) { // another process was faster, or the answer to this write was lost
			at, err = 0, nil
		}
		return err
	})
	switch {
	case err != nil:
		return taken, 0, false
	case at == 0:
		l.scanFrom(from)
		l.moved(from, 0, delivery.Delivery{})
		return taken, 0, false
	}
	l.movedInFlight(from, at)
	return taken, at, true
}

// attempt makes the next attempt of d. If the endpoint is deleted or disabled, attempt cancels d instead. again reports that nothing was
// sent, because the message or the owner changed meanwhile.
func (p *dispatcher) attempt(ctx context.Context, d delivery.Delivery, holder string) (ended delivery.Delivery, again, ok bool) {
	var m sender.Message
	err := p.persist(ctx, d.Name(), func() (err error) {
		m, err = p.write(ctx, d)
		if errors.Is(err, message.ErrNoEndpoint) || errors.Is(err, message.ErrDisabled) {
			ended, err = d.Cancel(), nil
		}
		return err
	})
	if err != nil || ctx.Err() != nil {
		return d, false, false
	}
	if ended.Status == delivery.Cancelled {
		return ended, false, true
	}
	a, err := p.sender.Attempt(p.cut, fence(p.ownership, m, holder))
	switch {
	case errors.Is(err, sender.ErrNotSent):
		return d, ctx.Err() == nil, false
	case err != nil:
		if p.cut.Err() == nil && p.health.Set(d.Name(), err) {
			p.logProblem(d.Name(), err)
		}
		return d, false, false
	}
	return d.WithAttempt(a, p.retries), false, true
}

// record writes an outcome with compare-and-swap, moves the delivery in its lane, and reports whether it wrote the outcome.
// After a conflict the newer record counts, unless it is only a copy of the record before the attempt (Retention).
func (p *dispatcher) record(l *lane, name string, at uint64, before, ended delivery.Delivery) (written bool) {
	_ = p.persist(p.cut, name, func() error {
		place, err := p.put(at, ended)
		for errors.Is(err, eventstore.ErrConflict) {
			copied := p.copied(name, before)
			if copied <= at {
				l.scanFrom(at)
				l.moved(at, 0, delivery.Delivery{})
				return nil
			}
			l.movedInFlight(at, copied)
			at = copied
			place, err = p.put(at, ended)
		}
		if err != nil {
			return err
		}
		l.moved(at, place, ended)
		written = true
		return nil
	})
	return written
}

// copied returns the place of a delivery's newest record if its bytes equal the record before the attempt, else 0.
func (p *dispatcher) copied(name string, before delivery.Delivery) uint64 {
	stored, err := p.stream.Last(p.cut, name)
	if err != nil {
		return 0
	}
	d, err := delivery.Decode(stored)
	if err != nil {
		return 0
	}
	there, err := d.Encode()
	if err != nil {
		return 0
	}
	if was, err := before.Encode(); err != nil || !bytes.Equal(there, was) {
		return 0
	}
	return stored.Seq
}

// put writes a record once. If cut ends, the write has recordTime left.
func (p *dispatcher) put(at uint64, ended delivery.Delivery) (uint64, error) {
	body, err := ended.Encode()
	if err != nil {
		return 0, err
	}
	ctx, cancel := health.Extend(p.cut, recordTime)
	defer cancel()
	return p.stream.Put(ctx, ended.Name(), at, body, ended.Status.Open())
}

// persist repeats an operation until it succeeds or ctx ends. Every failure counts as payledger's own, not as the
// receiver's.
func (p *dispatcher) persist(ctx context.Context, what string, do func() error) error {
	return p.health.Retry(ctx, what, do, func(err error) { p.logProblem(what, err) })
}

// logProblem logs a problem of payledger's own with a delivery when it begins.
func (p *dispatcher) logProblem(what string, err error) {
	p.log.Error().Err(err).Str("delivery", what).Msg("a webhook cannot be sent or recorded; trying again")
}

// logOutcome logs an outcome without the body, the answer and the URL, which may contain a merchant's secret.
func (p *dispatcher) logOutcome(name string, d delivery.Delivery) {
	if d.Status == delivery.Cancelled {
		p.log.Info().Str("delivery", name).Str("aggregateId", d.AggregateID).Msg("webhook cancelled: its endpoint takes none")
		return
	}
	a := d.Attempts[len(d.Attempts)-1]
	line := p.log.Debug()
	if a.Failure != "" {
		line = p.log.Warn()
	}
	line.Str("delivery", name).Str("aggregateId", d.AggregateID).Int("attempt", a.Number).Str("outcome", string(d.Status)).
		Int("status", a.StatusCode).Str("failure", string(a.Failure)).Dur("took", time.Duration(a.Duration)*time.Microsecond).
		Bool("manual", a.Manual).Msg("webhook attempt")
}
