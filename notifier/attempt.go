package notifier

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"payledger/eventstore"
)

const (
	// firstBackoff and lastBackoff bound the waits before our own trouble is tried again; a receiver's
	// failure is an outcome.
	firstBackoff = 100 * time.Millisecond
	lastBackoff  = time.Minute
	// recordTime is how long recording an outcome may take once the notifier was told to end.
	recordTime = time.Second
)

// backoff is the wait after n failures: it doubles.
func backoff(n int) time.Duration {
	if n >= 10 {
		return lastBackoff
	}
	return min(firstBackoff<<n, lastBackoff)
}

// pause waits; false when ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// dispatcher makes the attempts of deliveries and records how they end.
type dispatcher struct {
	write     func(context.Context, Delivery) (message, error)
	sender    *sender
	stream    stream
	retries   schedule
	ownership ownership
	now       func() time.Time
	locks     *deliveryLocks
	health    *health
	tally     *tally
	log       zerolog.Logger
	// cut ends later than a lane's context: attempts in flight get that long to finish.
	cut context.Context
}

// deliver makes the attempt of an entry of a lane, and records it. When the notifier ends first, the delivery stays
// as it is recorded, and its attempt is made at the next start (at least once, §6.1).
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
	d, at, ok := p.current(ctx, l, e, name)
	if !ok {
		return
	}
	ended, ok := p.attempt(ctx, d)
	if !ok {
		return
	}
	free()
	ended.Sender = p.ownership.processID
	if p.record(l, name, at, d, ended) {
		p.tally.record(d.Status, ended)
		p.logOutcome(name, ended)
	}
}

// nameOf gives the name of the delivery whose record stands at the entry's place.
func (p *dispatcher) nameOf(ctx context.Context, l *lane, e entry) (name string, err error) {
	if e.record != nil {
		return e.record.Name(), nil
	}
	gone := false
	err = p.persist(ctx, l.name, func() error {
		stored, err := p.stream.At(ctx, e.at)
		name, gone = stored.Name, errors.Is(err, eventstore.ErrDropped)
		if gone {
			return nil
		}
		return err
	})
	if gone { // it was copied forward before
		l.moved(e.at, 0, Delivery{})
		l.scanFrom(e.at)
		err = eventstore.ErrDropped
	}
	return name, err
}

// current gives the entry's delivery and its place if it is to be sent here and now. One that somebody else could have
// touched is read again: it may have ended since, or have been tried and be due later.
func (p *dispatcher) current(ctx context.Context, l *lane, e entry, name string) (d Delivery, at uint64, is bool) {
	if !l.holds(e.at) {
		return d, 0, false
	}
	if e.fresh && !p.ownership.mustTakeOver(*e.record, p.now()) {
		return *e.record, e.at, true
	}
	var last eventstore.StoredDelivery
	err := p.persist(ctx, name, func() (err error) {
		if last, err = p.stream.Last(ctx, name); err == nil {
			d, err = Decode(last)
		}
		return err
	})
	if err != nil {
		return d, 0, false
	}
	if last.Seq != e.at || !d.Status.Open() { // one that stands where it stood is due: the lane has waited
		l.moved(e.at, last.Seq, d)
		return d, 0, false
	}
	if p.ownership.mustTakeOver(d, p.now()) {
		return p.take(ctx, l, e.at, d)
	}
	return d, e.at, true
}

// take takes a delivery over from another process, and gives its place then.
func (p *dispatcher) take(ctx context.Context, l *lane, from uint64, d Delivery) (taken Delivery, at uint64, is bool) {
	taken = p.ownership.takenOver(d, p.now())
	err := p.persist(ctx, d.Name(), func() (err error) {
		at, err = p.put(from, taken)
		if errors.Is(err, eventstore.ErrConflict) { // another one was faster; or this one, whose answer was lost
			at, err = 0, nil
		}
		return err
	})
	switch {
	case err != nil:
		return taken, 0, false
	case at == 0:
		l.scanFrom(from)
		l.moved(from, 0, Delivery{})
		return taken, 0, false
	}
	l.movedInFlight(from, at)
	return taken, at, true
}

