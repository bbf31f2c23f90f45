package inbox

import (
	"errors"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
)

const (
	maxNotifications = 500                // of an inbox
	maxWait          = 7 * 24 * time.Hour // of a notification for its payment
)

// ErrFull means that an inbox has maxNotifications.
var ErrFull = errors.New("the inbox of the payment is full")

// Receive is the command to store a notification with a valid signature.
type Receive struct {
	At         time.Time
	Payload    processor.Notification
	Body       string // the fields of the protocol, without card data
	Additional *domain.Sealed
	Redacted   bool
	Listed     bool   // read from the processor's list; the notification was lost
	Unreadable string // why its dispute cannot be read
}

// DecideReceive stores a notification once.
func DecideReceive(s State, c Receive) (Event, error) {
	switch {
	case s.find(c.Payload.Processor, c.Payload.ID) >= 0:
		return nil, nil
	case len(s.Notifications) >= maxNotifications:
		return nil, domain.Unavailable(ErrFull)
	}
	return Received{At: c.At, Reference: c.Payload.Reference, Payload: c.Payload, Body: c.Body, Additional: c.Additional, Redacted: c.Redacted, Listed: c.Listed, Unreadable: c.Unreadable}, nil
}

// DecideApplied ends the waiting of an applied notification.
func DecideApplied(s State, e WasApplied) (Event, error) {
	if i := s.find(e.Processor, e.ID); i < 0 || s.Notifications[i].Outcome != Waiting {
		return nil, nil
	}
	return e, nil
}

// DecideRejected ends the waiting of a notification that cannot be true.
func DecideRejected(s State, e WasRejected) (Event, error) {
	if i := s.find(e.Processor, e.ID); i < 0 || s.Notifications[i].Outcome != Waiting {
		return nil, nil
	}
	return e, nil
}

// Stale reports whether a notification has waited for its payment for more than maxWait.
func (n Notification) Stale(now time.Time) bool { return n.ReceivedAt.Before(StaleBefore(now)) }

// StaleBefore returns the arrival time before which a notification is stale.
func StaleBefore(now time.Time) time.Time { return now.Add(-maxWait) }

const sweepStep = 10 * time.Minute

// DecideSwept records the progress of a sweep, in steps of sweepStep: a repeated part costs little.
// A recorded time in the future is replaced by an earlier one; none in the future is recorded.
func DecideSwept(s State, e Swept) (Event, error) {
	ahead := s.Through.After(e.At)
	if e.Through.After(e.At) || !ahead && e.Through.Sub(s.Through) < sweepStep {
		return nil, nil
	}
	return e, nil
}

// SweptBy returns the processor's time up to which its list was read; zero if never, or if that
// time is after now.
func (s State) SweptBy(now time.Time) time.Time {
	if s.Through.After(now) {
		return time.Time{}
	}
	return s.Through
}
