package delivery

import (
	"cmp"
	"time"

	"payledger/eventstore/due"
)

// Nodes are the processes that share a log (package nodes).
type Nodes interface {
	// Holder returns the name under which this process owns deliveries now, or an error, with the last name, while it must send nothing. A
	// process gets another name when it was cut off from the other ones.
	Holder() (string, error)
	// Gone reports whether a name owns nothing any more.
	Gone(holder string) bool
}

// Ownership decides which process sends a delivery. A process that is alone sends every delivery. If several processes share a
// log, the name that planned a delivery, or tried it last, owns it. When the name is gone, any process takes the delivery over, with
// compare-and-swap. No clock of another process decides.
type Ownership struct{ Nodes Nodes } // nil: this process is alone

// Holder is Nodes.Holder.
func (t Ownership) Holder() (string, error) {
	if t.Nodes == nil {
		return "", nil
	}
	return t.Nodes.Holder()
}

// Owner returns the name that planned the delivery, tried it last, or took it over.
func (d Delivery) Owner() string { return cmp.Or(d.Sender, d.Planner) }

// IsMine reports whether this process owns the delivery.
func (t Ownership) IsMine(d Delivery) bool {
	if t.Nodes == nil {
		return true
	}
	me, _ := t.Nodes.Holder()
	return d.Owner() == me
}

// MayTake reports whether this process owns the delivery, or may take it over.
func (t Ownership) MayTake(d Delivery) bool { return t.IsMine(d) || t.Nodes.Gone(d.Owner()) }

// Wait returns how long this process waits before it may send an open delivery; zero or less is now. The wait is at most
// the delivery's delay, so a clock that was set back prolongs no wait.
func (t Ownership) Wait(d Delivery, now time.Time) time.Duration {
	if d.Status == Failed {
		return due.Left(now, d.LastTried(), d.NextAt)
	}
	return 0
}

// TakeOver returns the delivery with a new owner since now.
func TakeOver(d Delivery, holder string, now time.Time) Delivery {
	d.Schema, d.Sender, d.TakenAt = Schema, holder, now.UTC().Truncate(time.Microsecond)
	return d
}
