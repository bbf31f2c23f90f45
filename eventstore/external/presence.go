package external

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
)

// Subjects on which the processes of a kind listen. The log has no stream for them.
const (
	initSubject   = "payledger.init"
	nodeSubject   = "payledger.node"
	rotateSubject = "payledger.rotation"
)

// Presence shows other processes that this one uses the ledger of the cluster.
type Presence struct {
	nc *nats.Conn
}

// Announce shows this init to others until Close.
func Announce(a Access) (*Presence, error) { return announce(a, "payledger init", initSubject) }

func announce(a Access, name, subject string) (*Presence, error) {
	nc, err := a.Connect(nats.Name(name), nats.NoEcho(), nats.MaxReconnects(-1)) // a search must not see its own subscription
	if err != nil {
		return nil, err
	}
	p := &Presence{nc}
	_, err = nc.Subscribe(subject, func(m *nats.Msg) { _ = m.Respond(nil) }) // the subscription alone is the sign
	if err == nil {
		err = nc.Flush()
	}
	if err == nil {
		err = p.permitted(subject)
	}
	if err != nil {
		nc.Close()
		return nil, fmt.Errorf("NATS: subscription to %s: %w", subject, err)
	}
	return p, nil
}

// Attend shows this node to others until Close. It refuses a cluster whose master key is being rotated.
func Attend(ctx context.Context, a Access) (*Presence, error) {
	return seek(ctx, a, "payledger node", nodeSubject, rotateSubject, "the master key of this cluster is being rotated: wait until the rotation ends, and start again with the new master key")
}

// Rotate shows this rotation of the master key to others until Close. It refuses a cluster with a running node.
func Rotate(ctx context.Context, a Access) (*Presence, error) {
	p, err := seek(ctx, a, "payledger rotation", rotateSubject, nodeSubject, "a node of this cluster is running: stop every node, and rotate the master key then")
	if err == nil {
		if err = p.none(ctx, rotateSubject, "another rotation of the master key is under way: wait until it ends"); err != nil {
			p.Close()
			return nil, err
		}
	}
	return p, err
}

// seek announces this process, and then searches for processes that it must not run beside: of two that start together, one finds the other.
func seek(ctx context.Context, a Access, name, own, other, found string) (*Presence, error) {
	p, err := announce(a, name, own)
	if err != nil {
		return nil, err
	}
	if err := p.none(ctx, other, found); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// permitted returns an error if the server refused the subject to the user.
func (p *Presence) permitted(subject string) error {
	if err := p.nc.LastError(); errors.Is(err, nats.ErrPermissionViolation) {
		return fmt.Errorf("let the NATS user publish and subscribe to %s: %w", subject, err)
	}
	return nil
}

// Alone returns nil if no other init is under way.
func (p *Presence) Alone(ctx context.Context) error {
	return p.none(ctx, initSubject, "another init of this cluster is under way: wait until it ends, and run init again if it fails")
}

// none returns nil if no other process listens on a subject.
func (p *Presence) none(ctx context.Context, subject, found string) error {
	ctx, cancel := context.WithTimeout(ctx, surveyTimeout)
	defer cancel()
	_, err := p.nc.RequestWithContext(ctx, subject, nil)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return nil
	case p.permitted(subject) != nil:
		return p.permitted(subject)
	case err == nil, errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout):
		return errors.New(found)
	default:
		return fmt.Errorf("NATS: request to %s: %w", subject, err)
	}
}

// Close ends the presence.
func (p *Presence) Close() { p.nc.Close() }