// attempt makes the next attempt of d; or ends it, when its endpoint takes no webhooks any more.
func (p *dispatcher) attempt(ctx context.Context, d Delivery) (ended Delivery, ok bool) {
	var m message
	err := p.persist(ctx, d.Name(), func() (err error) {
		m, err = p.write(ctx, d)
		if errors.Is(err, ErrNoEndpoint) || errors.Is(err, ErrDisabled) {
			ended, err = d.cancelled(), nil
		}
		return err
	})
	if err != nil || ctx.Err() != nil {
		return d, false
	}
	if ended.Status == Cancelled {
		return ended, true
	}
	a, err := p.sender.attempt(p.cut, m)
	if err != nil {
		if p.cut.Err() == nil {
			p.reportProblem(d.Name(), err)
		}
		return d, false
	}
	return d.ended(a, p.retries), true
}

// record makes an outcome durable with compare-and-swap, and tells the lane. A conflict means that another process
// has recorded one: what it recorded holds, unless it has only copied the record forward. It tells whether the outcome is
// on record.
func (p *dispatcher) record(l *lane, name string, at uint64, before, ended Delivery) bool {
	for n := 0; ; n++ {
		place, err := p.put(at, ended)
		switch {
		case err == nil:
			l.moved(at, place, ended)
			p.health.clear(name)
			return true
		case errors.Is(err, eventstore.ErrConflict):
			if copied := p.copied(name, before); copied > at {
				l.movedInFlight(at, copied)
				at = copied
				continue
			}
			l.scanFrom(at)
			l.moved(at, 0, Delivery{})
			p.health.clear(name)
			return false
		}
		p.reportProblem(name, err)
		if !pause(p.cut, backoff(n)) {
			return false
		}
	}
}

// copied gives the place of a delivery's newest record if that is the same as the one before the attempt; else 0.
func (p *dispatcher) copied(name string, before Delivery) uint64 {
	stored, err := p.stream.Last(p.cut, name)
	if err != nil {
		return 0
	}
	d, err := Decode(stored)
	if err != nil {
		return 0
	}
	there, err := d.encode()
	if err != nil {
		return 0
	}
	if was, err := before.encode(); err != nil || !bytes.Equal(there, was) {
		return 0
	}
	return stored.Seq
}

// put writes once; when the notifier ends meanwhile, it has recordTime left.
func (p *dispatcher) put(at uint64, ended Delivery) (uint64, error) {
	body, err := ended.encode()
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(p.cut))
	defer cancel()
	stop := context.AfterFunc(p.cut, func() { time.AfterFunc(recordTime, cancel) })
	defer stop()
	return p.stream.Put(ctx, ended.Name(), at, body, ended.Status.Open())
}

// persist repeats what failed for a reason of our own until it succeeds or ctx ends: a delivery is never skipped.
func (p *dispatcher) persist(ctx context.Context, what string, do func() error) error {
	for n := 0; ; n++ {
		err := do()
		if err == nil {
			p.health.clear(what)
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		p.reportProblem(what, err)
		if !pause(ctx, backoff(n)) {
			return ctx.Err()
		}
	}
}

// reportProblem tells that a delivery cannot be made or recorded for a reason of our own.
func (p *dispatcher) reportProblem(what string, err error) {
	if p.health.set(what, err) {
		p.log.Error().Err(err).Str("delivery", what).Msg("a webhook cannot be sent or recorded; trying again")
	}
}

// logOutcome logs an outcome: never the URL, which can hold a merchant's secret, nor the body or the answer.
func (p *dispatcher) logOutcome(name string, d Delivery) {
	if d.Status == Cancelled {
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
