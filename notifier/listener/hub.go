package listener

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"sync"

	"payledger/notifier/delivery"
)

// The reasons why a request has no answer; test with errors.Is.
var (
	ErrNoReader = errors.New("notifier: nobody reads the stream of the listener")
	ErrCut      = errors.New("notifier: the stream of the listener ended before the answer")
	// ErrUnknown means that no request with the id of an answer waits: it came too late, or twice.
	ErrUnknown = errors.New("notifier: no request waits for this answer")
)

// Request is a webhook for a reader.
type Request struct {
	ID       string            `json:"id"`                   // of this attempt; the answer names it
	Delivery string            `json:"deliveryId,omitempty"` // "": a test message
	Kind     string            `json:"eventType,omitempty"`
	Payment  string            `json:"paymentId,omitempty"`
	Attempt  int               `json:"attempt"`          // of the delivery, from 1
	Manual   bool              `json:"manual,omitempty"` // a person or a replay requested it
	Header   map[string]string `json:"headers"`
	Body     string            `json:"body"` // its exact bytes, which are UTF-8
}

// Answer is the program's answer to a request.
type Answer struct {
	Status  int              `json:"status,omitempty"`  // of HTTP; 0: none came
	Failure delivery.Failure `json:"failure,omitempty"` // the reason why none came
	Body    string           `json:"body,omitempty"`    // its first bytes
}

// Begin is called immediately before the first byte of a request. Its error stops the request. end
// is called after the write.
type Begin func() (end func(), err error)

// Hub has the streams that are read at this node.
type Hub struct {
	// Key is derived from the master key: the same on every node. It seals messages between nodes,
	// and makes listeners' secrets.
	Key   []byte
	Peers Peers // the other nodes; nil: this process is alone

	mu      sync.Mutex
	streams map[string]*Stream // by lane
}

// Send hands a request to the reader of a lane, and waits for the answer until ctx ends.
func (h *Hub) Send(ctx context.Context, lane string, r Request, begin Begin) (Answer, error) {
	var id [16]byte
	_, _ = rand.Read(id[:]) // it never fails
	r.ID = hex.EncodeToString(id[:])
	if s := h.here(lane); s != nil {
		return s.send(ctx, r, begin, nil)
	}
	return h.sendAway(ctx, lane, r, begin)
}

// Answer gives the answer to the request with an id. ErrUnknown means that no such request waits.
func (h *Hub) Answer(ctx context.Context, lane, id string, a Answer) error {
	if s := h.here(lane); s != nil {
		return s.answer(id, a)
	}
	err := h.tell(ctx, lane, message{Kind: kindAnswer, ID: id, Answer: &a})
	if errors.Is(err, ErrNoReader) {
		return ErrUnknown
	}
	return err
}

// Reading returns nil if somebody reads a lane, ErrNoReader if nobody does, and another error if
// that is not known.
func (h *Hub) Reading(ctx context.Context, lane string) error {
	if h.here(lane) != nil {
		return nil
	}
	return h.tell(ctx, lane, message{Kind: kindPing})
}

// Close ends the stream of a lane, wherever it is read.
func (h *Hub) Close(ctx context.Context, lane string) {
	if s := h.here(lane); s != nil {
		s.Close()
	}
	_ = h.tell(ctx, lane, message{Kind: kindLeave}) // an error means that no other node reads
}

func (h *Hub) here(lane string) *Stream {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.streams[lane]
}

// Open makes the caller the reader of a lane. The reader before it loses its stream.
func (h *Hub) Open(ctx context.Context, lane string) (*Stream, error) {
	h.Close(ctx, lane)
	s := &Stream{
		hub: h, lane: lane, next: make(chan *Exchange), closed: make(chan struct{}), waiting: map[string]*Exchange{},
		slots: make(chan struct{}, maxUnanswered),
	}
	h.mu.Lock()
	before := h.streams[lane]
	if h.streams == nil {
		h.streams = map[string]*Stream{}
	}
	h.streams[lane] = s
	h.mu.Unlock()
	if before != nil {
		before.Close()
	}
	if h.Peers == nil {
		return s, nil
	}
	if err := s.serveAway(h.Peers); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}
