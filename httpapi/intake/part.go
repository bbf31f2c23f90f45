package intake

import (
	"net"
	"runtime"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// The new connections that a server takes for each of the machine's processors: in a second, and at
// one moment. It starts a goroutine for each; 2,000 of them at one moment delayed a probe by 180 ms
// (measured).
const newPerProcessor, burstPerProcessor = 5000, 32

// part is one half of a Listener's connections. Its server gets them at a bounded pace, the newest
// first: a probe does not wait behind a burst. The caps of the Listener bound the number that
// waits.
type part struct {
	of      *Listener
	pace    *rate.Limiter
	arrived chan struct{} // has an element when connections may wait

	mu      sync.Mutex
	waiting []net.Conn // the newest last
	ended   bool
}

func newPart(of *Listener) *part {
	processors := runtime.GOMAXPROCS(0)
	pace := rate.NewLimiter(rate.Limit(newPerProcessor*processors), burstPerProcessor*processors)
	return &part{of: of, pace: pace, arrived: make(chan struct{}, 1)}
}

// add keeps a connection until Accept returns it, or closes it after the end.
func (p *part) add(c net.Conn) {
	p.mu.Lock()
	ended := p.ended
	if !ended {
		p.waiting = append(p.waiting, c)
	}
	p.mu.Unlock()
	if ended {
		_ = c.Close() // no server will take it
		return
	}
	p.signal()
}

func (p *part) signal() {
	select {
	case p.arrived <- struct{}{}:
	default:
	}
}

// Accept returns the newest connection that waits, or the next one to come.
func (p *part) Accept() (net.Conn, error) {
	for {
		select {
		case <-p.of.done:
			return nil, net.ErrClosed
		case <-p.arrived:
		}
		if err := p.await(); err != nil {
			return nil, err
		}
		if c := p.newest(); c != nil {
			return c, nil
		}
	}
}

func (p *part) await() error {
	delay := p.pace.Reserve().Delay()
	if delay <= 0 {
		return nil
	}
	pause := time.NewTimer(delay)
	defer pause.Stop()
	select {
	case <-pause.C:
		return nil
	case <-p.of.done:
		return net.ErrClosed
	}
}

func (p *part) newest() net.Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.waiting) - 1
	if last < 0 {
		return nil
	}
	c := p.waiting[last]
	p.waiting[last] = nil
	p.waiting = p.waiting[:last]
	if last > 0 {
		p.signal()
	}
	return c
}

func (p *part) end() {
	p.mu.Lock()
	waiting := p.waiting
	p.waiting, p.ended = nil, true
	p.mu.Unlock()
	for _, c := range waiting {
		_ = c.Close() // no server will take it
	}
}

func (p *part) Close() error { return p.of.close() }

func (p *part) Addr() net.Addr { return p.of.inner.Addr() }
