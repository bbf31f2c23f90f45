package engine_test

import (
	"errors"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
)

// proxy is a link that a test can damage: by TCP, or inside the process.
type proxy struct {
	listener net.Listener
	mu       sync.Mutex
	target   string
	inner    nats.InProcessConnProvider // inside the process
	cut      bool                       // new connections are refused
	silent   bool                       // no byte gets through, and no end of a connection
	answer   func(piece []byte) bool    // called with every piece on its way back: false drops it
	links    map[*link]bool
}

// link is one connection through the proxy.
type link struct {
	client, server net.Conn
}

// newProxy makes a link to target, which may be set later.
func newProxy(t testing.TB, target string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: listener, target: target, links: map[*link]bool{}}
	go p.accept()
	t.Cleanup(func() {
		listener.Close()
		p.Cut()
	})
	return p
}

// through is the option that leads a store's connections to its embedded server through p.
func (p *proxy) through(o *nats.Options) error {
	p.inner, o.InProcessServer = o.InProcessServer, p
	return nil
}

// InProcessConn makes a connection to the embedded server.
func (p *proxy) InProcessConn() (net.Conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut {
		return nil, errors.New("the link is cut")
	}
	server, err := p.inner.InProcessConn()
	if err != nil {
		return nil, err
	}
	client, end := net.Pipe()
	go p.join(end, server)
	return client, nil
}

func (p *proxy) Addr() string { return p.listener.Addr().String() }

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		target, cut := p.target, p.cut
		p.mu.Unlock()
		if cut || target == "" {
			client.Close()
			continue
		}
		go func() {
			server, err := net.Dial("tcp", target)
			if err != nil {
				client.Close()
				return
			}
			p.join(client, server)
		}()
	}
}

func (p *proxy) join(client, server net.Conn) {
	l := &link{client: client, server: server}
	p.mu.Lock()
	if p.cut {
		p.mu.Unlock()
		l.close()
		return
	}
	p.links[l] = true
	p.mu.Unlock()
	go func() {
		p.carry(l.server, l.client, func([]byte) bool { return true })
		l.close()
	}()
	p.carry(l.client, l.server, func(piece []byte) bool {
		p.mu.Lock()
		answer := p.answer
		p.mu.Unlock()
		return answer == nil || answer(piece)
	})
	l.close()
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}

// carry copies bytes, as long as they are let through.
func (p *proxy) carry(to io.Writer, from io.Reader, through func(piece []byte) bool) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		p.mu.Lock()
		silent := p.silent
		p.mu.Unlock()
		if silent || !through(buffer[:n]) {
			continue
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func (l *link) close() {
	l.client.Close()
	l.server.Close()
}

// Answers calls f with every piece on its way back to the client; false drops it.
func (p *proxy) Answers(f func(piece []byte) bool) {
	p.mu.Lock()
	p.answer = f
	p.mu.Unlock()
}

// Cut ends all connections and takes no new ones.
func (p *proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = true
	for l := range p.links {
		l.close()
	}
}

// Silence loses all bytes in both directions, like a pulled cable: no side sees the end of a
// connection.
func (p *proxy) Silence() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.silent = true
}

// Drop ends all connections; new ones are taken.
func (p *proxy) Drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.close()
	}
}

// Heal lets connections through again, to target if one is given.
func (p *proxy) Heal(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.silent { // bytes are missing in these connections
		p.silent = false
		for l := range p.links {
			l.close()
		}
	}
	p.cut, p.answer = false, nil
	if target != "" {
		p.target = target
	}
}
