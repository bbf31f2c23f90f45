package eventstore

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// checkEvery is how often the streams are looked through for holes.
	checkEvery = time.Hour
	// measureEvery is how often the disk is measured.
	measureEvery = 10 * time.Second
	// fullPercent of the store's limit is where new requests end and only outcomes are taken.
	fullPercent = 90
)

// watch looks after the log while it is open: holes hourly and after every reconnect (a leader may have
// changed), and how full the store is.
func (s *Store) watch(ctx context.Context) {
	defer close(s.done)
	status := s.nc.StatusChanged(nats.CONNECTED)
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
		case <-status:
			s.recheck(ctx)
		}
	}
}

func (s *Store) recheck(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := s.checkStreams(ctx); err != nil && ctx.Err() == nil && s.nc.IsConnected() {
		s.fail(err, false)
	}
}

func (s *Store) measure(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	info, err := s.js.AccountInfo(ctx)
	if err != nil || info.Limits.MaxStore <= 0 {
		return
	}
	s.full.Store(info.Store*100 > uint64(info.Limits.MaxStore)*fullPercent)
}
