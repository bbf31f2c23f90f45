package commands

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"payledger/domain"
	"payledger/domain/inbox"
	"payledger/domain/processor"
	"payledger/eventstore"
)

const (
	// sweepOverlap is how much is looked through again after a start: what was told at one time need not be recorded
	// in that order.
	sweepOverlap = time.Hour
	// sweepPages bounds one sweep of a processor; the next goes on.
	sweepPages = 20
	// sweepTimeout bounds one question.
	sweepTimeout = 20 * time.Second
	// sweepAhead is how far a processor's clock may be ahead of ours for its times to tell how far it was looked through.
	sweepAhead = time.Hour
)

// sweeps are the cursors of this process, by processor.
type sweeps struct {
	mu sync.Mutex
	at map[processor.Name]*sweep
}

// of returns a processor's cursor.
func (w *sweeps) of(name processor.Name) *sweep {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.at == nil {
		w.at = map[processor.Name]*sweep{}
	}
	if w.at[name] == nil {
		w.at[name] = &sweep{}
	}
	return w.at[name]
}

// sweep is how far a processor has been looked through.
type sweep struct {
	mu      sync.Mutex // one sweep at a time
	begun   bool       // the rest is set
	since   time.Time
	cursor  string
	through time.Time // the newest time that was seen and has come
}

// saw notes the time of something that was taken in at now.
func (w *sweep) saw(at, now time.Time) {
	if at.After(now.Add(sweepAhead)) {
		return // it tells nothing about the rest
	}
	if at.After(now) {
		at = now
	}
	if at.After(w.through) {
		w.through = at
	}
}

// restart begins anew a little before what was seen. A time that has not come at now tells nothing: the clock was set back
// since.
func (w *sweep) restart(now time.Time) {
	w.cursor, w.since = "", time.Time{}
	if w.through.After(now) {
		w.through = time.Time{}
	}
	if !w.through.IsZero() {
		w.since = w.through.Add(-sweepOverlap)
	}
}

// SweepDisputes asks every processor, all at once, as SweepDisputesAt does.
func (s *Service) SweepDisputes(ctx context.Context) error {
	failed := make([]error, len(processor.Names))
	var running sync.WaitGroup
	for i, name := range processor.Names {
		running.Go(func() { failed[i] = s.SweepDisputesAt(ctx, name) })
	}
	running.Wait()
	return errors.Join(failed...)
}

// SweepDisputesAt asks one processor what it told about disputes since the last time, and takes in what never came
// (D14). What came is known, and adds nothing.
func (s *Service) SweepDisputesAt(ctx context.Context, name processor.Name) error {
	if s.Disputes == nil {
		return nil
	}
	at := s.sweeps.of(name)
	at.mu.Lock()
	defer at.mu.Unlock()
	if err := s.sweep(ctx, name, at); err != nil {
		return fmt.Errorf("disputes at %s: %w", name, err)
	}
	return nil
}

func (s *Service) sweep(ctx context.Context, name processor.Name, at *sweep) error {
	if err := s.beginSweep(ctx, name, at); err != nil {
		return err
	}
	for range sweepPages {
		ask, cancel := context.WithTimeout(ctx, sweepTimeout)
		page, err := s.Disputes.NotificationsSince(ask, name, at.since, at.cursor)
		cancel()
		if err != nil {
			at.restart(s.Store.Now()) // a processor may have forgotten the cursor
			return err
		}
		if page.Unreadable > 0 {
			s.Logger.Warn().Str("processor", string(name)).Int("count", page.Unreadable).Msg("what was told of disputes names no payment, or not itself")
		}
		for _, payload := range page.Notifications {
			if err := s.lookedUp(ctx, payload); err != nil {
				return err // the page is asked for again
			}
			if payload.Dispute != nil {
				at.saw(payload.Dispute.At, s.Store.Now())
			}
		}
		at.cursor = page.Next
		if !page.More {
			break
		}
	}
	return s.swept(ctx, name, at.through)
}

// beginSweep sets where this process begins: a little before what the log says.
func (s *Service) beginSweep(ctx context.Context, name processor.Name, at *sweep) error {
	if at.begun {
		return nil
	}
	tip, err := s.log.Inboxes.Load(ctx, eventstore.InboxOwner, string(name), eventstore.AllowStale)
	if err != nil {
		return err
	}
	now := s.Store.Now()
	at.begun, at.through = true, tip.State.SweptBy(now)
	at.restart(now)
	return nil
}

// lookedUp takes in what was found by asking, unless it came. References that no payment here can have are others'
// business: a merchant account may be used beside this service.
func (s *Service) lookedUp(ctx context.Context, payload processor.SignedNotification) error {
	if !domain.PaymentIDShaped(payload.Reference) {
		return nil
	}
	err := s.receive(ctx, "disputes:"+string(payload.Processor), payload, true)
	if noRoom(err) {
		s.Logger.Warn().Err(err).Str("payment", string(payload.Reference)).Msg("what was told of a dispute finds no room")
		return nil // more of it would find none either
	}
	return err
}

// swept records how far a processor was looked through, now and then.
func (s *Service) swept(ctx context.Context, name processor.Name, through time.Time) error {
	if through.IsZero() {
		return nil
	}
	meta, err := s.Store.NewMeta("process:disputes", "disputes:"+string(name))
	if err != nil {
		return err
	}
	_, err = s.log.Inboxes.Execute(ctx, eventstore.InboxOwner, string(name), meta,
		func(state inbox.State) (inbox.Event, error) {
			return inbox.DecideSwept(state, inbox.Swept{At: meta.At, Processor: name, Through: through})
		})
	return err
}
