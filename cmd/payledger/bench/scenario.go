package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"payledger/httpapi/client"
)

// The names of the scenarios.
const (
	authorizing = "authorize"
	wholeLife   = "lifecycle"
	reading     = "read"
	notifying   = "webhooks"
	replaying   = "replay"
)

// scenario is the load on one service.
type scenario struct {
	*service
	run      string // makes the orders and keys of this run its own
	inbox    *receiver
	endpoint string // id of the webhook endpoint of this run
	mu       sync.Mutex
	began    map[string]time.Time // payments whose webhook is awaited, by id
}

// readPayments is the number of payments of the scenario read.
const readPayments = 512

// prepare makes what the requests of the scenario need. vaults reports whether the service keeps cards.
func (s *scenario) prepare(ctx context.Context, name string, vaults bool) error {
	w, err := dial(ctx, s.service)
	if err != nil {
		return err
	}
	defer w.close()
	if vaults {
		if err := s.vault(ctx, s.run); err != nil {
			return err
		}
	} else { // any text is a token
		for i := range vaultedTokens {
			s.tokens, s.customers = append(s.tokens, fmt.Sprintf("token-%d", i)), append(s.customers, fmt.Sprintf("customer-%d", i))
		}
	}
	switch name {
	case reading:
		for i := range readPayments {
			id, err := s.pay(w, s.run+"-read", int64(i))
			if err != nil {
				return err
			}
			s.payments = append(s.payments, id)
		}
	case notifying:
		return s.subscribe(ctx)
	}
	return nil
}

// subscribe starts a receiver and makes a webhook endpoint for it.
func (s *scenario) subscribe(ctx context.Context) (err error) {
	if s.inbox, err = listen(ctx); err != nil {
		return err
	}
	var endpoint struct {
		ID string `json:"id"`
	}
	err = s.api().Post(ctx, "/management/webhook-endpoints", map[string]any{
		"url": s.inbox.url(), "description": "payledger bench", "eventTypes": []string{"PAYMENT.STATUS"},
	}, &endpoint)
	if refused, is := errors.AsType[*client.Error](err); is && refused.Status == http.StatusUnprocessableEntity {
		return fmt.Errorf("the server sends no webhooks to this machine: start it with --webhook-allow-cidr 127.0.0.0/8 (%w)", err)
	}
	s.endpoint = endpoint.ID
	return err
}

// close ends the receiver, and deletes the webhook endpoint of the run. It does so after an interruption, too.
func (s *scenario) close(ctx context.Context) error {
	if s.inbox == nil {
		return nil
	}
	defer s.inbox.close()
	if s.endpoint == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupPatience)
	defer cancel()
	err := s.api().Call(ctx, client.Request{Method: http.MethodDelete, Path: "/management/webhook-endpoints/" + s.endpoint}, nil)
	if err != nil {
		return fmt.Errorf("the webhook endpoint of this run stays: delete it with DELETE %s/management/webhook-endpoints/%s: %w", s.url, s.endpoint, err)
	}
	return nil
}

// cleanupPatience bounds the end of a run.
const cleanupPatience = 10 * time.Second

// request returns the scenario's request.
func (s *scenario) request(name string) request {
	return map[string]request{
		authorizing: s.authorize, wholeLife: s.lifecycle, reading: s.read, notifying: s.announced, replaying: s.replay,
	}[name]
}

func (s *scenario) authorize(c *connection, n int64) error {
	_, err := s.pay(c.wire, s.run, n)
	return err
}

func (s *scenario) read(c *connection, n int64) error {
	_, err := expect(c.wire, "GET", "/payments/"+s.payments[int(n*31)%len(s.payments)], "", "")
	return err
}

// announced pays, and notes that the payment's webhook must come.
func (s *scenario) announced(c *connection, n int64) error {
	began := time.Now()
	id, err := s.pay(c.wire, s.run, n)
	if err == nil {
		s.mu.Lock()
		s.began[id] = began
		s.mu.Unlock()
	}
	return err
}

// webhookPatience is how long the run waits without any webhook while some are missing.
const webhookPatience = 30 * time.Second

// delivered waits for the webhooks of all payments of a round, after its load. It puts the time from each payment's request to its
// webhook in the place of the time to its answer, counts missing webhooks as errors, and lets the round last until the last webhook.
func (s *scenario) delivered(ctx context.Context, began time.Time, patience time.Duration, t *tally) {
	t.took = t.took[:0]
	for moved := time.Now(); ; {
		for id, at := range s.inbox.take() {
			paid, awaited := s.began[id]
			if !awaited {
				continue
			}
			delete(s.began, id)
			moved = time.Now()
			t.took = append(t.took, at.Sub(paid))
			t.lasted = max(t.lasted, at.Sub(began))
		}
		if len(s.began) == 0 || time.Since(moved) > patience || !pauseUntil(ctx, time.Now().Add(5*time.Millisecond)) {
			break
		}
	}
	for id := range s.began {
		t.fail(fmt.Errorf("no webhook of payment %s came: none arrived for %s", id, patience))
	}
	clear(s.began)
}

// replayPage is the number of events in a page of the scenario replay.
const replayPage = 1000

// replay reads the next page of all events. After the last page it begins again.
func (s *scenario) replay(c *connection, _ int64) error {
	answer, err := expect(c.wire, "GET", "/events?limit="+strconv.Itoa(replayPage)+c.after, "", "")
	if err != nil {
		return err
	}
	read, next := pageOf(answer)
	c.read += read
	c.after = ""
	if next != "" {
		c.after = "&after=" + next
	}
	return nil
}

// pageOf returns the number of events in a page of GET /events, and its nextAfter, "" on the last page. It only scans the text, because
// decoding a page would take this machine longer than the server needs to write it.
func pageOf(answer []byte) (events int, next string) {
	const nextAfter = `],"nextAfter":`
	if at := bytes.LastIndex(answer, []byte(nextAfter)); at >= 0 {
		next = strings.TrimSuffix(strings.TrimSpace(string(answer[at+len(nextAfter):])), "}")
	}
	return bytes.Count(answer, []byte(`{"position":`)), next
}
