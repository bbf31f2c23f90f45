package delivery

import (
	"cmp"
	"time"

	"payledger/eventstore/due"
)

// handoverSlack is added to the time of two attempts: recording, and clocks that differ.
const handoverSlack = 10 * time.Second

// Ownership tells whose turn it is to send a delivery. A process alone sends everything when it is due. Where several
// share a log, a delivery is sent by the one that planned it or tried it last; if that does not come to it, any other
// takes it over handover after it was due. Whoever is late by half of that takes it over as well, be it its own: so no
// two send it, unless one stands still for half of handover between taking and sending, or clocks differ by as much.
type Ownership struct {
	ProcessID string // this process; "" when it is alone
	Shared    bool
	Handover  time.Duration
}

// NewOwnership returns the ownership of a process. If no other process shares the log, it owns every delivery.
func NewOwnership(me string, shared bool, timeout time.Duration) Ownership {
	if !shared {
		return Ownership{}
	}
	return Ownership{ProcessID: me, Shared: true, Handover: 2*timeout + handoverSlack}
}

// IsMine tells whether this process planned the delivery, or tried it last, or took it over.
func (t Ownership) IsMine(d Delivery) bool {
	return !t.Shared || cmp.Or(d.Sender, d.Planner) == t.ProcessID
}

// left is how long an open delivery waits until this process may send it; not positive is at once. It is never more than
// the delay that the delivery was to wait, or handover: the clock may have been set back since.
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

// AwaitsFirst tells whether an open delivery waits for its first attempt, and for nothing else.
func (t Ownership) AwaitsFirst(d Delivery) bool { return t.IsMine(d) && d.Status != Failed }

// MustTakeOver tells whether an open delivery, whose turn it is at now, has to be taken over before it is sent.
func (t Ownership) MustTakeOver(d Delivery, now time.Time) bool {
	return t.Shared && (!t.IsMine(d) || now.Sub(d.since()) > t.Handover/2)
}

// TakeOver gives the delivery that this process has taken over at now.
func (t Ownership) TakeOver(d Delivery, now time.Time) Delivery {
	d.Schema, d.Sender, d.TakenAt = Schema, t.ProcessID, now.UTC().Truncate(time.Microsecond)
	return d
}

// since is when an open delivery was due, or was taken over after that.
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
