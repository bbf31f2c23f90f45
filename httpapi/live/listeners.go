package live

import (
	"context"
	"errors"
	"sync"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore/commands"
	"payledger/eventstore/commands/accounts"
	"payledger/httpapi/request"
	"payledger/httpapi/validation"
	"payledger/projections/paymentjson"
)

// Commands are the commands of these calls; every method records, or refuses with a domain.Error.
type Commands interface {
	CreateEndpoint(ctx context.Context, by commands.Caller, in accounts.EndpointInput) (account.Endpoint, error)
	// DeleteEndpoint returns the endpoint as it was.
	DeleteEndpoint(ctx context.Context, by commands.Caller, id domain.EndpointID) (account.Endpoint, error)
}

// Listeners hand webhooks to readers of streams (package notifier/listener, D18).
type Listeners interface {
	// Secret returns the secret that also signs the webhooks of a listener.
	Secret(account domain.AccountID, id domain.EndpointID) string
	// Read hands the webhooks of a listener over until ctx ends (its error), or until another
	// reader or a deletion ends the stream (nil).
	Read(ctx context.Context, account domain.AccountID, id domain.EndpointID, send func(Webhook) error) error
	// Answer gives the program's answer to a webhook. known is false if none with this id waits.
	Answer(ctx context.Context, account domain.AccountID, id domain.EndpointID, a Answer) (known bool, err error)
	// End ends the stream of a listener, on whichever node.
	End(ctx context.Context, account domain.AccountID, id domain.EndpointID)
}

// Webhook is a webhook for the reader of a listener.
type Webhook struct {
	Data any // JSON
	// Begin is called immediately before the first byte.
	Begin func() (end func(), err error)
}

// Answer is a program's answer to a webhook (D20).
type Answer struct {
	ID      string `json:"id"` // of the webhook in the stream
	Status  int    `json:"status"`
	Failure string `json:"failure"` // the reason why there is no status
	Body    string `json:"body"`    // the first bytes of the answer
}

// Handlers serve the calls.
type Handlers struct {
	Commands  Commands
	Listeners Listeners
	Log       *RequestLog // of this node
	Requests  *Nodes      // of all nodes
	// CaughtUp returns when the reads show everything that was recorded before the call.
	CaughtUp func(ctx context.Context) error
	// Account returns the newest state of an account that this node has applied.
	Account func(id domain.AccountID) (account.State, bool)
	// Timeout is the time that a program has for its answer, and Expiry the time after which a
	// listener without a reader is deleted.
	Timeout, Expiry time.Duration
}

// Rules are the rules of requests that openapi.yaml cannot express, by operation.
func (h *Handlers) Rules() map[string]request.Rule {
	return map[string]request.Rule{"answerWebhookListener": answerRules}
}

func answerRules(v *validation.Violations, c *request.Call) {
	_, status := c.Body.Tree["status"]
	failure, failed := c.Body.Tree["failure"]
	if status == failed {
		v.Add("$.status", "must be there, or failure in its place")
	}
	if failure == "STATUS" {
		v.Add("$.failure", "must be left out if the program answered; send its status")
	}
}

type listenerRequest struct {
	Description string   `json:"description"`
	EventTypes  []string `json:"eventTypes"`
}

type listenerAnswer struct {
	ID             domain.EndpointID `json:"id"`
	Description    string            `json:"description"`
	EventTypes     []string          `json:"eventTypes"`
	CreatedAt      paymentjson.Time  `json:"createdAt"`
	SigningSecret  string            `json:"signingSecret,omitempty"`
	TimeoutMs      int64             `json:"answerWithinMs"`
	ExpiresSeconds int64             `json:"expiresWithoutReaderSeconds"`
}

func (h *Handlers) render(e account.Endpoint) listenerAnswer {
	return listenerAnswer{
		ID: e.ID, Description: e.Description, EventTypes: append([]string{}, e.EventTypes...), CreatedAt: paymentjson.Time{Time: e.CreatedAt},
		TimeoutMs: h.Timeout.Milliseconds(), ExpiresSeconds: int64(h.Expiry / time.Second),
	}
}

