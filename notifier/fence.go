package notifier

import (
	"context"
	"errors"

	"payledger/notifier/delivery"
	"payledger/notifier/sender"
)

var errNewOwnerID = errors.New("notifier: the owner id changed after the message was composed")

// fence makes a message go out only while this node has the owner id under which it owns the work.
// The check is the last one before the first byte: a DNS look-up, a connection or a handshake may
// take longer than other nodes wait before they take over.
func fence(o delivery.Ownership, m sender.Message, owner string) sender.Message {
	fresh := m.Fresh
	m.Fresh = func() error {
		now, err := o.Holder()
		switch {
		case err != nil:
			return err
		case now != owner:
			return errNewOwnerID
		case fresh != nil:
			return fresh()
		}
		return nil
	}
	return m
}

// send composes a message and sends it. If Fresh fails before the first byte, send composes the
// message again.
func (n *Notifier) send(ctx, cut context.Context, compose func(context.Context) (sender.Message, error)) (delivery.Attempt, error) {
	for {
		owner, err := n.ownership.Holder()
		if err != nil {
			return delivery.Attempt{}, err
		}
		m, err := compose(ctx)
		if err != nil {
			return delivery.Attempt{}, err
		}
		a, err := n.sender.Attempt(cut, fence(n.ownership, m, owner))
		if !errors.Is(err, sender.ErrNotSent) || ctx.Err() != nil || cut.Err() != nil {
			return a, err
		}
	}
}

// Settle returns when this node will send no request that was composed before an already applied
// change of an endpoint, secret or person.
func (n *Notifier) Settle() { n.sender.Settle() }
