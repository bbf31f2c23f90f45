package intake

import (
	"bytes"
	"errors"
	"net"
	"net/http"
	"os"
	"testing"
	"time"
)

// slowConn takes some bytes at each write, and lets the rest of the time pass. Its clock is the
// test's.
type slowConn struct {
	net.Conn
	now   time.Time
	until time.Time // the write deadline
	takes []int     // bytes, of each write; then nothing is taken
	taken bytes.Buffer
}

func (s *slowConn) SetWriteDeadline(t time.Time) error {
	s.until = t
	return nil
}

func (s *slowConn) Write(p []byte) (int, error) {
	n := 0
	if len(s.takes) > 0 {
		n, s.takes = min(len(p), s.takes[0]), s.takes[1:]
	}
	s.taken.Write(p[:n])
	if n == len(p) {
		return n, nil
	}
	s.now = s.until
	return n, os.ErrDeadlineExceeded
}

func (s *slowConn) Close() error         { return nil }
func (s *slowConn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 5} }

// within is a listener's connection over s, of caps with a write time-out of 8 s.
func within(s *slowConn) (*Listener, *conn) {
	l := &Listener{
		caps:  Caps{Now: func() time.Time { return s.now }, WriteTimeout: 8 * time.Second, Tally: &Tally{}},
		tally: &Tally{}, done: make(chan struct{}),
	}
	c := &conn{Conn: s, of: l}
	l.admit(c)
	l.State(c, http.StateActive)
	return l, c
}

// TestSlowReader checks that an answer is written completely as long as its reader reads something
// within each time-out.
func TestSlowReader(t *testing.T) {
	s := &slowConn{now: time.Unix(1e9, 0), takes: []int{3, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 2, 0, 0, 0, 0, 0, 99}}
	l, c := within(s)
	began := s.now
	if n, err := c.Write([]byte("a long answer")); n != 13 || err != nil || s.taken.String() != "a long answer" {
		t.Fatal(n, err, s.taken.String())
	}
	if took := s.now.Sub(began); took < 2*l.caps.WriteTimeout {
		t.Errorf("the reader was not slow: %s", took)
	}
	if l.idle.Len() != 0 || l.tally.Of(WriteTimeout) != 0 {
		t.Errorf("%d can be closed, %d were cut", l.idle.Len(), l.tally.Of(WriteTimeout))
	}
}

// TestNoReader: a reader that takes nothing for the time-out is cut, and before that makes room for
// others.
func TestNoReader(t *testing.T) {
	s := &slowConn{now: time.Unix(1e9, 0), takes: []int{3}}
	l, c := within(s)
	began := s.now
	n, err := c.Write([]byte("a long answer"))
	if n != 3 || !errors.Is(err, os.ErrDeadlineExceeded) || l.tally.Of(WriteTimeout) != 1 {
		t.Fatal(n, err, l.tally.Of(WriteTimeout))
	}
	if took := s.now.Sub(began); took < l.caps.WriteTimeout || took > 2*l.caps.WriteTimeout {
		t.Errorf("cut after %s", took)
	}
	if l.idle.Len() != 0 {
		t.Error("it is still listed")
	}
	all := func(*conn) bool { return true }
	l.unproductive(c, s.now)
	s.now = s.now.Add(idleGrace - 1)
	if l.oldestIdle(all) != nil {
		t.Error("it made room too soon")
	}
	s.now = s.now.Add(1)
	if l.oldestIdle(all) != c {
		t.Error("it makes no room")
	}
	c.Close()
	if l.Open() != 0 || l.idle.Len() != 0 {
		t.Errorf("%d open, %d listed", l.Open(), l.idle.Len())
	}
}
