package demo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"payledger/httpapi/client"
)

// patience bounds each wait for the service, a processor or a webhook. Most take milliseconds; on a
// machine with other work, longer.
const patience = time.Minute

// hook is an expected webhook: its event type, and the status of the payment or dispute in it (""
// without one).
type hook struct{ eventType, status string }

func (h hook) String() string { return strings.TrimSpace(h.eventType + " " + h.status) }

// then checks the results of a call: the payment's status, its new events in the ledger, the
// webhooks.
func (s *story) then(ctx context.Context, err error, p client.Payment, status string, events []string, webhooks ...hook) error {
	if err != nil {
		return err
	}
	if p.Status != status {
		return fmt.Errorf("the payment is %s, expected %s", note(p), status)
	}
	if err := s.checkEvents(ctx, p.ID, events); err != nil {
		return err
	}
	return s.checkWebhooks(ctx, p, webhooks)
}

// later checks results that follow without a call: first the webhooks, then the answer of GET.
func (s *story) later(ctx context.Context, p client.Payment, status string, events []string, webhooks ...hook) error {
	if err := s.checkWebhooks(ctx, p, webhooks); err != nil {
		return err
	}
	now, err := s.read(ctx, p.ID)
	if err == nil && now.Status != status {
		err = fmt.Errorf("the payment is %s, expected %s", note(now), status)
	}
	if err != nil {
		return err
	}
	return s.checkEvents(ctx, p.ID, events)
}

// checkEvents prints the payment's new events. Later ones that are already there are for the next
// call, or for nothingMore.
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

// pends reports whether an event of a type is among the payment's new ones.
func (s *story) pends(ctx context.Context, id, eventType string) (bool, error) {
	events, err := s.quiet().history(ctx, id)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(events[min(s.shown[id], len(events)):], func(e audited) bool { return e.Type == eventType }), nil
}

// dispute has the checked fields of a dispute (§6.4).
type dispute struct {
	Type        string `json:"type"`
	Status      string `json:"status"`
	Amount      int64  `json:"amount"`
	ReasonCode  string `json:"reasonCode"`
	Reason      string `json:"reason"`
	ChallengeBy string `json:"challengeRequiredBy"`
}

func (s *story) checkDispute(ctx context.Context, id string, amount int64) error {
	var found page[dispute]
	err := s.call(ctx, request(http.MethodGet, "/management/disputes?paymentId="+id, nil), &found, func() string {
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

// checkWebhooks waits for the webhooks, in any order (§6.1). Others of the payment are kept for the
// next call, or for nothingMore.
func (s *story) checkWebhooks(ctx context.Context, p client.Payment, expected []hook) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	expected = slices.Clone(expected)
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
		i := slices.Index(expected, h.hook())
		if i < 0 || h.Payment.ID != p.ID {
			s.early = append(s.early, h)
			continue
		}
		expected = slices.Delete(expected, i, i+1)
		s.result.Webhooks++
		if h.PaymentID != "" {
			s.disputes++
		}
		s.out.webhook(h)
	}
	s.early = append(s.early, came...)
	return nil
}

// nextWebhook waits for a webhook of this payment, and checks that it does not run ahead of the
// answer of GET.
func (s *story) nextWebhook(ctx context.Context, p client.Payment) (h webhook, err error) {
	select {
	case err = <-s.receiver.refused:
		return h, notVerified(err)
	case <-ctx.Done():
		return h, fmt.Errorf("none came within %s", patience)
	case h = <-s.receiver.webhooks:
	}
	if h.Payment.ID != p.ID {
		return h, fmt.Errorf("%s of payment %s came, expected one of %s", h, h.Payment.ID, p.ID)
	}
	now, err := s.quiet().read(ctx, p.ID)
	if err == nil && now.DateUpdated.Before(h.Payment.DateUpdated) {
		err = fmt.Errorf("%s ran ahead of what GET answers", h)
	}
	return h, err
}

// delivery has the checked fields of a webhook delivery (D18).
type delivery struct {
	EventType string `json:"eventType"`
	Outcome   string `json:"outcome"`
}

// nothingMore checks after the story that no payment has other events and that no other webhook
// came or is to come.
func (s *story) nothingMore(ctx context.Context) error {
	for id, shown := range s.shown {
		events, err := s.quiet().history(ctx, id)
		if err != nil {
			return err
		}
		if len(events) != shown {
			return fmt.Errorf("the ledger holds %d events of payment %s, %d were expected: %v", len(events), id, shown, events)
		}
	}
	sent, err := s.delivered(ctx)
	if err != nil {
		return err
	}
	left, err := s.receiver.left()
	if err != nil {
		return err
	}
	if left = append(s.early, left...); len(left) > 0 || sent != s.result.Webhooks {
		return fmt.Errorf("%d webhooks were sent, %d were expected; these came besides: %v", sent, s.result.Webhooks, left)
	}
	return nil
}

func (s *story) delivered(ctx context.Context) (int, error) {
	var list []delivery
	err := until(ctx, "the deliveries", func() (done bool, err error) {
		list, err = s.deliveries(ctx)
		return allDelivered(list, s.result.Webhooks), err
	})
	if errors.Is(err, errLate) {
		err = fmt.Errorf("of %d webhooks some were not delivered within %s: %v", s.result.Webhooks, patience, list)
	}
	return len(list), err
}

func allDelivered(list []delivery, n int) bool {
	return len(list) >= n && !slices.ContainsFunc(list, func(d delivery) bool { return d.Outcome != "SUCCEEDED" })
}

// deliveries returns the deliveries to an endpoint, or with a Run those of the story's payments:
// one about a dispute names no payment.
func (s *story) deliveries(ctx context.Context) (all []delivery, err error) {
	path := "/management/webhook-deliveries?limit=100&endpointId=" + url.QueryEscape(s.endpoint)
	paths := []string{path}
	if s.run != "" {
		paths, all = paths[:0], slices.Repeat([]delivery{{Outcome: "SUCCEEDED"}}, s.disputes)
		for id := range s.shown {
			paths = append(paths, path+"&paymentId="+url.QueryEscape(id))
		}
	}
	for _, path := range paths {
		var list page[delivery]
		if err := s.ask(ctx, request(http.MethodGet, path, nil), &list); err != nil {
			return nil, err
		}
		all = append(all, list.Data...)
	}
	return all, nil
}
