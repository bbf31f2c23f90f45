package listener

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"payledger/notifier/delivery"
)

const lane = "acct1.endpoint1"

var key = []byte("a key that is derived from the master key")

// wire connects the hubs of several nodes, and records their messages.
type wire struct {
	mu     sync.Mutex
	serves map[string]func(context.Context, []byte) []byte
	passed [][]byte
}

func (w *wire) Ask(ctx context.Context, topic string, data []byte, sent func()) ([]byte, error) {
	w.mu.Lock()
	w.passed = append(w.passed, data)
	answer := w.serves[topic]
	w.mu.Unlock()
	sent()
	if answer == nil {
		return nil, ErrNobody
	}
	got := make(chan []byte, 1)
	go func() { got <- answer(context.WithoutCancel(ctx), data) }()
	select {
	case data := <-got:
		return data, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (w *wire) AnswerTo(topic string, answer func(context.Context, []byte) []byte) (func(), error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.serves == nil {
		w.serves = map[string]func(context.Context, []byte) []byte{}
	}
	w.serves[topic] = answer
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.serves, topic)
	}, nil
}

// always begins every request.
func always() (func(), error) { return func() {}, nil }

// reader answers every request of a stream, by the hub of another node.
func reader(ctx context.Context, s *Stream, answers *Hub, a Answer) {
	for {
		e, err := s.Next(ctx)
		if err != nil {
			return
		}
		end, err := e.Begin()
		if err != nil {
			continue
		}
		end()
		_ = answers.Answer(ctx, lane, e.ID, a)
	}
}

// TestSend: the answer comes back, whichever of three nodes sends, streams and takes the answer.
// Between nodes nothing is readable.
func TestSend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		between := &wire{}
		var hubs []*Hub
		for range 3 {
			hubs = append(hubs, &Hub{Key: key, Peers: between})
		}
		for streaming := range hubs {
			for answering := range hubs {
				s, err := hubs[streaming].Open(t.Context(), lane)
				if err != nil {
					t.Fatal(err)
				}
				go reader(t.Context(), s, hubs[answering], Answer{Status: 299, Body: "thanks"})
				for sending := range hubs {
					if err := hubs[sending].Reading(t.Context(), lane); err != nil {
						t.Errorf("%d does not know that %d reads: %v", sending, streaming, err)
					}
					ended := false
					got, err := hubs[sending].Send(t.Context(), lane, Request{Body: "Ada Lovelace"}, func() (func(), error) { return func() { ended = true }, nil })
					if err != nil || got.Status != 299 || got.Body != "thanks" || !ended {
						t.Errorf("%d sends, %d streams, %d answers: %+v %v, ended %v", sending, streaming, answering, got, err, ended)
					}
				}
			}
		}
		for _, data := range between.passed {
			if bytes.Contains(data, []byte("Ada")) || bytes.Contains(data, []byte("thanks")) {
				t.Fatalf("readable between nodes: %q", data)
			}
		}
		hubs[1].Close(t.Context(), lane)
		for i, h := range hubs {
			if err := h.Reading(t.Context(), lane); !errors.Is(err, ErrNoReader) {
				t.Errorf("%d after the end: %v", i, err)
			}
		}
	})
}

// TestOutcomes checks that every end of a request without an answer has its own error, on this node
// and through another one.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	errStale := errors.New("stale")
	const hangs = "a reader that takes nothing"
	for name, c := range map[string]struct {
		reader func(ctx context.Context, h *Hub, s *Stream)
		begin  Begin
		want   error
	}{
		"nobody reads":       {nil, always, ErrNoReader},
		"the stream ends":    {func(ctx context.Context, _ *Hub, s *Stream) { _, _ = s.Next(ctx); s.Close() }, always, ErrCut},
		"another reader":     {func(ctx context.Context, h *Hub, s *Stream) { _, _ = s.Next(ctx); _, _ = h.Open(ctx, lane) }, always, ErrCut},
		"no answer":          {func(ctx context.Context, _ *Hub, s *Stream) { _, _ = s.Next(ctx) }, always, context.DeadlineExceeded},
		hangs:                {func(context.Context, *Hub, *Stream) {}, always, context.DeadlineExceeded},
		"not fresh any more": {func(ctx context.Context, h *Hub, s *Stream) { reader(ctx, s, h, Answer{Status: 200}) }, func() (func(), error) { return nil, errStale }, errStale},
	} {
		for where, elsewhere := range map[string]bool{"here": false, "there": true} {
			t.Run(name+" "+where, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					between := &wire{}
					h := &Hub{Key: key, Peers: between}
					sender := h
					if elsewhere {
						sender = &Hub{Key: key, Peers: between}
					}
					if c.reader != nil {
						s, err := h.Open(t.Context(), lane)
						if err != nil {
							t.Fatal(err)
						}
						go c.reader(t.Context(), h, s)
						defer func() { h.Close(context.Background(), lane) }()
					}
					ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
					defer cancel()
					want := c.want
					if elsewhere && name == hangs { // the other node does not wait for a request whose last check is over
						want = ErrNoReader
					}
					if _, err := sender.Send(ctx, lane, Request{}, c.begin); !errors.Is(err, want) {
						t.Errorf("%v, not %v", err, want)
					}
				})
			})
		}
	}
}

