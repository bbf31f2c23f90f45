package inbox

import (
	"errors"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
)

const (
	// maxNotifications bounds an inbox.
	maxNotifications = 500
	// maxWait is how long a notification waits for its payment.
	maxWait = 7 * 24 * time.Hour
)

// ErrFull means that an inbox takes no more.
var ErrFull = errors.New("the inbox of the payment is full")

// Receive brings a notification whose signature was checked.
type Receive struct {
	At         time.Time
	Payload    processor.Notification
	Body       string // what the protocol names, without card data
	Additional *domain.Sealed
	Redacted   bool
	Listed     bool   // by asking
	Unreadable string // why the dispute that it tells of cannot be read
}

// DecideReceive keeps a notification, once.
func DecideReceive(s State, c Receive) (Event, error) {
	switch {
	case s.find(c.Payload.Processor, c.Payload.ID) >= 0:
		return nil, nil
	case len(s.Notifications) >= maxNotifications:
		return nil, domain.Unavailable(ErrFull)
	}
	return Received{At: c.At, Reference: c.Payload.Reference, Payload: c.Payload, Body: c.Body, Additional: c.Additional, Redacted: c.Redacted, Listed: c.Listed, Unreadable: c.Unreadable}, nil
}

// DecideApplied settles a notification that waits.
func DecideApplied(s State, e WasApplied) (Event, error) {
	if i := s.find(e.Processor, e.ID); i < 0 || s.Notifications[i].Outcome != Waiting {
		return nil, nil
	}
	return e, nil
}

// DecideRejected settles a notification that waits and cannot be true.
func DecideRejected(s State, e WasRejected) (Event, error) {
	if i := s.find(e.Processor, e.ID); i < 0 || s.Notifications[i].Outcome != Waiting {
		return nil, nil
	}
	return e, nil
}

// Stale reports whether a notification has waited for its payment long enough.
func (n Notification) Stale(now time.Time) bool { return n.ReceivedAt.Before(StaleBefore(now)) }

// StaleBefore is when that began for what has waited long enough now.
func StaleBefore(now time.Time) time.Time { return now.Add(-maxWait) }

// sweepStep is how far a sweep must have come before it is worth an event.
const sweepStep = 10 * time.Minute

// DecideSwept records how far a processor was looked through: now and then, as a sweep that begins earlier than it
// need costs little. It goes back from a time that has not come yet, and never to one.
func DecideSwept(s State, e Swept) (Event, error) {
	ahead := s.Through.After(e.At)
	if e.Through.After(e.At) || !ahead && e.Through.Sub(s.Through) < sweepStep {
		return nil, nil
	}
	return e, nil
}

// SweptBy tells how far a processor was looked through at a time; the zero time: not at all, or to one that had not
// come yet, which tells nothing.
func (s State) SweptBy(now time.Time) time.Time {
	if s.Through.After(now) {
		return time.Time{}
	}
	return s.Through
}
