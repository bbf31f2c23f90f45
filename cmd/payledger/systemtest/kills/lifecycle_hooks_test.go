//go:build system

package kills

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/notifier/signature"
)

// hooksSettle is how long after the last event webhooks may come.
const hooksSettle = 2 * time.Minute

// hookOf identifies a webhook: its event, and its kind.
type hookOf struct {
	payment  domain.PaymentID
	sequence uint64
	kind     string
	status   string // of PAYMENT.STATUS and PAYMENT.REFUND
}

// hooks are the webhooks that came, verified.
type hooks struct {
	mu     sync.Mutex
	came   map[hookOf]int
	faults []string
}

// receive subscribes a receiver to all that the account's payments cause.
func (s *stories) receive() {
	s.Helper()
	s.hooks = &hooks{came: map[hookOf]int{}}
	secret := s.app.Credentials.SigningSecret
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = signature.Verify(r.Header, body, time.Now(), secret)
		}
		var h struct {
			EventType string
			Sequence  uint64
			Payment   struct{ ID, Status string }
		}
		if err == nil {
			err = json.Unmarshal(body, &h)
		}
		s.hooks.mu.Lock()
		defer s.hooks.mu.Unlock()
		if err != nil {
			s.hooks.faults = append(s.hooks.faults, err.Error())
			return
		}
		if strings.HasPrefix(h.EventType, "DISPUTE.") {
			return // the disputed card's; nothing of its payment
		}
		s.hooks.came[hookOf{domain.PaymentID(h.Payment.ID), h.Sequence, h.EventType, h.Payment.Status}]++
	}))
	s.Cleanup(server.Close)
	s.merchant.Must(s.T, "POST", "/management/webhook-endpoints", s.merchant.Headers(), map[string]any{"url": server.URL})
}

// auditHooks compares the webhooks with the payments' facts. It derives the expected webhooks from
// the states before and after each event, not from the events' names. None may be missing, and none
// may be about another change (§6.2, D17).
func (s *stories) auditHooks() {
	s.Helper()
	want := map[hookOf]bool{}
	for _, l := range s.lives {
		s.wanted(l.id, want)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(hooksSettle); !s.hooks.all(want) && time.Now().Before(deadline); {
		<-tick.C
	}
	s.hooks.mu.Lock()
	defer s.hooks.mu.Unlock()
	for _, fault := range s.hooks.faults {
		s.Errorf("a webhook does not verify: %s", fault)
	}
	twice := 0
	for h, n := range s.hooks.came {
		if !want[h] {
			s.Errorf("nothing calls for the webhook %+v", h)
		}
		twice += n - 1
	}
	for h := range want {
		if s.hooks.came[h] == 0 {
			s.Errorf("the webhook %+v did not come", h)
		}
	}
	s.Logf("%d webhooks came as the facts call for, %d of them again", len(want), twice)
}

func (h *hooks) all(want map[hookOf]bool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.came) >= len(want)
}

// wanted adds the webhooks that a payment's facts call for.
func (s *stories) wanted(id domain.PaymentID, want map[hookOf]bool) {
	s.Helper()
	events, err := s.app.Ledger.Store.History(context.Background(), eventstore.Payments.Key(s.account, string(id)))
	if err != nil {
		s.Fatal(err)
	}
	var before payment.State
	notified := map[string]bool{} // actions with a webhook
	for _, r := range events {
		after, err := eventstore.StateAt(context.Background(), s.app.Ledger.Store, eventstore.Payments, r)
		if err != nil {
			s.Fatal(err)
		}
		after = after.Whole()
		if r.Revision > 1 {
			if before.Status() != after.Status() || beginsToWait(before, after, notified) {
				want[hookOf{id, r.Revision, "PAYMENT.STATUS", string(after.Status())}] = true
			}
			for i, op := range after.Operations {
				if i < len(before.Operations) && before.Operations[i].State == op.State {
					continue
				}
				for _, kind := range endOf(op) {
					h := hookOf{id, r.Revision, kind, ""}
					if kind == "PAYMENT.REFUND" {
						h.status = string(after.Status())
					}
					want[h] = true
				}
			}
		}
		before = after
	}
}

// beginsToWait reports whether a PENDING payment begins to wait: for its processor, or for its
// customer's next action.
func beginsToWait(before, after payment.State, notified map[string]bool) bool {
	if after.Status() != payment.StatusPending {
		return false
	}
	pending := func(s payment.State) (n int) {
		for _, op := range s.Operations {
			if (op.Kind == processor.Authorize || op.Kind == processor.Complete) && op.State == payment.StatePending {
				n++
			}
		}
		return n
	}
	if action := after.RequiredAction(); action != nil {
		completions := 0
		for _, op := range after.Operations {
			if op.Kind == processor.Complete {
				completions++
			}
		}
		this := fmt.Sprint(action.Revision, completions)
		if !notified[this] {
			notified[this] = true
			return true
		}
	}
	return pending(after) > pending(before)
}

// endOf returns the webhooks about a completed operation (§6.2); none for operations that
// PAYMENT.STATUS reports.
func endOf(op payment.Operation) (kinds []string) {
	if op.State != payment.StateFailed && op.State != payment.StateSucceeded {
		return nil
	}
	if op.Kind == processor.Refund && !op.Refused {
		kinds = append(kinds, "PAYMENT.REFUND")
	}
	failed := map[processor.Kind]string{
		processor.Capture: "PAYMENT.CAPTURE.FAILED", processor.Refund: "PAYMENT.REFUND.FAILED",
		processor.Void: "PAYMENT.CANCELLATION.FAILED", processor.Adjust: "PAYMENT.AUTHORIZATION_ADJUSTMENT.FAILED",
	}[op.Kind]
	if op.State == payment.StateFailed && failed != "" {
		kinds = append(kinds, failed)
	}
	return kinds
}
