package notifier

import (
	"cmp"
	"time"

	"payledger/eventstore/due"
)

// handoverSlack is added to the time of two attempts: recording, and clocks that differ.
const handoverSlack = 10 * time.Second

// ownership tells whose turn it is to send a delivery. A process alone sends everything when it is due. Where several
// share a log, a delivery is sent by the one that planned it or tried it last; if that does not come to it, any other
// takes it over handover after it was due. Whoever is late by half of that takes it over as well, be it its own: so no
// two send it, unless one stands still for half of handover between taking and sending, or clocks differ by as much.
type ownership struct {
	processID string // this process; "" when it is alone
	shared    bool
	handover  time.Duration
}

func newOwnership(me string, shared bool, timeout time.Duration) ownership {
	if !shared {
		return ownership{}
	}
	return ownership{processID: me, shared: true, handover: 2*timeout + handoverSlack}
}

// mine tells whether this process planned the delivery, or tried it last, or took it over.
func (t ownership) mine(d Delivery) bool {
	return !t.shared || cmp.Or(d.Sender, d.Planner) == t.processID
}

// left is how long an open delivery waits until this process may send it; not positive is at once. It is never more than
// the delay that the delivery was to wait, or handover: the clock may have been set back since.
func (t ownership) wait(d Delivery, now time.Time) time.Duration {
	noted, since := d.tried(), d.since()
	switch {
	case !t.mine(d):
		if since.Equal(d.TakenAt) {
			noted = since
		}
		return due.Left(now, noted, since.Add(t.handover))
	case d.Status == Failed:
		return due.Left(now, noted, d.NextAt)
	}
	return 0
}

// awaitsFirst tells whether an open delivery waits for its first attempt, and for nothing else.
func (t ownership) awaitsFirst(d Delivery) bool { return t.mine(d) && d.Status != Failed }

// mustTakeOver tells whether an open delivery, whose turn it is at now, has to be taken over before it is sent.
func (t ownership) mustTakeOver(d Delivery, now time.Time) bool {
	return t.shared && (!t.mine(d) || now.Sub(d.since()) > t.handover/2)
}

// takenOver gives the delivery that this process has taken over at now.
func (t ownership) takenOver(d Delivery, now time.Time) Delivery {
	d.Schema, d.Sender, d.TakenAt = deliverySchema, t.processID, now.UTC().Truncate(time.Microsecond)
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
