package handover

import (
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
)

// HoldSubject carries the requests of a back-up to all nodes: begin no group for some time. A
// request without a time ends the one before. A node that misses a request delays the back-up, and
// never makes it wrong.
const HoldSubject = "payledger.hold"

// Bounds of a hold. After a hold a node takes no other one for HoldRest times its length.
const (
	MaxHold  = 2 * time.Second
	HoldRest = 3
)

// HoldMessage returns a request to hold for d; 0 ends the hold.
func HoldMessage(d time.Duration) *nats.Msg {
	m := &nats.Msg{Subject: HoldSubject}
	if d > 0 {
		m.Data = []byte(d.String())
	}
	return m
}

// parseHold reads a request of HoldMessage. A longer time than MaxHold is MaxHold.
func parseHold(m *nats.Msg) (time.Duration, error) {
	if len(m.Data) == 0 {
		return 0, nil
	}
	d, err := time.ParseDuration(string(m.Data))
	if err == nil && d <= 0 {
		err = fmt.Errorf("it is %s", d)
	}
	if err != nil {
		return 0, fmt.Errorf("handover: the time of a hold: %w", err)
	}
	return min(d, MaxHold), nil
}

// Hold is the time in which a node begins no group, because a back-up looks for a moment at which
// all shards stand still (package remote). Groups under way are completed.
type Hold struct {
	mu    sync.Mutex
	until time.Time
	rest  time.Time // another hold may begin
}

// Active reports whether no group may begin now.
func (h *Hold) Active() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.until.IsZero() && time.Now().Before(h.until)
}

// Handler returns the handler of requests. It calls begun at the beginning of each hold, and ended
// after it.
func (h *Hold) Handler(log zerolog.Logger, begun, ended func()) nats.MsgHandler {
	return func(m *nats.Msg) {
		d, err := parseHold(m)
		if err != nil {
			log.Warn().Err(err).Msg("a message of a back-up is unreadable")
			return
		}
		if h.take(d, time.Now()) {
			if d > 0 {
				begun()
			}
			time.AfterFunc(d, ended)
		}
	}
}

// take begins a hold; 0 ends it. It reports whether it changed anything.
func (h *Hold) take(d time.Duration, now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case d == 0:
		h.until = time.Time{}
	case now.Before(h.rest):
		return false
	default:
		h.until, h.rest = now.Add(d), now.Add((1+HoldRest)*d)
	}
	return true
}
