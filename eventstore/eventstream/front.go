package eventstream

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// front forwards the connections of analysts to the NATS server inside the process. Its address
// stays bound while the server restarts.
type front struct {
	listener net.Listener
	backend  func() (net.Conn, error) // opens a connection to the NATS server
	secure   bool                     // a client must begin with TLS
	limit    limits
	pace     pace

	mu      sync.Mutex
	open    map[net.Conn]netip.Addr
	of      map[netip.Addr]int // connections of an address
	closed  bool
	running sync.WaitGroup
}

func (f *front) run() {
	f.open, f.of = map[net.Conn]netip.Addr{}, map[netip.Addr]int{}
	f.running.Go(func() {
		for {
			conn, err := f.listener.Accept()
			switch {
			case errors.Is(err, net.ErrClosed):
				return
			case err != nil: // the process has no free file descriptor, for example
				<-time.After(acceptPause)
			case !f.admit(conn):
				refuse(conn)
				_ = conn.Close()
			default:
				f.running.Go(func() { f.carry(conn) })
			}
		}
	})
}

// refuse answers as the server does when it has too many connections.
func refuse(conn net.Conn) {
	_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
	_, _ = conn.Write([]byte("-ERR 'maximum connections exceeded'\r\n"))
}

const (
	acceptPause  = 100 * time.Millisecond
	writeTimeout = 10 * time.Second
	// Sizes of the buffers of a connection, in bytes.
	upBuffer, downBuffer = 4 << 10, 16 << 10
)

func (f *front) admit(conn net.Conn) bool {
	from := addressOf(conn)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || len(f.open) >= f.limit.connections || f.of[from] >= f.limit.connectionsFrom() {
		return false
	}
	f.open[conn] = from
	f.of[from]++
	return true
}

// addressOf returns the address of a client; for IPv6 its network of 64 bits, because one client
// may use the whole network.
func addressOf(conn net.Conn) netip.Addr {
	remote, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	if err != nil {
		return netip.Addr{}
	}
	address := remote.Addr().Unmap().WithZone("")
	if address.Is6() {
		if network, err := address.Prefix(64); err == nil {
			return network.Addr()
		}
	}
	return address
}

func (f *front) release(conn net.Conn) {
	_ = conn.Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	from := f.open[conn]
	delete(f.open, conn)
	if f.of[from]--; f.of[from] == 0 {
		delete(f.of, from)
	}
}

// carry copies both ways until one side ends.
func (f *front) carry(conn net.Conn) {
	defer f.release(conn)
	from := addressOf(conn)
	if !f.pace.wait(conn, from) {
		refuse(conn)
		return
	}
	begin := time.Now()
	inner, err := f.backend()
	if err != nil {
		return
	}
	var up sync.WaitGroup
	var sent atomic.Int64
	var left atomic.Bool // the client ended the connection before the server
	up.Go(func() {
		n, _ := f.up(inner, conn) // it may have failed because the connection ended
		sent.Store(n)
		left.Store(true)
		_ = inner.Close()
	})
	_ = f.down(conn, inner)
	f.pace.ended(from, time.Since(begin), left.Load(), sent.Load())
	_ = conn.Close()
	_ = inner.Close()
	up.Wait()
}

var errPlain = errors.New("eventstream: the client does not begin with TLS")

func (f *front) up(inner, conn net.Conn) (int64, error) {
	if f.secure { // on a connection inside the process the server accepts both
		first := make([]byte, 1)
		if _, err := io.ReadFull(conn, first); err != nil {
			return 0, err
		}
		if first[0] != tlsHandshake {
			return 1, errPlain
		}
		if _, err := inner.Write(first); err != nil {
			return 1, err
		}
	}
	return io.CopyBuffer(struct{ io.Writer }{inner}, struct{ io.Reader }{conn}, make([]byte, upBuffer))
}

// tlsHandshake is the first byte of a TLS connection.
const tlsHandshake = 0x16

// down copies to the client. It changes the server's first line, INFO: the server declares TLS as
// optional, because it sees no network connection.
func (f *front) down(conn, inner net.Conn) error {
	from, to := bufio.NewReaderSize(inner, upBuffer), timed{conn}
	if f.secure {
		info, err := from.ReadString('\n')
		if err != nil {
			return err
		}
		if _, err := fmt.Fprint(to, strings.Replace(info, `"tls_available":true`, `"tls_required":true,"tls_available":true`, 1)); err != nil {
			return err
		}
	}
	_, err := io.CopyBuffer(to, struct{ io.Reader }{from}, make([]byte, downBuffer))
	return err
}

type timed struct{ conn net.Conn }

func (t timed) Write(b []byte) (int, error) {
	if err := t.conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return 0, err
	}
	return t.conn.Write(b)
}

func (f *front) close() {
	_ = f.listener.Close()
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.cut()
	f.running.Wait()
}

// cut ends all connections.
func (f *front) cut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for conn := range f.open {
		_ = conn.Close()
	}
}
