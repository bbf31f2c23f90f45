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

// pace slows down addresses whose connections end at once, such as those that the server refuses: a refusal takes the server half a
// millisecond. Other addresses are not slowed down.
type pace struct {
	every rate.Limit // connections per second of such an address
	mu    sync.Mutex
	slow  map[netip.Addr]*rate.Limiter
}

const (
	// refusedPerSecond is how many connections an address may try per second after refusalsAtOnce.
	refusedPerSecond, refusalsAtOnce = 20, 64
	// shortLived is the age below which the end of a connection counts as a refusal.
	shortLived = time.Second
	// paceCheck is the time after which a waiting connection is looked at again.
	paceCheck = 200 * time.Millisecond
	// maxPaced is the number of addresses after which those that are not slow any more are forgotten.
	maxPaced = 1024
)

// ended notes that a connection of an address has ended.
func (p *pace) ended(from netip.Addr, age time.Duration) {
	if age >= shortLived {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.slow[from] != nil {
		return
	}
	if len(p.slow) >= maxPaced {
		for address, l := range p.slow {
			if l.Tokens() >= refusalsAtOnce {
				delete(p.slow, address)
			}
		}
	}
	if p.slow == nil {
		p.slow = map[netip.Addr]*rate.Limiter{}
	}
	p.slow[from] = rate.NewLimiter(p.every, refusalsAtOnce)
}

// wait returns when a new connection of an address may begin. It returns false if the client ends the connection before. A client
// sends nothing before the server's first line.
func (p *pace) wait(conn net.Conn, from netip.Addr) bool {
	p.mu.Lock()
	limiter := p.slow[from]
	p.mu.Unlock()
	for limiter != nil && !limiter.Allow() {
		if err := conn.SetReadDeadline(time.Now().Add(paceCheck)); err != nil {
			return false
		}
		if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			return false
		}
	}
	return conn.SetReadDeadline(time.Time{}) == nil
}
