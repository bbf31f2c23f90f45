package demo

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// webhookPatience is how long the story waits for a webhook: they come in milliseconds, or when a processor
// has made up its mind.
const webhookPatience = 15 * time.Second

// told is a webhook that must come: its kind, and the payment's or dispute's status in it ("" where it has none).
type told struct{ eventType, status string }

func (t told) String() string { return strings.TrimSpace(t.eventType + " " + t.status) }

// then checks what a call brought: the payment's status, its new events in the ledger, the webhooks.
func (s *story) then(ctx context.Context, err error, p payment, status string, events []string, webhooks ...told) error {
	if err != nil {
		return err
	}
	if p.Status != status {
		return fmt.Errorf("the payment is %s, expected %s", p.note(), status)
	}
	if err := s.checkEvents(ctx, p.ID, events); err != nil {
		return err
	}
	return s.checkWebhooks(ctx, p, webhooks)
}

// later is then for what comes by itself: first the webhooks, then what GET answers.
func (s *story) later(ctx context.Context, p payment, status string, events []string, webhooks ...told) error {
	if err := s.checkWebhooks(ctx, p, webhooks); err != nil {
		return err
	}
	now, err := s.read(ctx, p.ID)
	if err == nil && now.Status != status {
		err = fmt.Errorf("the payment is %s, expected %s", now.note(), status)
	}
	if err != nil {
		return err
	}
	return s.checkEvents(ctx, p.ID, events)
}

// checkEvents shows the payment's events that are new. What comes next, by itself, may have come by now: it is for the
// next call, or for nothingMore.
func (s *story) checkEvents(ctx context.Context, id string, expected []string) error {
	events, err := s.history(ctx, id)
	if err != nil {
		return err
	}
	fresh := events[min(s.shown[id], len(events)):]
	fresh = fresh[:min(len(fresh), len(expected))]
	s.shown[id] += len(fresh)
	types := make([]string, len(fresh))
	for i, e := range fresh {
		s.out.event(e)
		types[i] = e.Type
	}
	if !slices.Equal(types, expected) {
		return fmt.Errorf("the ledger holds %v of the payment, expected %v", types, expected)
	}
	s.result.Events += len(fresh)
	return nil
}

// dispute is what the story looks at of a dispute (§6.4).
type dispute struct {
	Type        string `json:"type"`
	Status      string `json:"status"`
	Amount      int64  `json:"amount"`
	ReasonCode  string `json:"reasonCode"`
	Reason      string `json:"reason"`
	ChallengeBy string `json:"challengeRequiredBy"`
}

// checkDispute reads a payment's one dispute, which must be open.
func (s *story) checkDispute(ctx context.Context, id string, amount int64) error {
	var found struct {
		Data []dispute `json:"data"`
	}
	err := s.call(ctx, http.MethodGet, "/management/disputes?paymentId="+id, s.backend(), nil, &found, func() string {
		if len(found.Data) == 0 {
			return "no dispute"
		}
		d := found.Data[0]
		return fmt.Sprintf("%s %s of %s: %s, scheme code %s; to be challenged by %s", d.Type, d.Status, euros(d.Amount), d.Reason, d.ReasonCode, d.ChallengeBy)
	})
	if err == nil && (len(found.Data) != 1 || found.Data[0].Status != "OPEN" || found.Data[0].Amount != amount) {
		err = fmt.Errorf("the disputes of the payment are %+v, expected an open one of %s", found.Data, euros(amount))
	}
	return err
}

// checkWebhooks waits for the webhooks, in whatever order they come (§6.1). Those of the payment that are not expected
// yet are kept for the next call, or for nothingMore.
func (s *story) checkWebhooks(ctx context.Context, p payment, expected []told) error {
	ctx, cancel := context.WithTimeout(ctx, webhookPatience)
	defer cancel()
	came := s.early
	s.early = nil
	for len(expected) > 0 {
		if len(came) == 0 {
			h, err := s.nextWebhook(ctx, p)
			if err != nil {
				return fmt.Errorf("waiting for the webhook %s, after %v of the payment: %w", expected[0], s.early, err)
			}
			came = append(came, h)
		}
		h := came[0]
		came = came[1:]
		i := slices.Index(expected, h.told())
		if i < 0 || h.Payment.ID != p.ID {
			s.early = append(s.early, h)
			continue
		}
		expected = slices.Delete(expected, i, i+1)
		s.result.Webhooks++
		s.out.webhook(h)
	}
	s.early = append(s.early, came...)
	return nil
}

// nextWebhook waits for one, of this payment and no other, and compares it with what GET answers: it must not run ahead.
func (s *story) nextWebhook(ctx context.Context, p payment) (h webhook, err error) {
	select {
	case err = <-s.receiver.refused:
		return h, notVerified(err)
	case <-ctx.Done():
		return h, fmt.Errorf("none came within %s", webhookPatience)
	case h = <-s.receiver.webhooks:
	}
	if h.Payment.ID != p.ID {
		return h, fmt.Errorf("%s of payment %s came, expected one of %s", h, h.Payment.ID, p.ID)
	}
	now, err := s.peek(ctx, p.ID)
	if err == nil && now.DateUpdated < h.Payment.DateUpdated {
		err = fmt.Errorf("%s ran ahead of what GET answers", h)
	}
	return h, err
}