// CreateListener serves POST /management/webhook-listeners.
func (h *Handlers) CreateListener(c *request.Call, body listenerRequest) (any, error) {
	made, err := h.Commands.CreateEndpoint(c.Ctx, c.Caller(), accounts.EndpointInput{
		URL: account.ListenerURL, Description: body.Description, EventTypes: body.EventTypes,
	})
	if err != nil {
		return nil, err
	}
	h.wait(c)
	answer := h.render(made)
	answer.SigningSecret = h.Listeners.Secret(c.Merchant.ID, made.ID)
	return answer, nil
}

// DeleteListener serves DELETE /management/webhook-listeners/{id}.
func (h *Handlers) DeleteListener(c *request.Call) (any, error) {
	e, err := listener(c)
	if err != nil {
		return nil, err
	}
	if e, err = h.Commands.DeleteEndpoint(c.Ctx, c.Caller(), e.ID); err != nil {
		return nil, err
	}
	h.Listeners.End(c.Ctx, c.Merchant.ID, e.ID)
	h.wait(c)
	return h.render(e), nil
}

const shownWithin = 5 * time.Second

// wait waits until this node's views show a change. Views that do not advance must not withhold the
// answer: only it shows the secret.
func (h *Handlers) wait(c *request.Call) {
	ctx, cancel := context.WithTimeout(c.Ctx, shownWithin)
	defer cancel()
	_ = h.CaughtUp(ctx)
}

func listener(c *request.Call) (account.Endpoint, error) {
	e, known := c.Merchant.Endpoint(domain.EndpointID(c.Vars["id"]))
	if !known || !e.Listener() {
		refusal := domain.Refuse(domain.KindNotFound, domain.ReasonEntityNotFound, "There is no webhook listener of this id.")
		refusal.Recovery = "A listener without a reader is deleted after a minute: create another one with POST /management/webhook-listeners."
		return e, refusal
	}
	return e, nil
}

// A stream checks every lookEvery whether its listener still exists. A listener that none of the
// first firstLooks checks found does not exist.
const (
	lookEvery  = 5 * time.Second
	firstLooks = 12
)

// StreamListener serves GET /management/webhook-listeners/{id}/stream.
func (h *Handlers) StreamListener(c *request.Call) (any, error) {
	e, err := listener(c)
	if err != nil {
		return nil, err
	}
	owner := c.Merchant.ID
	return request.Feed(func(ctx context.Context, send func(request.ServerEvent) error) error {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		stop := h.watch(ctx, owner, e.ID, cancel)
		defer stop()
		number := uint64(0)
		next := func(kind string, w Webhook) error {
			number++
			return send(request.ServerEvent{ID: number, Type: kind, Data: w.Data, Begin: w.Begin})
		}
		if err := next("ready", Webhook{Data: h.render(e)}); err != nil {
			return err
		}
		err := h.Listeners.Read(ctx, owner, e.ID, func(w Webhook) error { return next("webhook", w) })
		if errors.Is(context.Cause(ctx), errDeleted) {
			return nil
		}
		return err
	}), nil
}

var errDeleted = errors.New("httpapi: the listener was deleted")

// watch cancels when the listener of a stream does not exist any more: it was deleted as an
// endpoint, or on another node.
func (h *Handlers) watch(ctx context.Context, owner domain.AccountID, id domain.EndpointID, cancel context.CancelCauseFunc) (stop func()) {
	var watching sync.WaitGroup
	watching.Go(func() {
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		seen := false
		for looks := 0; ; looks++ {
			now, _ := h.Account(owner)
			_, there := now.Endpoint(id)
			if seen = seen || there; !there && (seen || looks >= firstLooks) { // a view that is behind does not show the listener yet
				cancel(errDeleted)
				return
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	})
	return func() { cancel(nil); watching.Wait() }
}

// AnswerListener serves POST /management/webhook-listeners/{id}/answers.
func (h *Handlers) AnswerListener(c *request.Call, body Answer) (any, error) {
	e, err := listener(c)
	if err != nil {
		return nil, err
	}
	known, err := h.Listeners.Answer(c.Ctx, c.Merchant.ID, e.ID, body)
	if err != nil {
		return nil, domain.Unavailable(err)
	}
	if !known {
		refusal := domain.Refuse(domain.KindNotFound, domain.ReasonEntityNotFound, "No webhook of this id waits for an answer.")
		refusal.Recovery = "The answer came too late, or twice. The delivery has the outcome, and is sent again on its schedule: GET /management/webhook-deliveries lists it."
		return nil, refusal
	}
	return map[string]any{"accepted": true}, nil
}
