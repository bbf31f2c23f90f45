package external

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
)

// Subjects on which the processes of a kind listen. The log has no stream for them.
const (
	initSubject = "payledger.init"
	nodeSubject = "payledger.node"
)

// Presence shows other processes that this one uses the ledger of the cluster.
type Presence struct {
	nc *nats.Conn
}

// Announce shows this init to others until Close.
func Announce(a Access) (*Presence, error) { return announce(a, "payledger init", initSubject, nil) }

func announce(a Access, name, subject string, says []byte) (*Presence, error) {
	nc, err := a.Connect(nats.Name(name), nats.NoEcho(), nats.MaxReconnects(-1)) // a search must not see its own subscription
	if err != nil {
		return nil, err
	}
	p := &Presence{nc}
	_, err = nc.Subscribe(subject, func(m *nats.Msg) { _ = m.Respond(says) }) // of an init the subscription alone is the sign
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

// Node is what a node says about itself.
type Node struct {
	Address string   `json:"address"`
	Keys    []string `json:"keys"` // fingerprints of its master keys
}

// Attend shows this node to rotations of the master key until Close.
func Attend(a Access, n Node) (*Presence, error) {
	says, err := json.Marshal(n)
	if err != nil {
		return nil, err
	}
	return announce(a, "payledger node", nodeSubject, says)
}

// WithoutKey returns the addresses of the nodes that have answered and do not have a master key. It waits until no node has answered for a
// while. A node that is cut off, or starts later, is not seen.
func WithoutKey(ctx context.Context, a Access, fingerprint string, wait time.Duration) (addresses []string, err error) {
	nc, err := a.Connect(nats.Name("payledger rotation"))
	if err != nil {
		return nil, err
	}
	defer nc.Close()
	inbox := nc.NewInbox()
	answers, err := nc.SubscribeSync(inbox)
	if err == nil {
		err = nc.PublishRequest(nodeSubject, inbox, nil)
	}
	for err == nil {
		var m *nats.Msg
		m, err = answers.NextMsg(wait)
		switch {
		case errors.Is(err, nats.ErrTimeout), err == nil && m.Header.Get("Status") == "503":
			return addresses, ctx.Err()
		case err != nil:
			continue
		}
		n := Node{Address: "of an older version"}
		_ = json.Unmarshal(m.Data, &n) // an older version says nothing
		if !slices.Contains(n.Keys, fingerprint) {
			addresses = append(addresses, n.Address)
		}
	}
	return nil, fmt.Errorf("NATS: request to %s: %w", nodeSubject, err)
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
