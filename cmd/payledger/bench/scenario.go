package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"payledger/httpapi/client"
)

const (
	authorizing = "authorize"
	wholeLife   = "lifecycle"
	reading     = "read"
	notifying   = "webhooks"
	replaying   = "replay"
)

const readPayments = 512

// prepare makes what the requests of the scenario need. vaults reports whether the service keeps
// cards.
func (s *service) prepare(ctx context.Context, name string, vaults bool) error {
	w, err := dial(ctx, s)
	if err != nil {
		return err
	}
	w.close() // it shows that the service runs; a server closes a connection that sends nothing while the cards are vaulted
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
		if w, err = dial(ctx, s); err != nil {
			return err
		}
		defer w.close()
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

func (s *service) subscribe(ctx context.Context) (err error) {
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

// close ends the receiver, and deletes the webhook endpoint of the run. It does so after an
// interruption, too.
func (s *service) close(ctx context.Context) error {
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

const cleanupPatience = 10 * time.Second // bounds the end of a run

func (s *service) request(name string) request {
	return map[string]request{
		authorizing: s.authorize, wholeLife: s.lifecycle, reading: s.read, notifying: s.announced, replaying: s.replay,
	}[name]
}

func (s *service) authorize(c *connection, n int64) error {
	_, err := s.pay(c.wire, s.run, n)
	return err
}

func (s *service) read(c *connection, n int64) error {
	_, err := expect(c.wire, "GET", "/payments/"+s.payments[int(n*31)%len(s.payments)], "", "")
	return err
}

func (s *service) announced(c *connection, n int64) error {
	began := time.Now()
	id, err := s.pay(c.wire, s.run, n)
	if err == nil {
		s.mu.Lock()
		s.began[id] = began
		s.mu.Unlock()
	}
	return err
}

const webhookPatience = 30 * time.Second // the wait without any webhook while some are missing

// delivered waits for the webhooks of all payments of a round, after its load. It puts the time
// from each payment's request to its webhook in the place of the time to its answer, counts missing
// webhooks as errors, and lets the round last until the last webhook.
func (s *service) delivered(ctx context.Context, began time.Time, patience time.Duration, t *tally) {
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

const replayPage = 1000

func (s *service) replay(c *connection, _ int64) error {
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

// pageOf returns the number of events in a page of GET /events, and its nextAfter, "" on the last
// page. It only scans the text, because decoding a page would take this machine longer than the
// server needs to write it.
func pageOf(answer []byte) (events int, next string) {
	const nextAfter = `],"nextAfter":`
	if at := bytes.LastIndex(answer, []byte(nextAfter)); at >= 0 {
		next = strings.TrimSuffix(strings.TrimSpace(string(answer[at+len(nextAfter):])), "}")
	}
	return bytes.Count(answer, []byte(`{"position":`)), next
}