// TestAnswers: an answer counts once, in time, and only for its own request.
func TestAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &Hub{Key: key}
		if err := h.Answer(t.Context(), lane, "1", Answer{Status: 200}); !errors.Is(err, ErrUnknown) {
			t.Errorf("without a stream: %v", err)
		}
		s, err := h.Open(t.Context(), lane)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		got := make(chan Answer, 1)
		go func() {
			a, err := h.Send(t.Context(), lane, Request{Delivery: "d"}, always)
			if err != nil {
				t.Error(err)
			}
			got <- a
		}()
		e, err := s.Next(t.Context())
		if err != nil || e.Delivery != "d" || e.ID == "" {
			t.Fatalf("%+v %v", e, err)
		}
		if err := h.Answer(t.Context(), "acct2.endpoint1", e.ID, Answer{Status: 200}); !errors.Is(err, ErrUnknown) {
			t.Errorf("by another account: %v", err)
		}
		if err := h.Answer(t.Context(), lane, e.ID, Answer{Failure: delivery.FailureTimeout}); err != nil {
			t.Error(err)
		}
		if a := <-got; a.Failure != delivery.FailureTimeout {
			t.Errorf("%+v", a)
		}
		if err := h.Answer(t.Context(), lane, e.ID, Answer{Status: 200}); !errors.Is(err, ErrUnknown) {
			t.Errorf("a second answer: %v", err)
		}
	})
}

// TestForgedMessage: a message that is not sealed with the key of the ledger, or for another
// listener, is not answered.
func TestForgedMessage(t *testing.T) {
	t.Parallel()
	between := &wire{}
	h := &Hub{Key: key, Peers: between}
	s, err := h.Open(t.Context(), lane)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	forge := &Hub{Key: []byte("another key")}
	stranger, err := forge.seal(lane, message{Kind: kindLeave})
	if err != nil {
		t.Fatal(err)
	}
	other, err := h.seal("acct1.endpoint2", message{Kind: kindLeave})
	if err != nil {
		t.Fatal(err)
	}
	for _, data := range [][]byte{stranger, other, []byte(`{"kind":"leave"}`), nil} {
		if answer := s.fromAway(t.Context(), data); answer != nil {
			t.Errorf("%q is answered", data)
		}
	}
	if err := h.Reading(t.Context(), lane); err != nil {
		t.Errorf("a forged message ended the stream: %v", err)
	}
}

// TestSecret: the secret of a listener is like a signing secret, is its own, and depends on the
// master key.
func TestSecret(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, k := range []string{"a", "b"} {
		for _, l := range []string{lane, "acct1.endpoint2", "acct2.endpoint1"} {
			h := &Hub{Key: []byte(k)}
			text := h.Secret(l)
			if !strings.HasPrefix(text, "plsec_") || len(text) != len("plsec_")+43 || seen[text] || text != h.Secret(l) {
				t.Errorf("%s of %s: %s", l, k, text)
			}
			seen[text] = true
		}
	}
}

// TestSweeper: a listener is deleted when it had no reader for a minute, and not before; a reader
// that comes back counts anew. A listener of which nothing is known stays.
func TestSweeper(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		e := Endpoint{Account: "acct1", ID: "endpoint1"}
		unknown := Endpoint{Account: "acct1", ID: "unknown"}
		h := &Hub{Key: key, Peers: flaky{}}
		deleted := map[Endpoint]time.Duration{}
		var mu sync.Mutex
		s := &Sweeper{Hub: h, Logger: zerolog.Nop(), Endpoints: func() []Endpoint { return []Endpoint{e, unknown} }, Delete: func(_ context.Context, gone Endpoint) error {
			mu.Lock()
			defer mu.Unlock()
			if deleted[gone] == 0 {
				deleted[gone] = time.Since(began)
			}
			return nil
		}}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go s.Run(ctx)
		<-time.After(50 * time.Second)
		stream, err := h.Open(ctx, e.Lane())
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(10 * time.Minute)
		stream.Close()
		left := time.Since(began)
		<-time.After(Expiry + 2*sweepEvery)
		mu.Lock()
		defer mu.Unlock()
		if at := deleted[e]; at < left+Expiry-sweepEvery || at > left+Expiry+sweepEvery {
			t.Errorf("deleted %s after its reader left", at-left)
		}
		if len(deleted) != 1 {
			t.Errorf("deleted %v", deleted)
		}
	})
}

// flaky are peers that do not answer a question about the listener "unknown".
type flaky struct{}

func (flaky) Ask(_ context.Context, topic string, _ []byte, sent func()) ([]byte, error) {
	sent()
	if strings.HasSuffix(topic, "unknown") {
		return nil, errors.New("no connection")
	}
	return nil, ErrNobody
}

func (flaky) AnswerTo(string, func(context.Context, []byte) []byte) (func(), error) {
	return func() {}, nil
}
