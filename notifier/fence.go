package notifier

import (
	"context"
	"errors"

	"payledger/notifier/delivery"
	"payledger/notifier/sender"
)

// errHolder means that this process may not send any more what it may have sent before.
var errHolder = errors.New("notifier: the deliveries of this process may have another owner by now")

// fence makes a message go out only while this process has the name under which it owns the work. The check is the last one before the
// first byte: a look-up, a connection or a handshake may take longer than the other processes wait.
func fence(o delivery.Ownership, m sender.Message, holder string) sender.Message {
	fresh := m.Fresh
	m.Fresh = func() error {
		now, err := o.Holder()
		switch {
		case err != nil:
			return err
		case now != holder:
			return errHolder
		case fresh != nil:
			return fresh()
		}
		return nil
	}
	return m
}

// send composes a message and sends it. If the message is not fresh any more at its first byte, send composes it again.
func (n *Notifier) send(ctx, cut context.Context, compose func(context.Context) (sender.Message, error)) (delivery.Attempt, error) {
	for {
		holder, err := n.ownership.Holder()
		if err != nil {
			return delivery.Attempt{}, err
		}
		m, err := compose(ctx)
		if err != nil {
			return delivery.Attempt{}, err
		}
		a, err := n.sender.Attempt(cut, fence(n.ownership, m, holder))
		if !errors.Is(err, sender.ErrNotSent) || ctx.Err() != nil || cut.Err() != nil {
			return a, err
		}
	}
}

// Settle returns when no request will be sent that was composed before a change which this process has applied before the call: of an
// endpoint, of a signing secret, of a person's data.
func (n *Notifier) Settle() { n.sender.Settle() }
