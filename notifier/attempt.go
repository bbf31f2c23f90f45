package notifier

import (
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
	writer writer
	sender *sender
	stream stream
	health *health
	log    zerolog.Logger
	// cut ends later than a lane's context: attempts in flight get that long to finish.
	cut context.Context
}

// deliver makes the first attempt of a delivery. It tells whether the outcome is recorded; if not, the
// notifier is ending and the delivery stays planned, to be sent at the next start (at least once, §6.1).
func (p *dispatcher) deliver(ctx context.Context, d placed) bool {
	m, ok := p.prepare(ctx, d)
	if !ok || ctx.Err() != nil {
		return false
	}
	a, err := p.sender.attempt(p.cut, m)
	if err != nil {
		if p.cut.Err() == nil {
			p.trouble(d, err)
		}
		return false
	}
	return p.record(d, d.ended(a))
}

// prepare makes the message, again and again until it can be made: a delivery is never skipped.
func (p *dispatcher) prepare(ctx context.Context, d placed) (message, bool) {
	for n := 0; ; n++ {
		m, err := p.writer.write(ctx, d.Delivery)
		if err == nil {
			p.health.clear(d.Name())
			return m, true
		}
		if ctx.Err() != nil {
			return m, false
		}
		p.trouble(d, err)
		if !pause(ctx, backoff(n)) {
			return m, false
		}
	}
}

// record makes the outcome durable with compare-and-swap. A conflict means that it is recorded already.
func (p *dispatcher) record(d placed, ended Delivery) bool {
	for n := 0; ; n++ {
		err := p.put(d, ended)
		if err == nil || errors.Is(err, eventstore.ErrConflict) {
			p.health.clear(d.Name())
			p.told(ended)
			return true
		}
		p.trouble(d, err)
		if !pause(p.cut, backoff(n)) {
			return false
		}
	}
}

// put writes once; when the notifier ends meanwhile, it has recordTime left.
func (p *dispatcher) put(d placed, ended Delivery) error {
	body, err := ended.encode()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(p.cut))
	defer cancel()
	stop := context.AfterFunc(p.cut, func() { time.AfterFunc(recordTime, cancel) })
	defer stop()
	_, err = p.stream.Put(ctx, d.Name(), d.at, body)
	return err
}

// trouble tells that a delivery cannot be made or recorded for a reason of our own.
func (p *dispatcher) trouble(d placed, err error) {
	if p.health.set(d.Name(), err) {
		p.log.Error().Err(err).Str("delivery", d.Name()).Int("shard", d.Shard).Uint64("seq", d.Seq).
			Msg("a webhook cannot be sent or recorded; trying again")
	}
}

// told logs an outcome: never the URL, which can hold a merchant's secret, nor the body.
func (p *dispatcher) told(d Delivery) {
	a := d.Attempts[len(d.Attempts)-1]
	line := p.log.Debug()
	if a.Failure != "" {
		line = p.log.Warn()
	}
	line.Str("delivery", d.Name()).Str("aggregateId", d.AggregateID).Int("attempt", a.Number).
		Int("status", a.StatusCode).Str("failure", string(a.Failure)).Dur("took", time.Duration(a.Duration)*time.Microsecond).
		Msg("webhook attempt")
}
