package nodes

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// callee is this node's end of one call.
type callee struct {
	r     *Registry
	to    string             // the caller's inbox
	gone  <-chan struct{}    // closed when the caller went away
	stop  context.CancelFunc // closes gone
	mu    sync.Mutex
	sent  int           // pieces
	read  int           // of them by the caller
	moved chan struct{} // closed and replaced when read grows
	began chan struct{} // closed when the caller says go
	once  sync.Once
}

// answerCall takes a call, and works on it when the caller says so.
func (r *Registry) answerCall(ctx context.Context, m *nats.Msg, handle Handle) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := &callee{r: r, to: m.Reply, gone: ctx.Done(), stop: cancel, moved: make(chan struct{}), began: make(chan struct{})}
	conn := r.API.Conn
	inbox := conn.NewInbox()
	sub, err := conn.Subscribe(inbox, c.hear)
	if err != nil {
		return // without a connection the caller asks another node
	}
	defer sub.Unsubscribe() //nolint:errcheck // it fails only without a connection, and then there is no subscription
	taken := part(m.Reply, callTaken, nil)
	taken.Reply = inbox
	if conn.PublishMsg(taken) != nil || !c.goes(ctx) {
		return
	}
	done := make(chan error, 1)
	go func() { done <- r.safely(ctx, m.Data, handle, c.send) }()
	pulse := time.NewTicker(callPulse)
	defer pulse.Stop()
	for {
		select {
		case <-pulse.C:
			alive := part(c.to, callAlive, nil)
			alive.Reply = inbox        // for "no responders"
			_ = conn.PublishMsg(alive) // without a connection the caller finds the answer cut
		case err := <-done:
			last := part(c.to, callEnd+strconv.Itoa(c.sent), nil)
			if err != nil {
				last = part(c.to, callCut, []byte(err.Error()))
			}
			_ = conn.PublishMsg(last)
			return
		}
	}
}

func (r *Registry) safely(ctx context.Context, request []byte, handle Handle, send func([]byte) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			r.Logger.Error().Str("panic", fmt.Sprint(p)).Str("stack", string(debug.Stack())).Msg("a call of another node failed")
			err = errors.New("nodes: panic")
		}
	}()
	return handle(ctx, request, send)
}

// goes waits until the caller says go, as long as the caller waits for taken.
func (c *callee) goes(ctx context.Context) bool {
	patience := time.NewTimer(callTake + callSilence)
	defer patience.Stop()
	select {
	case <-c.began:
		return true
	case <-patience.C:
	case <-ctx.Done():
	}
	return false
}

// noResponders is the status of the server's answer to a message that nobody reads.
const noResponders = "503"

func (c *callee) hear(m *nats.Msg) {
	switch text := string(m.Data); text {
	case "":
		if m.Header.Get("Status") == noResponders {
			c.stop()
		}
	case goOn:
		c.once.Do(func() { close(c.began) })
	case goAway:
		c.stop()
	default:
		n, err := strconv.Atoi(text)
		c.mu.Lock()
		defer c.mu.Unlock()
		if err == nil && n > c.read {
			c.read = n
			close(c.moved)
			c.moved = make(chan struct{})
		}
	}
}

var errSlowCaller = errors.New("nodes: the caller reads nothing of the answer")

// send sends one piece. It waits while the caller has callWindow pieces to read.
func (c *callee) send(piece []byte) error {
	if len(piece) > MaxPiece {
		return fmt.Errorf("nodes: a piece of %d bytes", len(piece))
	}
	patience := time.NewTimer(callPatient)
	defer patience.Stop()
	for {
		c.mu.Lock()
		room, moved := c.sent-c.read < callWindow, c.moved
		c.mu.Unlock()
		if room {
			break
		}
		select {
		case <-moved:
		case <-patience.C:
			return errSlowCaller
		case <-c.gone:
			return context.Canceled
		}
	}
	c.sent++
	return c.r.API.Conn.PublishMsg(part(c.to, callPiece+strconv.Itoa(c.sent), piece))
}
