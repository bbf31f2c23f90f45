package main

import (
	"context"
	"io"
	"net"
	"sync"
	"time"
)

type link struct {
	listener net.Listener
	end      context.CancelFunc // closes the connections

	mu      sync.Mutex
	changed *sync.Cond    // by hold and close
	target  string        // address; "" while it is unknown
	held    [2]bool       // by way: the link carries no bytes that way
	delay   time.Duration // of each piece of bytes
	closed  bool
}

type way int

const (
	there way = iota // from the node that connects
	back             // to the node that connects
)

func newLink(ctx context.Context, address string) (*link, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address+":0")
	if err != nil {
		return nil, err
	}
	open, end := context.WithCancel(ctx)
	l := &link{listener: listener, end: end}
	l.changed = sync.NewCond(&l.mu)
	go l.accept(open)
	return l, nil
}

func (l *link) address() string { return l.listener.Addr().String() }

func (l *link) lead(target string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.target = target
}

// cut holds every byte from now on, both ways, and heal lets the held bytes go on.
func (l *link) cut(cut bool) {
	l.hold(there, cut)
	l.hold(back, cut)
}

// hold holds every byte that goes one way from now on, or lets the held bytes go on.
func (l *link) hold(w way, held bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held[w] = held
	l.changed.Broadcast()
}

// slow delays every piece of at most 64 KiB that a connection carries, both ways.
func (l *link) slow(delay time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delay = delay
}

func (l *link) close() {
	l.listener.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.end()
	l.changed.Broadcast()
}

// pass returns the address of the other node as soon as the link carries bytes that way or is
// closed.
func (l *link) pass(w way) (target string, closed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.held[w] && !l.closed {
		l.changed.Wait()
	}
	return l.target, l.closed
}

func (l *link) accept(open context.Context) {
	for {
		near, err := l.listener.Accept()
		if err != nil {
			return
		}
		go l.join(open, near)
	}
}

// closeWith closes the connection when ctx ends, or when the caller calls the result.
func closeWith(ctx context.Context, conn net.Conn) (closed func()) {
	unbind := context.AfterFunc(ctx, func() { conn.Close() })
	return func() { unbind(); conn.Close() }
}

// join connects an accepted connection with the other node, and carries bytes both ways until one
// side closes.
func (l *link) join(open context.Context, near net.Conn) {
	defer closeWith(open, near)()
	target, closed := l.pass(there)
	if closed || target == "" {
		return
	}
	far, err := (&net.Dialer{}).DialContext(open, "tcp", target)
	if err != nil {
		return
	}
	defer closeWith(open, far)()
	carry := func(to, from net.Conn, w way) {
		l.carry(to, from, w)
		near.Close()
		far.Close()
	}
	var carrying sync.WaitGroup
	carrying.Go(func() { carry(near, far, back) })
	carry(far, near, there)
	carrying.Wait()
}

func (l *link) carry(to io.Writer, from io.Reader, w way) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			l.wait()
			if _, closed := l.pass(w); closed {
				return
			}
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			l.pass(w) // the end of a connection does not cross a cut, either
			return
		}
	}
}

func (l *link) wait() {
	l.mu.Lock()
	delay := l.delay
	l.mu.Unlock()
	if delay > 0 {
		<-time.After(delay)
	}
}
