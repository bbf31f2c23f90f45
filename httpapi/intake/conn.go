package intake

import (
	"container/list"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// sendBuffer is the size of the kernel's send buffer, in bytes. By default it grows to some megabytes for each slow reader.
const sendBuffer = 32 << 10

// A write is checked for progress at each of patience parts of the write time-out, and at least every lookEvery.
const (
	patience  = 4
	lookEvery = time.Second
)

// surplusWrite is the longest write time-out beyond the caps, where an answer has a few hundred bytes.
const surplusWrite = 4 * time.Second

type conn struct {
	net.Conn
	of      *Listener
	peer    netip.Addr
	counted bool  // for its address
	surplus bool  // beyond the caps
	why     Limit // of a surplus connection
	closing sync.Once
	heed    atomic.Int64 // Retry-After of the newest refusal: Unix nanoseconds

	idle  *list.Element // in of.idle while the connection can be closed; guarded by of.mu
	since time.Time     // when it became idle
	gone  bool          // it was closed; guarded by of.mu
}

// Write writes as long as the peer takes bytes, however slowly; os.ErrDeadlineExceeded if it takes none for the write time-out.
func (c *conn) Write(p []byte) (n int, err error) {
	stalled, patient := false, c.of.caps.WriteTimeout
	if c.surplus {
		patient = min(patient, surplusWrite)
	}
	progress := c.of.caps.Now()
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

// CloseWrite ends the sending half, so that the answer arrives before the connection is closed.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// Close closes the connection and makes room for another.
func (c *conn) Close() error {
	c.closing.Do(func() { c.of.closed(c) })
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
