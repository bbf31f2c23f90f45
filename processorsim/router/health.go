package router

import (
	"context"
	"errors"
	"sync"
	"time"

	"payledger/domain/processor"
	"payledger/processorsim/adapter"
	"payledger/processorsim/protocol"
)

const (
	// ProbeEvery is the time between two probes of a processor.
	ProbeEvery = 10 * time.Second
	// probeTimeout bounds a probe. A connector answers it by itself, without its vendor.
	probeTimeout = 5 * time.Second
	// failuresInRow is how many calls in a row end without an answer before the processor counts as
	// not answering. A probe without an answer is enough.
	failuresInRow = 3
)

// health is what the calls of a processor tell about its connection.
type health struct {
	mu       sync.Mutex
	asked    bool
	failures int       // in a row
	failing  time.Time // of the first of them
	call     error     // of the last call; nil: an answer
	probed   error     // of the last probe, if it shows a misconfiguration
	wrong    time.Time // since when probed is set
	quiet    bool      // the last probe had no answer
	unfit    unfitAnswers
	unsigned unfitAnswers // notifications without a valid signature

	simulated bool // the newest declaration says that it is the simulator
}

// note takes the end of an exchange (adapter.Connection.Exchanged).
func (h *health) note(err error, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = true
	if err == nil || errors.Is(err, adapter.ErrRefused) {
		h.failures, h.call, h.quiet = 0, nil, false
		return
	}
	if h.failures == 0 {
		h.failing = now
	}
	h.failures++
	h.call = err
}

// declared takes the end of a probe, whose exchange was noted.
func (h *health) declared(d protocol.Declaration, err error, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.quiet = err != nil && h.call != nil; h.quiet {
		return // nothing new about the declaration
	}
	h.simulated = d.Simulated && err == nil
	if err == nil {
		h.probed = nil
		return
	}
	if h.probed == nil {
		h.wrong = now
	}
	h.probed = err
}

func (h *health) connection(now time.Time) processor.Connection {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.state()
	c.Unfit, c.Unsigned, c.Simulated = h.unfit.until(now), h.unsigned.unsigned(now), h.simulated
	return c
}

func (h *health) state() processor.Connection {
	switch {
	case h.call != nil && errors.Is(h.call, adapter.ErrMisconfigured):
		return processor.Connection{State: processor.Misconfigured, Since: h.failing, Reason: h.call.Error()}
	case h.call != nil && (h.quiet || h.failures >= failuresInRow):
		return processor.Connection{State: processor.NotAnswering, Since: h.failing, Reason: h.call.Error()}
	case h.probed != nil:
		return processor.Connection{State: processor.Misconfigured, Since: h.wrong, Reason: h.probed.Error()}
	case !h.asked:
		return processor.Connection{State: processor.NotAsked}
	default:
		return processor.Connection{State: processor.Answering}
	}
}

// Connection returns what the calls of a processor tell about its connection.
func (r *Router) Connection(name processor.Name) processor.Connection {
	if h := r.health[name]; h != nil {
		return h.connection(r.now())
	}
	return processor.Connection{State: processor.NoAddress}
}

// Probe asks a processor for its declaration.
func (r *Router) Probe(ctx context.Context, name processor.Name) {
	port := r.ports[name]
	if port == nil {
		return
	}
	probing, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	d, err := port.Declaration(probing, name)
	if ctx.Err() == nil {
		r.health[name].declared(d, err, r.now())
	}
}

// Run probes each processor at once, and then at every interval, until ctx ends. A processor that
// does not answer holds up no other one.
func (r *Router) Run(ctx context.Context, interval time.Duration) {
	var probes sync.WaitGroup
	for _, name := range r.names {
		probes.Go(func() {
			tick := time.NewTicker(interval)
			defer tick.Stop()
			for ctx.Err() == nil {
				r.Probe(ctx, name)
				select {
				case <-ctx.Done():
				case <-tick.C:
				}
			}
		})
	}
	probes.Wait()
}
