package delivery

import (
	"cmp"
	"time"
)

// Nodes are the nodes on an event log (package nodes).
type Nodes interface {
	// Holder returns the owner id under which this node owns deliveries now and, while the node
	// must not send, the last id with an error. A node gets another owner id when it was cut off
	// from the other nodes.
	Holder() (string, error)
	// Gone reports whether an owner id owns nothing any more.
	Gone(id string) bool
	// Plans reports whether this node plans the deliveries of a command's events at once: it ran
	// the command, the node that ran it is gone, or this node stands in for it.
	Plans(command string) bool
}

// Ownership decides which node sends a delivery: its owner. When the owner id is gone, any node
// takes the delivery over, with compare-and-swap. No clock of another node decides.
type Ownership struct{ Nodes Nodes } // nil: there is no cluster

// Holder is Nodes.Holder.
func (o Ownership) Holder() (string, error) {
	if o.Nodes == nil {
		return "", nil
	}
	return o.Nodes.Holder()
}

// Owner returns the owner id that planned the delivery, tried it last, or took it over.
func (d Delivery) Owner() string { return cmp.Or(d.Sender, d.Planner) }

// IsMine reports whether this node owns the delivery.
func (o Ownership) IsMine(d Delivery) bool {
	if o.Nodes == nil {
		return true
	}
	me, _ := o.Nodes.Holder()
	return d.Owner() == me
}

// MayTake reports whether this node owns the delivery, or may take it over.
func (o Ownership) MayTake(d Delivery) bool { return o.IsMine(d) || o.Nodes.Gone(d.Owner()) }

// MayRun reports whether this node may do the work of an owner id: the id is its own or gone; "" is
// no id.
func (o Ownership) MayRun(owner string) bool {
	if o.Nodes == nil || owner == "" {
		return true
	}
	me, _ := o.Nodes.Holder()
	return owner == me || o.Nodes.Gone(owner)
}

// Plans is Nodes.Plans.
func (o Ownership) Plans(command string) bool { return o.Nodes == nil || o.Nodes.Plans(command) }

// WithOwner returns the delivery with a new owner since now.
func WithOwner(d Delivery, owner string, now time.Time) Delivery {
	d.Schema, d.Sender, d.TakenAt = Schema, owner, now.UTC().Truncate(time.Microsecond)
	return d
}
