package demo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
)

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
