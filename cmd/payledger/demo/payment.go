package demo

import (
	"context"
	"fmt"
	"net/http"
)

// payment has the checked fields of the Payment JSON (D6).
type payment struct {
	ID           string `json:"id"`
	OrderID      string `json:"orderId"`
	Status       string `json:"status"`
	DateUpdated  string `json:"dateUpdated"`
	StatusReason struct {
		Type          string `json:"type"`
		Code          string `json:"code"`
		AdvisedAction string `json:"advisedAction"`
	} `json:"statusReason"`
	Processor struct {
		Name           string `json:"name"`
		AmountCaptured int64  `json:"amountCaptured"`
		AmountRefunded int64  `json:"amountRefunded"`
	} `json:"processor"`
	RequiredAction struct {
		Name        string `json:"name"`
		ClientToken string `json:"clientToken"`
	} `json:"requiredAction"`
	Transactions []struct {
		TransactionType string             `json:"transactionType"`
		Events          []transactionEvent `json:"events"`
	} `json:"transactions"`
}

type transactionEvent struct {
	ID   string `json:"id"`
	Type string `json:"type"`
}

func (p payment) note() string {
	text := p.Status
	if p.Processor.Name != "" {
		text += " at " + p.Processor.Name
	}
	if p.Processor.AmountCaptured > 0 {
		text += fmt.Sprintf(", captured %s", euros(p.Processor.AmountCaptured))
	}
	if p.Processor.AmountRefunded > 0 {
		text += fmt.Sprintf(", refunded %s", euros(p.Processor.AmountRefunded))
	}
	switch r := p.StatusReason; {
	case r.Code != "":
		text += fmt.Sprintf(" (%s %s, advised: %s)", r.Type, r.Code, r.AdvisedAction)
	case r.Type != "":
		text += fmt.Sprintf(" (%s)", r.Type)
	}
	if p.RequiredAction.Name != "" {
		text += ", the customer must act: " + p.RequiredAction.Name
	}
	return text
}

// euros formats minor units of EUR.
func euros(minor int64) string { return fmt.Sprintf("%d.%02d EUR", minor/100, minor%100) }

func (p payment) newest(eventType string) (found transactionEvent) {
	for _, t := range p.Transactions {
		for _, e := range t.Events {
			if e.Type == eventType {
				found = e
			}
		}
	}
	return found
}

func (m *merchant) operate(ctx context.Context, path, key string, body map[string]any) (payment, error) {
	var p payment
	r := request(http.MethodPost, path, nil)
	if r.IdempotencyKey = key + m.run; body != nil {
		r.Body = body
	}
	err := m.call(ctx, r, &p, func() string { return p.note() })
	return p, err
}

func (m *merchant) read(ctx context.Context, id string) (payment, error) {
	var p payment
	err := m.call(ctx, request(http.MethodGet, "/payments/"+id+"?expand=transactions.events", nil), &p, func() string { return p.note() })
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
