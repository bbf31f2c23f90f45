package nodes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"payledger/eventstore/jetapi"
)

// A call is a request to one node, and an answer in pieces. Neither is stored. The messages:
//
//	caller ── request ──────────────► callRoot+node          reply: the caller's inbox
//	caller ◄── taken ──────────────── node                   reply: the node's inbox of this call
//	caller ── go, and later the ────► the node's inbox       the node does nothing before go: a caller that
//	          number of pieces read                          gave up waiting for taken can ask another node
//	caller ◄── piece 1, piece 2, … ── node                   callWindow pieces ahead of the caller, at most
//	caller ◄── end ────────────────── node
//
// A node that works on a call says so every callPulse. So a caller knows within callSilence that
// the node is gone. The server answers such a sign with "no responders" if nobody reads it any
// more. So a node knows that the caller is gone.
const (
	callRoot   = "payledger.call."
	callHeader = "Payledger-Call"

	callTaken = "taken"
	callBusy  = "busy"
	callPiece = "piece" // and its number
	callAlive = "alive"
	callEnd   = "end"
	callCut   = "cut" // the node broke the answer off

	goOn   = "go"
	goAway = "away" // the caller reads no further
)

// MaxPiece is the largest piece of an answer in bytes, and MaxCalls the number of calls that a node
// works on at once.
const (
	MaxPiece = 64 << 10
	MaxCalls = 256
	// maxCallBytes bounds the size of the requests that a node works on at once, in bytes. One
	// request alone may be larger.
	maxCallBytes = 32 << 20
)

const (
	callWindow  = 4
	callTake    = 2 * time.Second // until a node has taken a call
	callPulse   = time.Second     // between two signs of a node that works on a call
	callSilence = 5 * time.Second // without any message of the node
	callPatient = 2 * time.Minute // for a caller that reads nothing: its own client may be slow
)

var (
	// ErrNotTaken means that a node did not take a call, and does nothing on account of it.
	ErrNotTaken = errors.New("the node did not take the call")
	// ErrCallCut means that an answer broke off. The node may have done all of the work.
	ErrCallCut = errors.New("the answer of the other node broke off")
)

// Answer is the answer to a call. One goroutine reads it.
type Answer struct {
	r      *Registry
	sub    *nats.Subscription
	to     string // the node's inbox
	pieces int    // that were read
	over   bool
}

// Call sends a request to a node. ErrNotTaken means that the node does nothing on account of it.
// Close the answer.
func (r *Registry) Call(ctx context.Context, node string, request []byte) (*Answer, error) {
	conn := r.API.Conn
	a := &Answer{r: r}
	var err error
	if a.sub, err = jetapi.Ask(conn, &nats.Msg{Subject: callRoot + node, Data: request}); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotTaken, err)
	}
	taking, cancel := context.WithTimeout(ctx, callTake)
	first, err := a.sub.NextMsgWithContext(taking)
	cancel()
	if err == nil && first.Header.Get(callHeader) != callTaken {
		err = fmt.Errorf("it answered %q", first.Header.Get(callHeader)) // busy
	}
	if err == nil {
		a.to = first.Reply
		err = conn.Publish(a.to, []byte(goOn))
	}
	if err != nil {
		_ = a.sub.Unsubscribe() // see Ask
		return nil, fmt.Errorf("%w: %w", ErrNotTaken, err)
	}
	return a, nil
}

// Next returns the next piece, io.EOF after the last one, or ErrCallCut.
func (a *Answer) Next(ctx context.Context) ([]byte, error) {
	for {
		quiet, cancel := context.WithTimeout(ctx, callSilence)
		m, err := a.sub.NextMsgWithContext(quiet)
		cancel()
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrCallCut, err)
		}
		switch m.Header.Get(callHeader) {
		case callAlive:
			continue
		case callPiece + strconv.Itoa(a.pieces+1):
			a.pieces++
			if a.pieces%(callWindow/2) == 0 {
				err = a.r.API.Conn.Publish(a.to, []byte(strconv.Itoa(a.pieces)))
			}
			return m.Data, err
		case callEnd + strconv.Itoa(a.pieces):
			a.over = true
			return nil, io.EOF
		case callCut:
			a.over = true
			return nil, fmt.Errorf("%w: %s", ErrCallCut, m.Data)
		default: // a piece was lost with the connection
			return nil, fmt.Errorf("%w: after piece %d", ErrCallCut, a.pieces)
		}
	}
}

// Close ends the call. The node works no further on it, unless it has ended.
func (a *Answer) Close() {
	_ = a.sub.Unsubscribe() // see Ask
	if !a.over {
		_ = a.r.API.Conn.Publish(a.to, []byte(goAway)) // without it the node waits callPatient long
	}
}

// Handle answers a request: it calls send with each piece of the answer, at most MaxPiece bytes
// each. An error breaks the answer off.
type Handle func(ctx context.Context, request []byte, send func(piece []byte) error) error

// AnswerCalls answers the calls to this node, MaxCalls at once, until stop is called. Without a
// valid lease it takes none. stop waits for the calls under way, and breaks them off when its
// context ends.
func (r *Registry) AnswerCalls(handle Handle) (stop func(context.Context), err error) {
	conn := r.API.Conn
	life, end := context.WithCancel(r.life)
	places := make(chan struct{}, MaxCalls)
	var mu sync.Mutex // of ended, so that no call begins after the wait
	var calls sync.WaitGroup
	var held atomic.Int64 // bytes of requests
	ended := false
	sub, err := conn.Subscribe(callRoot+r.Self.Node, func(m *nats.Msg) {
		mu.Lock()
		defer mu.Unlock()
		size := int64(len(m.Data))
		before := held.Add(size) - size
		select {
		case places <- struct{}{}:
			if !ended && (before == 0 || before+size <= maxCallBytes) && r.Valid() == nil {
				calls.Go(func() {
					defer func() { held.Add(-size); <-places }()
					r.answerCall(life, m, handle)
				})
				return
			}
			<-places
		default:
		}
		held.Add(-size)
		_ = conn.PublishMsg(part(m.Reply, callBusy, nil)) // without it the caller asks another node after callTake
	})
	if err == nil {
		err = conn.FlushTimeout(r.ReadTime) // from now on the servers know it
	}
	if err != nil {
		end()
		return nil, fmt.Errorf("nodes: %w", err)
	}
	return func(ctx context.Context) {
		_ = sub.Unsubscribe() // it fails only without a connection, and then there is no subscription
		mu.Lock()
		ended = true
		mu.Unlock()
		defer context.AfterFunc(ctx, end)()
		calls.Wait()
		end()
	}, nil
}

func part(to, kind string, data []byte) *nats.Msg {
	return &nats.Msg{Subject: to, Data: data, Header: nats.Header{callHeader: {kind}}}
}
