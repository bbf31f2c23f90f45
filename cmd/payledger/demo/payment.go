package demo

import (
	"cmp"
	"context"
	"fmt"
	"net/http"

	"payledger/httpapi/client"
)

func note(p client.Payment) string {
	text := p.Status
	at := processorOf(p)
	if at.Name != "" {
		text += " at " + at.Name
	}
	if at.AmountCaptured > 0 {
		text += fmt.Sprintf(", captured %s", euros(at.AmountCaptured))
	}
	if at.AmountRefunded > 0 {
		text += fmt.Sprintf(", refunded %s", euros(at.AmountRefunded))
	}
	switch r := reasonOf(p); {
	case r.Code != "":
		text += fmt.Sprintf(" (%s %s, advised: %s)", r.Type, r.Code, r.AdvisedAction)
	case r.Type != "":
		text += fmt.Sprintf(" (%s)", r.Type)
	}
	if p.RequiredAction != nil {
		text += ", the customer must act: " + p.RequiredAction.Name
	}
	return text
}

func euros(minor int64) string { return fmt.Sprintf("%d.%02d EUR", minor/100, minor%100) }

func processorOf(p client.Payment) client.Processor {
	return *cmp.Or(p.Processor, &client.Processor{})
}

func reasonOf(p client.Payment) client.StatusReason {
	return *cmp.Or(p.StatusReason, &client.StatusReason{})
}

func newest(p client.Payment, eventType string) (id string) {
	for _, t := range p.Transactions {
		for _, e := range t.Events {
			if e.Type == eventType {
				id = e.ID
			}
		}
	}
	return id
}

func (m *merchant) operate(ctx context.Context, path, key string, body map[string]any) (p client.Payment, err error) {
	r := request(http.MethodPost, path, nil)
	if r.IdempotencyKey = key + m.run; body != nil {
		r.Body = body
	}
	err = m.call(ctx, r, &p, func() string { return note(p) })
	return p, err
}

func (m *merchant) read(ctx context.Context, id string) (p client.Payment, err error) {
	r := request(http.MethodGet, "/payments/"+id+"?expand=transactions.events", nil)
	err = m.call(ctx, r, &p, func() string { return note(p) })
	return p, err
}

// challenge passes the 3-D Secure check as the customer's browser does (D12).
func (m *merchant) challenge(ctx context.Context, clientToken string) (string, error) {
	var done struct {
		ResumeToken string `json:"resumeToken"`
	}
	err := m.call(ctx, browser(clientToken, "/required-actions/complete", map[string]any{"outcome": "AUTHENTICATED"}), &done, func() string { return "the customer passed the check; a resume token for the merchant" })
	return done.ResumeToken, err
}
