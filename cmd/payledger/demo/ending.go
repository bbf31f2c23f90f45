package demo

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// delivery is what the story looks at of a webhook in the service's own list (D18).
type delivery struct {
	EventType string `json:"eventType"`
	Outcome   string `json:"outcome"`
}

// nothingMore holds the ledger and the webhooks to the story, which is over: no payment has an event that was not
// told, and no webhook came, or is still to come, but those that were.
func (s *story) nothingMore(ctx context.Context) error {
	quiet := s.quiet()
	for id, told := range s.shown {
		events, err := quiet.history(ctx, id)
		if err != nil {
			return err
		}
		if len(events) != told {
			return fmt.Errorf("the ledger holds %d events of payment %s, of which %d were told: %v", len(events), id, told, events)
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
		return fmt.Errorf("%d webhooks were sent, of which %d were told; these came beside them: %v", sent, s.result.Webhooks, left)
	}
	return nil
}

// delivered waits until no webhook to the receiver is on its way, and tells how many were sent.
func (s *story) delivered(ctx context.Context) (int, error) {
	quiet := s.quiet()
	path := "/management/webhook-deliveries?limit=100&endpointId=" + url.QueryEscape(s.endpoint)
	tick, late := time.NewTicker(20*time.Millisecond), time.After(webhookPatience)
	defer tick.Stop()
	for {
		var list struct {
			Data []delivery `json:"data"`
		}
		if err := quiet.call(ctx, http.MethodGet, path, quiet.backend(), nil, &list, func() string { return "" }); err != nil {
			return 0, err
		}
		underWay := func(d delivery) bool { return d.Outcome != "SUCCEEDED" }
		if len(list.Data) >= s.result.Webhooks && !slices.ContainsFunc(list.Data, underWay) {
			return len(list.Data), nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-late:
			return 0, fmt.Errorf("of %d webhooks some were not delivered within %s: %v", s.result.Webhooks, webhookPatience, list.Data)
		}
	}
}
