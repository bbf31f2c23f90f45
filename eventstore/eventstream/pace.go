package eventstream

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// pace slows down addresses whose connections the server soon ends, for example because it refuses
// them.
type pace struct {
	every rate.Limit    // connections per second of such an address
	hasty time.Duration // see hasty
	mu    sync.Mutex
	slow  map[netip.Addr]*slowed
	swept time.Time
}

type slowed struct {
	*rate.Limiter
	waiting int // connections
}

const (
	// refusedPerSecond is the number of connections that a slowed address may open per second after
	// refusalsAtOnce.
	refusedPerSecond, refusalsAtOnce = 20, 64
	// shortLived is the age below which a connection that the server ends counts as refused. A
	// client has authTimeout to authenticate itself.
	shortLived = (authTimeout + 1) * time.Second
	// hasty is the age below which a connection that the client ends counts as refused, if the
	// client has sent anything: the server may have checked its credentials.
	hasty = time.Second
	// maxWaiting is the number of connections of an address that may wait. Each waits at most two
	// seconds, the time that clients wait for the server's first line. Further connections are
	// refused at once.
	maxWaiting = 2 * refusedPerSecond
	// paceCheck is the interval at which a waiting connection is checked.
	paceCheck = 200 * time.Millisecond
	// maxPaced is the number of addresses above which entries that no longer slow an address are
	// removed, at most once in sweepEvery.
	maxPaced, sweepEvery = 1024, time.Second
)

// ended notes that a connection of an address has ended: by the client, which had sent some bytes,
// or by the server.
func (p *pace) ended(from netip.Addr, age time.Duration, byClient bool, sent int64) {
	if !byClient && age >= shortLived || byClient && (age >= p.hasty || sent == 0) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.slow[from] != nil {
		return
	}
	if now := time.Now(); len(p.slow) >= maxPaced && now.Sub(p.swept) >= sweepEvery {
		p.swept = now
		for address, s := range p.slow {
			if s.waiting == 0 && s.Tokens() >= refusalsAtOnce {
				delete(p.slow, address)
			}
		}
	}
	if p.slow == nil {
		p.slow = map[netip.Addr]*slowed{}
	}
	p.slow[from] = &slowed{Limiter: rate.NewLimiter(p.every, refusalsAtOnce)}
}

// enter returns the address's entry if a new connection must wait, or nil. It returns false if too
// many wait.
func (p *pace) enter(from netip.Addr) (s *slowed, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s = p.slow[from]
	switch {
	case s == nil || s.Allow():
		return nil, true
	case s.waiting >= maxWaiting:
		return nil, false
	default:
		s.waiting++
		return s, true
	}
}

// wait returns when a new connection of an address may begin. It returns false if too many
// connections of the address wait, or if the client ends the connection meanwhile. A client sends
// nothing before the server's first line.
func (p *pace) wait(conn net.Conn, from netip.Addr) bool {
	s, ok := p.enter(from)
	if s == nil {
		return ok
	}
	defer func() {
		p.mu.Lock()
		s.waiting--
		p.mu.Unlock()
	}()
	for {
		if err := conn.SetReadDeadline(time.Now().Add(paceCheck)); err != nil {
			return false
		}
		if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			return false
		}
		if s.Allow() {
			return conn.SetReadDeadline(time.Time{}) == nil
		}
	}
}
