package delivery

import (
	"cmp"
	"time"

	"payledger/eventstore/due"
)

// handoverSlack is the part of Handover for recording an outcome and for clocks that differ.
const handoverSlack = 10 * time.Second

// Ownership decides which process sends a delivery. A process that is alone sends every delivery when it is due. If
// several processes share a log, the process that planned a delivery, or tried it last, owns it. If the owner does not
// send it, any other process takes it over after Handover. An owner that is late by more than half of Handover takes its own
// delivery over before it sends. So two processes send the same attempt only if one stands still for half of Handover
// between taking over and sending, or if their clocks differ by as much.
type Ownership struct {
	ProcessID string // this process; "" when it is alone
	Shared    bool
	Handover  time.Duration
}

// NewOwnership returns the ownership for the process me. If no other process shares the log, me owns every delivery.
func NewOwnership(me string, shared bool, timeout time.Duration) Ownership {
	if !shared {
		return Ownership{}
	}
	return Ownership{ProcessID: me, Shared: true, Handover: 2*timeout + handoverSlack}
}

// IsMine reports whether this process planned the delivery, tried it last, or took it over.
func (t Ownership) IsMine(d Delivery) bool {
	return !t.Shared || cmp.Or(d.Sender, d.Planner) == t.ProcessID
}

// Wait returns how long this process waits before it may send an open delivery; zero or less is now. The wait is at most
// the delivery's delay, plus Handover for another process's delivery, so a clock that was set back prolongs no wait.
func (t Ownership) Wait(d Delivery, now time.Time) time.Duration {
	noted, since := d.LastTried(), d.since()
	switch {
	case !t.IsMine(d):
		if since.Equal(d.TakenAt) {
			noted = since
		}
		return due.Left(now, noted, since.Add(t.Handover))
	case d.Status == Failed:
		return due.Left(now, noted, d.NextAt)
	}
	return 0
}

// AwaitsFirst reports whether this process owns an open delivery that has had no automatic attempt.
func (t Ownership) AwaitsFirst(d Delivery) bool { return t.IsMine(d) && d.Status != Failed }

// MustTakeOver reports whether this process must call TakeOver before it sends an open delivery that is due.
func (t Ownership) MustTakeOver(d Delivery, now time.Time) bool {
	return t.Shared && (!t.IsMine(d) || now.Sub(d.since()) > t.Handover/2)
}

// TakeOver returns the delivery with this process as its owner since now.
func (t Ownership) TakeOver(d Delivery, now time.Time) Delivery {
	d.Schema, d.Sender, d.TakenAt = Schema, t.ProcessID, now.UTC().Truncate(time.Microsecond)
	return d
}

// since returns when an open delivery was due or, if a process took it over later, that time.
func (d Delivery) since() time.Time {
	due := d.PlannedAt
	if d.Status == Failed {
		due = d.NextAt
	}
	if d.TakenAt.After(due) {
		return d.TakenAt
	}
	return due
}
