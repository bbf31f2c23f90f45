package external

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"payledger/eventstore/jetapi"
)

// Subjects on which the processes of a kind listen. The log has no stream for them.
const (
	initSubject = "payledger.init"
	nodeSubject = "payledger.node"
)

// Presence shows other processes that this one uses the ledger of the cluster.
type Presence struct {
	nc   *nats.Conn
	life context.Context
	end  func()
	read atomic.Pointer[func(context.Context) (uint64, error)] // see Reads
}

// Announce shows this init to others until Close.
func Announce(a Access) (*Presence, error) {
	// The subscription alone is the sign.
	return announce(a, "payledger init", initSubject, func(_ *Presence, m *nats.Msg) { _ = m.Respond(nil) })
}

func announce(a Access, name, subject string, answer func(*Presence, *nats.Msg)) (*Presence, error) {
	nc, err := a.Connect(nats.Name(name), nats.NoEcho(), nats.MaxReconnects(-1)) // a search must not see its own subscription
	if err != nil {
		return nil, err
	}
	p := &Presence{nc: nc}
	p.life, p.end = context.WithCancel(context.Background())
	_, err = nc.Subscribe(subject, func(m *nats.Msg) { answer(p, m) })
	if err == nil {
		err = nc.Flush()
	}
	if err == nil {
		err = permitted(nc, subject)
	}
	if err != nil {
		p.Close()
		return nil, fmt.Errorf("NATS: subscription to %s: %w", subject, err)
	}
	return p, nil
}

// Node is what a node says about itself.
type Node struct {
	ID      string   `json:"id"` // another one for each start of a node
	Address string   `json:"address"`
	Keys    []string `json:"keys"` // fingerprints of its master keys
	Read    uint64   `json:"read"` // newest generation of the master key that the node has read; only in a second answer
}

// Attend shows this node to rotations of the master key until Close. The node answers each request
// at once. If the request names a generation of the master key, the node answers again when it has
// read the stream of the secrets.
func Attend(a Access, n Node) (*Presence, error) {
	n.ID = rand.Text()
	return announce(a, "payledger node", nodeSubject, func(p *Presence, m *nats.Msg) {
		respond(m, n)
		if read := p.read.Load(); read != nil && len(m.Data) > 0 {
			go func() {
				later, err := n, error(nil)
				if later.Read, err = (*read)(p.life); err == nil {
					respond(m, later)
				}
			}()
		}
	})
}

// respond answers a request. A lost answer shows in the next request.
func respond(m *nats.Msg, n Node) {
	if says, err := json.Marshal(n); err == nil {
		_ = m.Respond(says)
	}
}

// Reads registers read. It reads the stream of the secrets, and returns the newest generation of
// the master key. From then on the process seals nothing for an earlier generation.
func (p *Presence) Reads(read func(context.Context) (uint64, error)) { p.read.Store(&read) }

// WithoutKey returns the addresses of the nodes that have answered and do not have a master key. It
// waits until no node has answered for a while. A node that is cut off, or starts later, is not
// seen.
func WithoutKey(ctx context.Context, a Access, fingerprint string, wait time.Duration) (addresses []string, err error) {
	return nodes(ctx, a, nil, wait, func(n Node) bool { return slices.Contains(n.Keys, fingerprint) })
}

// Behind returns the addresses of the nodes that have answered and have not read that a generation
// of the master key has begun. It waits until no node has answered for a while. A node that is cut
// off is not seen. A node that starts later reads the generation first.
func Behind(ctx context.Context, a Access, generation uint64, wait time.Duration) (addresses []string, err error) {
	request := strconv.AppendUint(nil, generation, 10)
	return nodes(ctx, a, request, wait, func(n Node) bool { return n.Read >= generation })
}

// nodes sends a request to all nodes. It returns the addresses of those that have given no good
// answer.
func nodes(ctx context.Context, a Access, request []byte, wait time.Duration, good func(Node) bool) (addresses []string, err error) {
	nc, err := a.Connect(nats.Name("payledger rotation"))
	if err != nil {
		return nil, err
	}
	defer nc.Close()
	bad := map[string]string{} // addresses by ID
	answers, err := jetapi.Ask(nc, &nats.Msg{Subject: nodeSubject, Data: request})
	for err == nil {
		var m *nats.Msg
		m, err = answers.NextMsg(wait)
		switch {
		case errors.Is(err, nats.ErrTimeout), errors.Is(err, nats.ErrNoResponders):
			if err = permitted(nc, nodeSubject); err == nil {
				return slices.Sorted(maps.Values(bad)), ctx.Err()
			}
			return nil, err
		case err != nil:
			continue
		}
		n := Node{Address: "of an older version"}
		_ = json.Unmarshal(m.Data, &n) // an older version says nothing
		if good(n) {
			delete(bad, n.ID)
		} else {
			bad[n.ID] = n.Address
		}
	}
	return nil, fmt.Errorf("NATS: request to %s: %w", nodeSubject, err)
}

// permitted returns an error if the server refused the subject to the user.
func permitted(nc *nats.Conn, subject string) error {
	if err := nc.LastError(); errors.Is(err, nats.ErrPermissionViolation) {
		return fmt.Errorf("let the NATS user publish and subscribe to %s: %w", subject, err)
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
	case permitted(p.nc, initSubject) != nil:
		return permitted(p.nc, initSubject)
	case err == nil, errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout):
		return errors.New("another init of this cluster is under way: wait until it ends, and run init again if it fails")
	default:
		return fmt.Errorf("NATS: request to %s: %w", initSubject, err)
	}
}

// Close ends the presence.
func (p *Presence) Close() {
	p.end()
	p.nc.Close()
}
