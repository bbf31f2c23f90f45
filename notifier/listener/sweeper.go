package listener

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/eventstore/due"
)

const (
	// Expiry is the time after which a listener without a reader is deleted.
	Expiry     = time.Minute
	sweepEvery = 5 * time.Second
)

// Endpoint is a listener of an account.
type Endpoint struct {
	Account domain.AccountID
	ID      domain.EndpointID
}

// Lane returns the lane of the endpoint's deliveries.
func (e Endpoint) Lane() string { return string(e.Account) + "." + string(e.ID) }

// Sweeper deletes listeners that nobody reads: their command was killed, or their node was.
type Sweeper struct {
	Hub *Hub
	// Endpoints returns the listeners of all accounts.
	Endpoints func() []Endpoint
	// Delete deletes a listener. Another node may have deleted it.
	Delete func(ctx context.Context, e Endpoint) error
	Logger zerolog.Logger
}

// Run deletes listeners until ctx ends. Its times are of the monotonic clock. Every node sweeps:
// each has seen for itself that nobody reads, and the second deletion changes nothing.
func (s *Sweeper) Run(ctx context.Context) {
	unread := map[Endpoint]time.Time{} // since when
	for {
		unread = s.sweep(ctx, unread)
		if due.Rest(ctx, sweepEvery, nil) != nil {
			return
		}
	}
}

func (s *Sweeper) sweep(ctx context.Context, before map[Endpoint]time.Time) map[Endpoint]time.Time {
	unread := map[Endpoint]time.Time{}
	for _, e := range s.Endpoints() {
		if !errors.Is(s.Hub.Reading(ctx, e.Lane()), ErrNoReader) { // it is read, or this is not known
			continue
		}
		since, known := before[e]
		if !known {
			since = time.Now()
		}
		unread[e] = since
		if time.Since(since) < Expiry {
			continue
		}
		if err := s.Delete(ctx, e); err != nil && ctx.Err() == nil {
			s.Logger.Warn().Err(err).Str("account", string(e.Account)).Str("endpoint", string(e.ID)).Msg("a listener without a reader was not deleted")
		}
	}
	return unread
}
