package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"time"
)

// scenario is what the load does to one service.
type scenario struct {
	*service
	run     string // makes orders and keys of this run its own
	inbox   *receiver
	mu      sync.Mutex
	began   map[string]time.Time // payments whose webhook is awaited
	pages   map[*wire]string     // where each connection is in the events
	visited int                  // events that were read
	orders  map[*wire]*order     // in lifecycle
}

// readPayments is how many payments the scenario read chooses from.
const readPayments = 512

// prepare makes what the requests of the scenario need.
func (s *scenario) prepare(ctx context.Context, name string, vaults bool) error {
	w, err := dial(ctx, s.url, s.key)
	if err != nil {
		return err
	}
	defer w.conn.Close()
	if vaults {
		if err := s.vault(w, s.run); err != nil {
			return err
		}
	} else { // the other service knows no cards
		for i := range vaultedTokens {
			s.tokens, s.customers = append(s.tokens, fmt.Sprintf("token-%d", i)), append(s.customers, fmt.Sprintf("customer-%d", i))
		}
	}
	switch name {
	case "read":
		for i := range readPayments {
			id, err := s.pay(w, s.run+"-read", int64(i))
			if err != nil {
				return err
			}
			s.payments = append(s.payments, id)
		}
	case "webhooks":
		if s.inbox, err = listen(); err != nil {
			return err
		}
		_, err := expect(w, "POST", "/management/webhook-endpoints", "",
			`{"url":"`+s.inbox.url()+`","description":"bench","eventTypes":["PAYMENT.STATUS"]}`)
		return err
	}
	return nil
}

// request returns the scenario's request.
func (s *scenario) request(name string) request {
	return map[string]request{"authorize": s.authorize, "lifecycle": s.lifecycle, "read": s.read, "webhooks": s.announced, "replay": s.replay}[name]
}

func (s *scenario) authorize(w *wire, n int64) error {
	_, err := s.pay(w, s.run, n)
	return err
}

func (s *scenario) read(w *wire, n int64) error {
	_, err := expect(w, "GET", "/payments/"+s.payments[int(n*31)%len(s.payments)], "", "")
	return err
}

// announced pays, and notes that the payment's webhook must come.
func (s *scenario) announced(w *wire, n int64) error {
	began := time.Now()
	id, err := s.pay(w, s.run, n)
	if err == nil {
		s.mu.Lock()
		s.began[id] = began
		s.mu.Unlock()
	}
	return err
}

// webhookPatience is how long no webhook may come while some are missing.
const webhookPatience = 30 * time.Second

// delivered waits for the webhooks of all payments of a round, and returns the time of each from the payment's request, and when the last came.
func (s *scenario) delivered(ctx context.Context) (took []time.Duration, last time.Time, missing int) {
	for moved := time.Now(); ; {
		before := len(s.began)
		for id, began := range s.began {
			if at, came := s.inbox.arrived(id); came {
				took = append(took, at.Sub(began))
				if at.After(last) {
					last = at
				}
				delete(s.began, id)
			}
		}
		if len(s.began) < before {
			moved = time.Now()
		}
		if len(s.began) == 0 || ctx.Err() != nil || time.Since(moved) > webhookPatience {
			return took, last, len(s.began)
		}
		pauseUntil(ctx, time.Now().Add(5*time.Millisecond))
	}
}

// replayPage is the number of events in a page of the scenario replay.
const replayPage = 1000

// replay reads the next page of all events, from the beginning again after the last.
func (s *scenario) replay(w *wire, _ int64) error {
	s.mu.Lock()
	after := s.pages[w]
	s.mu.Unlock()
	answer, err := expect(w, "GET", "/events?limit="+strconv.Itoa(replayPage)+after, "", "")
	if err != nil {
		return err
	}
	var page struct {
		Data      []struct{}
		NextAfter string
	}
	if err := json.Unmarshal(answer, &page); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.visited += len(page.Data)
	s.pages[w] = ""
	if page.NextAfter != "" {
		s.pages[w] = "&after=" + page.NextAfter
	}
	return nil
}
