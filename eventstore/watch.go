package eventstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// checkEvery is how often the streams are looked through for holes.
	checkEvery = time.Hour
	// recheckPause is the wait before a check is repeated that could not be made, or that a leader which was
	// cut off may have answered.
	recheckPause = time.Second
	// fullPercent of an external account's limit is where new requests end and only outcomes are taken.
	fullPercent = 90
	// leaderElected is where a server says that a replicated stream has a new leader.
	leaderElected = "$JS.EVENT.ADVISORY.STREAM.LEADER_ELECTED.*"
)

// watch looks after the log while it is open: holes hourly, after every reconnect and after every change of
// a leader, and how full the store is.
func (s *Store) watch(ctx context.Context) {
	status := s.nc.StatusChanged(nats.CONNECTED)
	elected := make(chan *nats.Msg, 64)
	if _, err := s.nc.ChanSubscribe(leaderElected, elected); err != nil {
		s.log.Warn().Err(err).Msg("changes of leaders are not seen; the hourly check goes on")
	}
	check, measure := time.NewTicker(checkEvery), time.NewTicker(measureEvery)
	defer check.Stop()
	defer measure.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-measure.C:
			s.measure(ctx)
		case <-check.C:
			s.recheck(ctx)
		case <-elected:
			drain(elected) // all shards of a lost node elect at once
			s.recheck(ctx)
		case _, open := <-status:
			if !open {
				status = nil // the connection was closed for good
				continue
			}
			s.recheck(ctx)
		}
	}
}

func drain(c <-chan *nats.Msg) {
	for {
		select {
		case <-c:
		default:
			return
		}
	}
}

// recheck looks for holes until it has an answer. Damage ends the appends; on a replicated log only when no
// leader that was cut off can have said so.
func (s *Store) recheck(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	err := s.confirm(ctx, s.recheckSegments)
	switch {
	case errors.Is(err, ErrUnhealthy):
		s.fail(err, false)
	case err != nil:
		s.log.Warn().Err(err).Msg("the log could not be checked for holes")
	}
}

// confirm repeats a check until it passes, fails as damage does, or ctx ends.
func (s *Store) confirm(ctx context.Context, check func(context.Context) error) error {
	damagedSince := time.Time{}
	for {
		err := check(ctx)
		now := time.Now()
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, ErrUnhealthy):
			damagedSince = time.Time{}
		case damagedSince.IsZero():
			damagedSince = now
		}
		if !damagedSince.IsZero() && (s.replicas == 1 || now.Sub(damagedSince) > staleLeader) {
			return err
		}
		if pauseErr := s.pause(ctx, recheckPause); pauseErr != nil {
			return fmt.Errorf("%w: %w", pauseErr, err)
		}
	}
}
