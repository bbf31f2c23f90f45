package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// Stage is the running service that the story is played on.
type Stage struct {
	API           string // base URL
	APIKey        string
	SigningSecret string
	Out           io.Writer
}

// Result is what is left after the story, for whoever wants to look on.
type Result struct {
	Paid   string // id of the payment that was authorized
	Events int    // events of the story's payments
}

// webhookPatience is how long the story waits for a webhook: they come in milliseconds.
const webhookPatience = 15 * time.Second

// story is one playing.
type story struct {
	*merchant
	receiver *receiver
	result   Result
}

// Play tells the whole story; an error is where it went otherwise.
func Play(ctx context.Context, stage Stage) (_ Result, err error) {
	out := &printer{stage.Out}
	inbox, err := newReceiver(ctx, stage.SigningSecret)
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, inbox.close()) }()
	s := &story{merchant: &merchant{api: stage.API, apiKey: stage.APIKey, out: out}, receiver: inbox}
	out.line("Everything below is real: HTTP, a synced JetStream log, SQLite read models, signed webhooks.")
	out.chapter(1, "The merchant registers a webhook endpoint")
	if err := s.subscribe(ctx, inbox.url); err != nil {
		return s.result, err
	}
	out.told()
	for i, c := range chapters {
		out.chapter(i+2, c.title)
		if err := s.play(ctx, c); err != nil {
			return s.result, fmt.Errorf("chapter %d: %w", i+2, err)
		}
		out.told()
	}
	return s.result, nil
}

// chapter is one payment and what must come of it.
type chapter struct {
	title   string
	order   string
	article string
	amount  int64 // minor units of EUR
	card    string
	status  string
	code    string // of a decline
	events  []string
}

var chapters = []chapter{
	{
		title: "A customer pays 25.00 EUR", order: "order-1001", article: "Notebook", amount: 2500,
		card: "4111111111111111", status: "AUTHORIZED", events: []string{"payment.created", "payment.authorized"},
	},
	{
		title: "The issuer declines 80.00 EUR", order: "order-1002", article: "Fountain pen", amount: 8000,
		card: "4000000000009995", status: "DECLINED", code: "INSUFFICIENT_FUNDS",
		events: []string{"payment.created", "payment.declined"},
	},
}

func (s *story) play(ctx context.Context, c chapter) error {
	clientToken, err := s.clientSession(ctx, c.order, c.amount, c.article)
	if err != nil {
		return err
	}
	token, err := s.tokenize(ctx, clientToken, c.card)
	if err != nil {
		return err
	}
	paid, err := s.pay(ctx, token, "key-"+c.order)
	if err != nil {
		return err
	}
	if paid.Status != c.status || paid.StatusReason.Code != c.code {
		return fmt.Errorf("the payment is %s, expected %s %s", paid.note(), c.status, c.code)
	}
	if err := s.checkEvents(ctx, paid.ID, c.events); err != nil {
		return err
	}
	if err := s.checkWebhook(ctx, paid); err != nil {
		return err
	}
	if c.status == "AUTHORIZED" {
		s.result.Paid = paid.ID
	}
	return nil
}

func (s *story) checkEvents(ctx context.Context, id string, expected []string) error {
	events, err := s.history(ctx, id)
	if err != nil {
		return err
	}
	if len(events) != len(expected) {
		return fmt.Errorf("the ledger holds %d events of the payment, expected %d", len(events), len(expected))
	}
	for i, e := range events {
		s.out.event(e)
		if e.Type != expected[i] || e.Revision != i+1 {
			return fmt.Errorf("event %d is %s, expected %s", e.Revision, e.Type, expected[i])
		}
	}
	s.result.Events += len(events)
	return nil
}

// checkWebhook waits for the webhook and compares it with what GET answers: it must not run ahead.
func (s *story) checkWebhook(ctx context.Context, paid payment) error {
	ctx, cancel := context.WithTimeout(ctx, webhookPatience)
	defer cancel()
	select {
	case err := <-s.receiver.refused:
		return fmt.Errorf("a webhook did not verify: %w", err)
	case <-ctx.Done():
		return fmt.Errorf("no webhook came within %s", webhookPatience)
	case h := <-s.receiver.webhooks:
		if h.Payment.ID != paid.ID || h.Payment.Status != paid.Status {
			return fmt.Errorf("the webhook tells of payment %s %s, expected %s %s", h.Payment.ID, h.Payment.Status, paid.ID, paid.Status)
		}
		s.out.webhook(h)
		now, err := s.read(ctx, paid.ID)
		if err == nil && now.DateUpdated < h.Payment.DateUpdated {
			err = errors.New("the webhook ran ahead of what GET answers")
		}
		return err
	}
}
