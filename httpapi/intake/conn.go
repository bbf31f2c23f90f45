package intake

import (
	"container/list"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// sendBuffer is the size of the kernel's send buffer, in bytes. By default it grows to some
// megabytes for each slow reader. largeBuffer is that of an answer above sendBuffer: with a small
// buffer only one packet is under way, and the peer acknowledges a single packet after 40 ms. The
// large buffers of all connections have a bound together, Caps.SendMemory.
const sendBuffer, largeBuffer = 32 << 10, 256 << 10

// A write is checked for progress at each of patience parts of the write time-out, and at least
// every lookEvery.
const (
	patience  = 4
	lookEvery = time.Second
)

// surplusWrite is the longest write time-out beyond the caps, where an answer has a few hundred
// bytes.
const surplusWrite = 4 * time.Second

type conn struct {
	net.Conn
	of      *Listener
	peer    netip.Addr
	counted bool  // for its address
	surplus bool  // beyond the caps
	why     Limit // of a surplus connection
	closing sync.Once
	sent    atomic.Int64  // bytes of the current answer
	large   atomic.Bool   // the send buffer is largeBuffer
	active  atomic.Bool   // a request is read or answered
	stop    chan struct{} // has an element when a read must end
	over    chan struct{} // closed with the connection
	heed    atomic.Int64  // Retry-After of the newest refusal: Unix nanoseconds

	idle  *list.Element // in of.idle while the connection can be closed; guarded by of.mu
	since time.Time     // when it became idle
	gone  bool          // it was closed; guarded by of.mu
}

// Write writes as long as the peer takes bytes, however slowly; os.ErrDeadlineExceeded if it takes
// none for the write time-out.
func (c *conn) Write(p []byte) (n int, err error) {
	stalled, patient := false, c.of.caps.WriteTimeout
	if c.surplus {
		patient = min(patient, surplusWrite)
	}
	progress := c.of.caps.Now()
	if c.sent.Add(int64(len(p))) > sendBuffer {
		c.enlarge()
	}
	defer func() {
		if stalled {
			c.of.busy(c)
		}
	}()
	for {
		now := c.of.caps.Now()
		if err := c.Conn.SetWriteDeadline(now.Add(min(patient/patience, lookEvery))); err != nil {
			return n, err
		}
		m, err := c.Conn.Write(p[n:])
		n += m
		if err == nil || !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		if now = c.of.caps.Now(); m > 0 {
			progress = now
			if stalled {
				c.of.busy(c)
				stalled = false
			}
			continue
		}
		if now.Sub(progress) >= patient {
			c.of.tally.Add(WriteTimeout)
			return n, err
		}
		if !stalled {
			c.of.unproductive(c, progress)
			stalled = true
		}
	}
}

// enlarge makes the send buffer large if there is memory for it.
func (c *conn) enlarge() {
	buffered, ok := c.Conn.(interface{ SetWriteBuffer(int) error })
	if !ok || c.large.Load() || c.of.buffers == nil || !c.of.buffers.Take(c.peer, largeBuffer) {
		return
	}
	c.large.Store(true)
	_ = buffered.SetWriteBuffer(largeBuffer) // without it the answer only takes longer
}

// restore makes the send buffer small again: the peer has read the last answer.
func (c *conn) restore() {
	c.sent.Store(0)
	if !c.large.Swap(false) {
		return
	}
	c.of.buffers.Give(c.peer, largeBuffer)
	if buffered, ok := c.Conn.(interface{ SetWriteBuffer(int) error }); ok {
		_ = buffered.SetWriteBuffer(sendBuffer) // without it the buffer is only larger
	}
}

// halfOpen is the longest time that an answer is waited for after the client has ended its sending
// half.
const halfOpen = 10 * time.Second

// Read hides the end of the sending half until the answer is written: net/http takes it for the end
// of the client, and cancels the request. Many clients end their half after the request, and read.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 || !errors.Is(err, io.EOF) || !c.active.Load() || c.stop == nil {
		return n, err
	}
	patient := time.NewTimer(halfOpen)
	defer patient.Stop()
	select {
	case <-c.stop:
		return 0, os.ErrDeadlineExceeded
	case <-patient.C:
	case <-c.over:
	}
	return n, err
}

// SetReadDeadline sets the deadline of reads. One in the past ends the wait for an answer: net/http
// sets it when the answer is written.
func (c *conn) SetReadDeadline(t time.Time) error {
	past := !t.IsZero() && !t.After(time.Now())
	select {
	case <-c.stop:
	default:
	}
	if past && c.stop != nil {
		select {
		case c.stop <- struct{}{}:
		default:
		}
	}
	return c.Conn.SetReadDeadline(t)
}

// CloseWrite ends the sending half, so that the answer arrives before the connection is closed.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// Close closes the connection and makes room for another.
func (c *conn) Close() error {
	c.closing.Do(func() {
		c.of.closed(c)
		if c.large.Swap(false) {
			c.of.buffers.Give(c.peer, largeBuffer)
		}
		if c.over != nil {
			close(c.over)
		}
	})
	return c.Conn.Close()
}

// unwrap returns the conn below TLS, nil for a connection of another package.
func unwrap(c net.Conn) *conn {
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	own, _ := c.(*conn)
	return own
}
