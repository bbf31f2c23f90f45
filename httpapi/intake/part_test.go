package intake

import (
	"errors"
	"io"
	"net"
	"testing"
)

// TestNewestFirst: of the connections that wait for their server the newest is served first, and
// each is served once.
func TestNewestFirst(t *testing.T) {
	p := newPart(&Listener{done: make(chan struct{})})
	var conns []net.Conn
	for range 200 { // more than one burst
		c, peer := net.Pipe()
		defer peer.Close()
		p.add(c)
		conns = append(conns, c)
	}
	for i := len(conns) - 1; i >= 0; i-- {
		c, err := p.Accept()
		if err != nil || c != conns[i] {
			t.Fatalf("Accept returned another connection than the newest one (%d), %v", i, err)
		}
	}
	if c := p.newest(); c != nil {
		t.Error("a connection was kept after it was served")
	}
}

// TestEndClosesWhatWaits checks that closing the listener closes waiting connections without a
// server, and later ones.
func TestEndClosesWhatWaits(t *testing.T) {
	l := &Listener{done: make(chan struct{})}
	p := newPart(l)
	before, peerBefore := net.Pipe()
	after, peerAfter := net.Pipe()
	p.add(before)
	close(l.done)
	p.end()
	p.add(after)
	for _, peer := range []net.Conn{peerBefore, peerAfter} {
		if _, err := peer.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("reading from a closed connection's peer: %v", err)
		}
	}
	if _, err := p.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept after the end: %v", err)
	}
}
