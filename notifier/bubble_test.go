package notifier

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/notifier/delivery"
	"payledger/notifier/health"
	"payledger/notifier/payload"
	"payledger/notifier/sender"
	"payledger/notifier/signature"
)

// bubble is lanes, dispatcher and sender over a stream in memory and an HTTP server at the end of
// pipes, for tests in a synctest bubble: its time is fake. It can be stopped, or crash, and start
// again.
type bubble struct {
	t        testing.TB
	stream   *memory
	signing  account.SigningSecret
	secrets  []domain.SecretID             // all that ever were
	endpoint func(domain.EndpointID) error // nil: it takes webhooks; guarded by mu
	answer   func(call int, w http.ResponseWriter, r *http.Request)
	limits   limits
	nodes    delivery.Nodes // nil: it is alone
	locks    deliveryLocks
	ahead    time.Duration // how far the clock is ahead of the bubble's; guarded by mu

	mu    sync.Mutex
	calls []call

	lanes    *lanes
	notifier *Notifier
	stop     func()
	server   *http.Server
	dials    chan net.Conn
	hang     chan struct{} // connections wait for it; nil: they do not
	begun    int           // connections that were begun; guarded by mu
}

// call is one request as the receiver saw it.
type call struct {
	at    time.Time
	event string   // the delivery's name
	keys  []string // names of the secrets that its headers verify under, primary first
	valid []string // the secrets that were valid
}

// pipes is the listener's end.
type pipes struct {
	conns <-chan net.Conn
	ended <-chan struct{}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.ended:
		return nil, net.ErrClosed
	}
}
func (pipes) Close() error   { return nil }
func (pipes) Addr() net.Addr { return &net.TCPAddr{} }

func newBubble(t testing.TB) *bubble {
	return &bubble{
		t: t, stream: newMemory(), signing: account.SigningSecret{Secret: "secret-1"}, secrets: []domain.SecretID{"secret-1"}, limits: limits{laneQueue, laneWaiting, lanePage},
		endpoint: func(domain.EndpointID) error { return nil },
	}
}

func secretOf(name domain.SecretID) string { return "plsec_" + string(name) }

// compose returns a message for a delivery. Its content does not matter here.
func (b *bubble) compose(_ context.Context, d delivery.Delivery) (sender.Message, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.endpoint(d.Endpoint); err != nil {
		return sender.Message{}, err
	}
	m := sender.Message{URL: "http://93.184.216.34/" + d.Name(), Body: payload.Body{Head: payload.Envelope{EventType: d.Kind}, Rest: []byte(`{"payment":{}}`)}.SignedAt}
	m.Keys = []sender.Key{{Name: b.signing.Secret, Text: secretOf(b.signing.Secret)}}
	if previous, overlaps := b.signing.Overlap(time.Now()); overlaps {
		m.Keys = append(m.Keys, sender.Key{Name: previous.Secret, Text: secretOf(previous.Secret)})
	}
	return m, nil
}

// ServeHTTP notes the call with the secrets that its headers verify under, and answers.
func (b *bubble) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // cut
	}
	b.mu.Lock()
	c := call{at: time.Now(), event: r.URL.Path[1:], valid: []string{string(b.signing.Secret)}}
	if previous, overlaps := b.signing.Overlap(time.Now()); overlaps {
		c.valid = append(c.valid, string(previous.Secret))
	}
	for _, name := range []string{signature.HeaderPrimary, signature.HeaderSecondary} {
		header := http.Header{signature.HeaderPrimary: r.Header.Values(name)}
		for _, secret := range b.secrets {
			if signature.Verify(header, body, time.Now(), secretOf(secret)) == nil {
				c.keys = append(c.keys, string(secret))
			}
		}
	}
	b.calls = append(b.calls, c)
	n := 0
	for _, other := range b.calls {
		if other.event == c.event {
			n++
		}
	}
	b.mu.Unlock()
	b.answer(n, w, r)
}

// now is a clock that can be set.
func (b *bubble) now() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return time.Now().Round(0).Add(b.ahead)
}

// set sets the clock.
func (b *bubble) set(ahead time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ahead = ahead
}

// start starts all parts on the content of the stream.
func (b *bubble) start() {
	b.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	h := &health.Health{}
	n := &Notifier{
		Config: Config{Now: b.now, Logger: zerolog.Nop()}, stream: b.stream, ownership: delivery.Ownership{Nodes: b.nodes}, locks: &b.locks,
		health: h, tally: newTally(nil), retries: delivery.NewSchedule(delivery.DefaultRetryDelays()),
	}
	n.lanes = newLanes(shared{stream: b.stream, health: h, log: zerolog.Nop(), now: b.now, ownership: n.ownership})
	n.lanes.limits = b.limits
	if err := n.scanLanes(ctx); err != nil {
		b.t.Fatal(err)
	}
	b.lanes, b.notifier = n.lanes, n
	var taking sync.WaitGroup
	if b.nodes != nil {
		taking.Go(func() { n.watchOwners(ctx) })
	}
	b.dials = make(chan net.Conn)
	s := sender.New(sender.Config{Timeout: sender.DefaultTimeout, Now: b.now, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		b.mu.Lock()
		b.begun++
		b.mu.Unlock()
		if b.hang != nil {
			select {
			case <-b.hang:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		ours, theirs := net.Pipe()
		select {
		case b.dials <- theirs:
			return ours, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}})
	b.server = &http.Server{Handler: b}
	var serving sync.WaitGroup
	ended := make(chan struct{})
	serving.Go(func() { _ = b.server.Serve(pipes{b.dials, ended}) })
	n.sender = s
	d := &dispatcher{Notifier: n, compose: b.compose, cut: ctx}
	b.lanes.run(ctx, d.deliver)
	b.stop = func() {
		cancel()
		taking.Wait()
		b.lanes.wait()
		s.Close()
		close(ended)
		if err := b.server.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			b.t.Error(err)
		}
		serving.Wait()
	}
}

// plan plans a delivery of an event to an endpoint.
func (b *bubble) plan(event string, endpoint domain.EndpointID) string {
	b.t.Helper()
	d := b.put(event, endpoint)
	b.lanes.of(d.Lane()).offer(d)
	return d.Name()
}

// put makes a delivery durable without a message to any part.
func (b *bubble) put(event string, endpoint domain.EndpointID) plannedDelivery {
	b.t.Helper()
	d := goldenDelivery
	d.EventID, d.Endpoint, d.PlannedAt = event, endpoint, b.now().UTC()
	if b.nodes != nil {
		d.Planner, _ = b.nodes.Holder()
	}
	body, err := d.Encode()
	if err != nil {
		b.t.Fatal(err)
	}
	at, err := b.stream.Put(context.Background(), d.Name(), 0, body, true)
	if err != nil {
		b.t.Fatal(err)
	}
	return plannedDelivery{Delivery: d, at: at}
}

// rotate adds a new secret to the account. The previous secret stays valid for overlap.
func (b *bubble) rotate(overlap time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.signing = account.SigningSecret{
		Secret:   domain.SecretID(fmt.Sprintf("secret-%d", len(b.secrets)+1)),
		Previous: &account.PreviousSecret{Secret: b.signing.Secret, ValidUntil: time.Now().Add(overlap)},
	}
	b.secrets = append(b.secrets, b.signing.Secret)
}

func (b *bubble) connecting() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.begun
}

// callsTo returns the times of a delivery's attempts.
func (b *bubble) callsTo(name string) (at []time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.calls {
		if c.event == name {
			at = append(at, c.at)
		}
	}
	return at
}

func status(code int) func(int, http.ResponseWriter, *http.Request) {
	return func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}
