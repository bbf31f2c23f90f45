package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"payledger/cmd/payledger/demo/connector"
	"payledger/eventstore/commands/accounts"
	"payledger/httpapi/client"
)

// Stage is the running service for the story.
type Stage struct {
	API           string // base URL
	APIKey        string
	SigningSecret string
	Out           io.Writer
	// Run, if set, is a text that no other story on this service has had: orders and idempotency
	// keys end with it. The story then ignores the webhooks of other payments.
	Run string
	// Connector, if set, is the only processor, in the place of the simulated ones.
	Connector *connector.Connector
}

// Result is the result of the story.
type Result struct {
	Paid     string // id of the payment that was captured and partly refunded
	Payments int
	Events   int // events of the story's payments
	Webhooks int // about them
	LeftOut  int // chapters that the connector cannot play
}

// Outlook is what a newcomer can look at after a story.
type Outlook struct {
	Payment               string // id
	Data                  string // folder
	API, Admin, Simulator string
	Connector             *connector.Connector // nil: the simulator is there
	Credentials           accounts.Credentials
}

type story struct {
	*merchant
	receiver *receiver
	endpoint string         // of the receiver
	shown    map[string]int // events of each payment that the reader has seen
	disputes int            // webhooks about disputes
	early    []webhook      // webhooks that came before they were expected
	now      client.Payment // of the chapter
	paid     client.Payment // of the first chapter, for the later ones
	result   Result

	connector *connector.Connector // nil: the processors are simulated
}

// chapter is a part of a story S; play returns an error for an unexpected result.
type chapter[S any] struct {
	title string
	play  func(S, context.Context) error
}

// leftOut is the reason why a chapter is not played. It is no failure.
type leftOut string

func (l leftOut) Error() string { return string(l) }

// perform plays chapters, and returns the number of those that were left out.
func perform[S any](ctx context.Context, out *printer, s S, chapters []chapter[S]) (left int, err error) {
	for i, c := range chapters {
		out.chapter(i+1, c.title)
		err := c.play(s, ctx)
		if without, is := errors.AsType[leftOut](err); is {
			out.leftOut(string(without))
			left++
			continue
		}
		if err != nil {
			return left, fmt.Errorf("chapter %d: %w", i+1, err)
		}
		out.passed()
	}
	return left, nil
}

// Play plays the whole story. Its error is the first unexpected result.
func Play(ctx context.Context, stage Stage) (_ Result, err error) {
	out := &printer{stage.Out}
	inbox, err := newReceiver(ctx, stage.SigningSecret, stage.Run)
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, inbox.close()) }()
	s := &story{
		merchant: &merchant{api: stage.API, apiKey: stage.APIKey, out: out, run: stage.Run}, receiver: inbox, shown: map[string]int{}, connector: stage.Connector,
	}
	defer func() { err = cmp.Or(err, s.unsubscribe(ctx)) }() // before the receiver closes
	out.line("Everything below is real: HTTP, a synced JetStream log, SQLite read models, signed webhooks.")
	played := chapters
	if s.connector != nil {
		s.introduceConnector()
		played = connectorChapters
	}
	if s.result.LeftOut, err = perform(ctx, out, s, played); err != nil {
		return s.result, err
	}
	if err := s.nothingMore(ctx); err != nil {
		return s.result, fmt.Errorf("after the last chapter: %w", err)
	}
	s.result.Paid, s.result.Payments = s.paid.ID, len(s.shown)
	return s.result, nil
}

const unsubscribePatience = 10 * time.Second

// unsubscribe deletes the story's webhook endpoint, if there is one, also after an interruption.
func (s *story) unsubscribe(ctx context.Context) error {
	if s.endpoint == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unsubscribePatience)
	defer cancel()
	return s.ask(ctx, request(http.MethodDelete, "/management/webhook-endpoints/"+s.endpoint, nil), nil)
}
