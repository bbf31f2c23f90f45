package notifications

import (
	"context"
	"fmt"
	"sync"
	"time"

	"payledger/domain"
	"payledger/domain/inbox"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/commands"
)

const (
	// sweepOverlap is the period that a start reads again: a processor may list events out of
	// order.
	sweepOverlap = time.Hour
	// sweepPages limits one sweep of a processor; the next sweep continues.
	sweepPages   = 20
	sweepTimeout = 20 * time.Second
	// Timestamps more than sweepAhead ahead of our clock do not move through.
	sweepAhead = time.Hour
)

type sweep struct {
	mu      sync.Mutex // held during a sweep
	loaded  bool       // the fields below are set
	since   time.Time
	cursor  string
	through time.Time // the newest time seen that is not ahead of the clock
}

// saw moves through to at, the time of a dispute event.
func (w *sweep) saw(at, now time.Time) {
	if at.After(now.Add(sweepAhead)) {
		return // a time in the future does not count
	}
	if at.After(now) {
		at = now
	}
	if at.After(w.through) {
		w.through = at
	}
}

// restart drops the cursor: the list is read from sweepOverlap before through. A through ahead of
// now is reset: the clock was set back.
func (w *sweep) restart(now time.Time) {
	w.cursor, w.since = "", time.Time{}
	if w.through.After(now) {
		w.through = time.Time{}
	}
	if !w.through.IsZero() {
		w.since = w.through.Add(-sweepOverlap)
	}
}

// SweepDisputesAt asks a processor for its dispute notifications since the last sweep, and applies
// the lost ones (D14.12).
func (s *Notifications) SweepDisputesAt(ctx context.Context, name processor.Name) error {
	if s.Disputes == nil {
		return nil
	}
	progress := s.sweeps[name]
	progress.mu.Lock()
	defer progress.mu.Unlock()
	if err := s.sweep(ctx, name, progress); err != nil {
		return fmt.Errorf("disputes at %s: %w", name, err)
	}
	return nil
}

func (s *Notifications) sweep(ctx context.Context, name processor.Name, progress *sweep) error {
	if err := s.loadCursor(ctx, name, progress); err != nil {
		return err
	}
	for range sweepPages {
		ask, cancel := context.WithTimeout(ctx, sweepTimeout)
		page, err := s.Disputes.NotificationsSince(ask, name, progress.since, progress.cursor)
		cancel()
		if err != nil {
			progress.restart(s.Store.Now()) // the processor may have dropped the cursor
			return err
		}
		if page.Unreadable > 0 {
			s.Logger.Warn().Str("processor", string(name)).Int("count", page.Unreadable).Msg("dispute notifications without a payment or an id of their own")
		}
		for _, n := range page.Notifications {
			if err := s.receiveListed(ctx, n); err != nil {
				return err // the page is read again
			}
			if n.Dispute != nil {
				progress.saw(n.Dispute.At, s.Store.Now())
			}
		}
		progress.cursor = page.Next
		if !page.More {
			break
		}
	}
	return s.recordCursor(ctx, name, progress.through)
}

func (s *Notifications) loadCursor(ctx context.Context, name processor.Name, progress *sweep) error {
	if progress.loaded {
		return nil
	}
	tip, err := s.Log.Inboxes.Load(ctx, eventstore.InboxOwner, string(name), eventstore.Applied)
	if err != nil {
		return err
	}
	now := s.Store.Now()
	progress.loaded, progress.through = true, tip.State.SweptBy(now)
	progress.restart(now)
	return nil
}

// receiveListed applies a notification found by a sweep. It ignores references that are no payment
// ids: others may use the merchant account.
func (s *Notifications) receiveListed(ctx context.Context, payload processor.SignedNotification) error {
	if !domain.PaymentIDShaped(payload.Reference) {
		return nil
	}
	err := s.receive(ctx, "disputes:"+string(payload.Processor), payload, true)
	if noRoom(err) {
		s.Logger.Warn().Err(err).Str("payment", string(payload.Reference)).Msg("no room for a dispute notification")
		return nil // a repeat would find no room either
	}
	return err
}

func (s *Notifications) recordCursor(ctx context.Context, name processor.Name, through time.Time) error {
	if through.IsZero() {
		return nil
	}
	by := commands.Caller{Account: eventstore.InboxOwner, Actor: "process:disputes", RequestID: "disputes:" + string(name)}
	_, err := commands.Follow(ctx, s.Base, by, s.Log.Inboxes.Execute, string(name), func(state inbox.State, at time.Time) (inbox.Event, error) {
		return inbox.DecideSwept(state, inbox.Swept{At: at, Processor: name, Through: through})
	})
	return err
}
