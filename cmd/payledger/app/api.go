package app

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"strings"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/processor"
	"payledger/eventstore/commands/reconcile"
	"payledger/eventstore/commands/workflows"
	"payledger/httpapi"
	"payledger/httpapi/checkout"
	"payledger/httpapi/live"
	"payledger/notifier"
	"payledger/notifier/delivery"
	"payledger/notifier/listener"
	"payledger/notifier/message"
	"payledger/projections/deliveries"
	"payledger/projections/eventjson"
	"payledger/projections/history"
)

func (a *App) apiConfig() httpapi.Config {
	return httpapi.Config{
		Commands: a.Commands, Reader: a.reader(), Timed: a.durations.Request,
		History: &history.Reader{
			Store: a.Ledger.Store, Secrets: a.Ledger.Secrets, Now: a.clock, First6Digits: a.first6DigitsNow, NextLookup: a.Recoverer.NextLookup,
			Deliveries: notifier.NewDeliveryReader(a.Ledger.Store),
		},
		Events: eventjson.NewFeed(a.Ledger.Store), Closing: a.closing,
		Proofs:     a.proofs,
		Reconciler: reconcile.Reconciler{Store: a.Ledger.Store, Books: a.Processors, Grace: a.Options.PaymentTimeout},
		Deliveries: a.webhooks, Workflows: a.workflows, ClientTokenKey: a.Ledger.Derive("client tokens"), PublicURL: a.Options.PublicURL,
		Environment: a.Options.Environment, Now: a.clock, Random: rand.Reader, Logger: a.log,
		Users: a.Users, KeyUses: a.KeyUses, Intake: a.Intake,
		Lease: a.Nodes.Valid, Nodes: a.Nodes.Serving, Ready: a.publicReason, RateLimit: a.Options.RateLimit, OtherCounts: a.otherCounts, OtherRequests: a.otherRequests,
		CheckURL: a.NotifierConfig().Guard().CheckURL, Notifications: a.readNotification, Connection: a.Processors.Connection,
		Listeners: readers{a.Listeners}, WebhookTimeout: a.Options.WebhookTimeout, ListenerExpiry: listener.Expiry,
		TestEndpoint: a.testEndpoint, FrameAncestors: a.Options.FrameAncestors,
	}
}

// readers connects the readers of listeners with the hub.
type readers struct{ hub *listener.Hub }

func (r readers) Secret(owner domain.AccountID, id domain.EndpointID) string {
	return r.hub.Secret(listener.Endpoint{Account: owner, ID: id}.Lane())
}

func (r readers) Read(ctx context.Context, owner domain.AccountID, id domain.EndpointID, send func(live.Webhook) error) error {
	s, err := r.hub.Open(ctx, listener.Endpoint{Account: owner, ID: id}.Lane())
	if err != nil {
		return err
	}
	defer s.Close()
	for {
		e, err := s.Next(ctx)
		switch {
		case errors.Is(err, listener.ErrCut):
			return nil
		case err != nil:
			return err
		}
		if err := send(live.Webhook{Data: e.Request, Begin: e.Begin}); err != nil {
			return err
		}
	}
}

func (r readers) Answer(ctx context.Context, owner domain.AccountID, id domain.EndpointID, a live.Answer) (known bool, err error) {
	given := listener.Answer{Status: a.Status, Failure: delivery.Failure(a.Failure), Body: a.Body}
	err = r.hub.Answer(ctx, listener.Endpoint{Account: owner, ID: id}.Lane(), a.ID, given)
	if errors.Is(err, listener.ErrUnknown) {
		return false, nil
	}
	return err == nil, err
}

func (r readers) End(ctx context.Context, owner domain.AccountID, id domain.EndpointID) {
	r.hub.Close(ctx, listener.Endpoint{Account: owner, ID: id}.Lane())
}

// testEndpoint sends the test message to a webhook endpoint once (§6.1 rule 7).
func (a *App) testEndpoint(ctx context.Context, owner domain.AccountID, endpoint domain.EndpointID) (deliveries.Attempt, error) {
	attempt, err := a.notifier.SendTest(ctx, owner, endpoint)
	if errors.Is(err, message.ErrNoEndpoint) {
		err = account.NoEndpoint() // deleted meanwhile
	}
	return deliveries.Attempt{
		StartedAt: attempt.StartedAt, Duration: time.Duration(attempt.Duration) * time.Microsecond,
		StatusCode: attempt.StatusCode, Failure: string(attempt.Failure), Excerpt: attempt.Excerpt,
	}, err
}

// notifyURL is the address for a processor's notifications (D14.3). The public URL is known once
// the API listens.
func (a *App) notifyURL(name processor.Name) string {
	return strings.TrimSuffix(a.Options.PublicURL, "/") + "/processors/" + string(name) + "/notifications"
}

// returnURL is the address to which a processor sends the customer after an action on its own page.
func (a *App) returnURL() string {
	return strings.TrimSuffix(a.Options.PublicURL, "/") + checkout.PathReturn
}

func (a *App) readNotification(name processor.Name, header http.Header, body []byte) (processor.SignedNotification, error) {
	return a.Processors.ParseNotification(name, header, body)
}

func (a *App) first6DigitsNow(ctx context.Context, id domain.AccountID) (bool, error) {
	now, err := a.Views.Settings(ctx, id)
	return now.First6Digits, err
}

// openWorkflows connects the workflow engine to payments, webhooks and views (D19).
func (a *App) openWorkflows(ctx context.Context) error {
	if !a.keepsViews() {
		return nil
	}
	ofPayments, ofDisputes, err := notifier.Compilers()
	if err != nil {
		return err
	}
	ports := a.notifier.Workflows()
	a.workflows, err = workflows.New(ctx, workflows.Config{
		Store: a.Ledger.Store, Compiler: ofPayments, DisputeCompiler: ofDisputes, Subjects: ports, Payments: a.Commands, Requests: ports,
		OpenRuns: a.Views, Now: a.clock, Logger: a.log, Alone: a.Options.NatsURL == "", Left: a.Nodes.Left, Plans: a.Nodes.Plans, Lost: a.Nodes.Lost,
	})
	return err
}
