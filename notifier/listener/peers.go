package listener

import (
	"cmp"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// ErrNobody is the error of Peers.Ask if no node serves the topic.
var ErrNobody = errors.New("notifier: no node serves the topic")

// Peers are the other nodes.
type Peers interface {
	// Ask sends a message to the node that serves a topic, calls sent when the message is on its
	// way, and waits for the answer.
	Ask(ctx context.Context, topic string, data []byte, sent func()) ([]byte, error)
	// AnswerTo answers the messages of a topic, each in a goroutine of its own, until stop is
	// called. stop may be called again.
	AnswerTo(topic string, answer func(ctx context.Context, data []byte) []byte) (stop func(), err error)
}

// requestTime bounds a request whose sender waits without a limit.
const requestTime = time.Minute

// takeTime bounds the wait of another node's request for the reader. The other node has made the
// last check: a request that waited would be written long after it.
const takeTime = 500 * time.Millisecond

const topic = "listener."

const tellTime = time.Second

const (
	kindRequest = "request"
	kindAnswer  = "answer"
	kindPing    = "ping"  // is the stream read?
	kindLeave   = "leave" // another reader takes its place, or the listener is deleted
)

// message is a message between nodes. The answer is a message, too.
type message struct {
	Kind    string        `json:"kind,omitempty"`
	ID      string        `json:"id,omitempty"`
	Within  time.Duration `json:"within,omitempty"` // time that the sender waits
	Request *Request      `json:"request,omitempty"`
	Answer  *Answer       `json:"answer,omitempty"`
	Fault   string        `json:"fault,omitempty"` // "": none
}

// faults has the errors of the faults in answers. Any other fault, faultCut for example, is ErrCut.
var faults = map[string]error{"": nil, "no reader": ErrNoReader, "unknown": ErrUnknown, faultTime: context.DeadlineExceeded}

const (
	faultTime = "time"
	faultCut  = "cut"
)

func faultOf(err error) string {
	if errors.Is(err, context.Canceled) {
		return faultTime
	}
	for fault, is := range faults {
		if errors.Is(err, is) {
			return fault
		}
	}
	return faultCut
}

func (m message) err() error {
	if err, known := faults[m.Fault]; known {
		return err
	}
	return ErrCut
}

// sendAway hands a request to the node that has the stream.
func (h *Hub) sendAway(ctx context.Context, lane string, r Request, begin Begin) (Answer, error) {
	if h.Peers == nil {
		return Answer{}, ErrNoReader
	}
	m := message{Kind: kindRequest, Request: &r}
	if until, limited := ctx.Deadline(); limited {
		m.Within = time.Until(until)
	}
	end, err := begin()
	if err != nil {
		return Answer{}, err
	}
	reply, err := h.ask(ctx, lane, m, end)
	switch {
	case errors.Is(err, ErrNobody):
		return Answer{}, ErrNoReader
	case err != nil && ctx.Err() == nil:
		return Answer{}, fmt.Errorf("%w: %w", ErrCut, err)
	case err != nil:
		return Answer{}, ctx.Err()
	case reply.Answer == nil:
		return Answer{}, reply.err()
	}
	return *reply.Answer, reply.err()
}

// tell sends a message that the other node answers at once. ErrNoReader means that no other node
// has the stream.
func (h *Hub) tell(ctx context.Context, lane string, m message) error {
	if h.Peers == nil {
		return ErrNoReader
	}
	ctx, cancel := context.WithTimeout(ctx, tellTime)
	defer cancel()
	reply, err := h.ask(ctx, lane, m, func() {})
	if errors.Is(err, ErrNobody) {
		return ErrNoReader
	}
	return cmp.Or(err, reply.err())
}

func (h *Hub) ask(ctx context.Context, lane string, m message, sent func()) (reply message, err error) {
	sealed, err := h.seal(lane, m)
	if err != nil {
		sent()
		return reply, err
	}
	answer, err := h.Peers.Ask(ctx, topic+lane, sealed, sent)
	if err != nil {
		return reply, err
	}
	err = h.open(lane, answer, &reply)
	return reply, err
}

func (s *Stream) fromAway(ctx context.Context, data []byte) []byte {
	var m message
	if err := s.hub.open(s.lane, data, &m); err != nil {
		return nil // not of a node of this ledger
	}
	var answer message
	switch m.Kind {
	case kindRequest:
		if m.Request == nil {
			return nil
		}
		ctx, cancel := context.WithTimeout(ctx, cmp.Or(m.Within, requestTime))
		defer cancel()
		late := time.NewTimer(takeTime)
		defer late.Stop()
		got, err := s.send(ctx, *m.Request, func() (func(), error) { return func() {}, nil }, late.C)
		answer = message{Answer: &got, Fault: faultOf(err)}
	case kindAnswer:
		if m.Answer == nil {
			return nil
		}
		answer = message{Fault: faultOf(s.answer(m.ID, *m.Answer))}
	case kindLeave:
		s.Close()
	}
	sealed, err := s.hub.seal(s.lane, answer)
	if err != nil {
		return nil
	}
	return sealed
}

func (h *Hub) box() (cipher.AEAD, error) {
	block, err := aes.NewCipher(derive(h.Key, "messages between nodes")[:32])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

func (h *Hub) seal(lane string, m message) ([]byte, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	box, err := h.box()
	if err != nil {
		return nil, err
	}
	return box.Seal(nil, nil, text, []byte(lane)), nil //nolint:gosec // the cipher makes the nonce
}

func (h *Hub) open(lane string, sealed []byte, into *message) error {
	box, err := h.box()
	if err != nil {
		return err
	}
	text, err := box.Open(nil, nil, sealed, []byte(lane))
	if err != nil {
		return fmt.Errorf("notifier: a message of another node: %w", err)
	}
	return json.Unmarshal(text, into)
}
