package external

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
)

// initSubject is the subject on which every init under way listens. The log has no stream for it.
const initSubject = "payledger.init"

// Presence shows other inits of the cluster that this one is under way.
type Presence struct {
	nc *nats.Conn
}

// Announce shows this init to others until Close.
func Announce(a Access) (*Presence, error) {
	nc, err := a.Connect(nats.Name("payledger init"), nats.NoEcho()) // Alone must not see its own subscription
	if err != nil {
		return nil, err
	}
	p := &Presence{nc}
	_, err = nc.Subscribe(initSubject, func(m *nats.Msg) { _ = m.Respond(nil) }) // the subscription alone is the sign
	if err == nil {
		err = nc.Flush()
	}
	if err == nil {
		err = p.permitted()
	}
	if err != nil {
		nc.Close()
		return nil, fmt.Errorf("NATS: subscription to %s: %w", initSubject, err)
	}
	return p, nil
}

// permitted returns an error if the server refused the subject to the user.
func (p *Presence) permitted() error {
	if err := p.nc.LastError(); errors.Is(err, nats.ErrPermissionViolation) {
		return fmt.Errorf("let the NATS user publish and subscribe to %s: %w", initSubject, err)
	}
	return nil
}

// Alone returns nil if no other init is under way.
func (p *Presence) Alone(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, surveyTimeout)
	defer cancel()
	_, err := p.nc.RequestWithContext(ctx, initSubject, nil)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return nil
	case p.permitted() != nil:
		return p.permitted()
	case err == nil, errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout):
		return errors.New("another init of this cluster is under way: wait until it ends, and run init again if it fails")
	default:
		return fmt.Errorf("NATS: request to %s: %w", initSubject, err)
	}
}

// Close ends the presence.
func (p *Presence) Close() { p.nc.Close() }
