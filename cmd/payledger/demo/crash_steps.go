package demo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/httpapi/client"
)

type operation struct {
	kind   processor.Kind
	amount int64 // minor units of EUR
	key    domain.OperationKey
}

// expectation is the expected outcome of a request in whose middle the service is killed.
type expectation struct {
	operation
	requested, outcome string                // events
	before, status     string                // of the payment: without the outcome, and with it
	hook               hook                  // of the outcome
	known              processor.LookupState // of the operation, in the processor's answer to the first question after the start
}

// interruption is a merchant's request in whose middle the service is killed.
type interruption struct {
	expectation
	path        string
	body        map[string]any
	merchantKey string // the request's idempotency key (D9)

	// reached reports whether the processor is where the service is to be killed, and describes it.
	reached func(context.Context, *interruption) (string, bool, error)
	// down, if set, runs while no service runs.
	down func(context.Context, *interruption) error
}

func (i *interruption) request() client.Request {
	return client.Request{Method: http.MethodPost, Path: i.path, Body: i.body, IdempotencyKey: i.merchantKey}
}

// interrupt sends the request, kills the service in the middle, starts it again and reads the
// outcome.
func (c *Crashes) interrupt(ctx context.Context, op *interruption) error {
	lost := c.send(ctx, op.request())
	if err := c.awaitMiddle(ctx, op, lost); err != nil {
		return err
	}
	op.key = c.nextKey()
	if err := c.showEvents(ctx); err != nil {
		return err
	}
	if err := c.kill(ctx, op, lost); err != nil {
		return err
	}
	found := &finding{expectation: op.expectation}
	c.facts.findings = append(c.facts.findings, found)
	if op.down != nil {
		if err := op.down(ctx, op); err != nil {
			return err
		}
	}
	if err := c.readDisk(ctx, found); err != nil {
		return err
	}
	asked := len(c.there.about(op.key))
	if err := c.again(ctx); err != nil {
		return err
	}
	if err := c.repeat(ctx, op, found); err != nil {
		return err
	}
	if err := c.watchQuestions(ctx, op, asked); err != nil {
		return err
	}
	if err := c.readOutcome(ctx, found); err != nil {
		return err
	}
	found.calls = c.there.about(op.key)[asked:]
	c.expect(found.questions(c.facts.name))
	return c.recorded(ctx)
}

// send sends a request once, in the background. The channel gets its error, nil for an answer.
func (c *Crashes) send(ctx context.Context, r client.Request) <-chan error {
	lost := make(chan error, 1)
	api := &client.Client{URL: c.api, APIKey: c.apiKey, HTTP: &c.client}
	go func() {
		answer, err := api.Do(ctx, r)
		if err == nil {
			err = answer.Body.Close()
		}
		lost <- err
	}()
	return lost
}

func (c *Crashes) awaitMiddle(ctx context.Context, op *interruption, lost <-chan error) error {
	var text string
	err := until(ctx, "the request at the processor", func() (reached bool, err error) {
		select {
		case err := <-lost:
			return false, errors.Join(errEarly, err)
		case <-c.service.Ended():
			return false, fmt.Errorf("the service ended: %w", c.service.Reason())
		default:
		}
		text, reached, err = op.reached(ctx, op)
		return reached, err
	})
	if err == nil {
		c.out.unanswered(http.MethodPost, op.path, "no answer yet", text)
	}
	return err
}

// kill kills the service, whose caller gets no answer, and waits until the processors have noticed.
func (c *Crashes) kill(ctx context.Context, op *interruption, lost <-chan error) error {
	if err := c.service.Kill(); err != nil {
		return err
	}
	c.out.command(fmt.Sprintf("kill -9 %d", c.service.PID))
	err := <-lost
	var apiErr *client.Error
	var broken *url.Error
	switch {
	case err == nil || errors.As(err, &apiErr):
		return errors.Join(errEarly, err)
	case errors.As(err, &broken):
		err = broken.Err
	}
	c.out.unanswered(http.MethodPost, op.path, "no answer", fmt.Sprintf("the connection broke (%s): the merchant cannot know what happened", err))
	return until(ctx, "the end of the calls of the killed service", func() (bool, error) { return c.there.inside.Load() == 0, nil })
}

// repeat sends the request again under its key. The answer names the payment (D9).
func (c *Crashes) repeat(ctx context.Context, op *interruption, found *finding) error {
	var took time.Duration
	api := &client.Client{
		URL: c.api, APIKey: c.apiKey, HTTP: &c.client, Seen: func(_ client.Request, _ int, t time.Duration) { took = t },
	}
	answer, err := api.Do(ctx, op.request())
	var apiErr *client.Error
	switch {
	case err == nil:
		found.repeat = &client.Error{Status: answer.StatusCode}
		if err := answer.Body.Close(); err != nil {
			return err
		}
	case errors.As(err, &apiErr):
		found.repeat = apiErr
	default:
		return err
	}
	difference := found.repeated(c.paid.ID)
	note := ""
	if difference == nil {
		note = fmt.Sprintf("the same key again: the request is on record, and is not done twice (%s). It is payment %s, %s", apiErr.ErrorID, apiErr.PaymentID, apiErr.PaymentStatus)
	}
	c.out.request(http.MethodPost, op.path, found.repeat.Status, took, note)
	c.expect(difference)
	return nil
}

// watchQuestions waits until the service, after its start, knows enough at the processor, and
// prints its calls there.
func (c *Crashes) watchQuestions(ctx context.Context, op *interruption, asked int) error {
	var calls []call
	err := until(ctx, "a question to "+string(c.facts.name), func() (bool, error) {
		calls = c.there.about(op.key)[asked:]
		return slices.ContainsFunc(calls, func(call call) bool {
			return call.send || op.known == processor.Known && call.answer.State == processor.Known
		}), nil
	})
	for _, call := range calls {
		if call.send {
			c.out.line("   the service sends the %s to %s again, under the same key: %[2]s would notice a second one", noun(op.kind), c.facts.name)
		} else {
			c.out.line("   the service asks %s what became of the %s: %s", c.facts.name, noun(op.kind), call.state())
		}
	}
	return c.late(err)
}

// late keeps the error of a result that did not come as a difference, and returns any other.
func (c *Crashes) late(err error) error {
	if !errors.Is(err, errLate) {
		return err
	}
	c.expect(err)
	return nil
}

func (c call) state() string {
	switch {
	case c.answer.State == processor.Unseen:
		return "it has never arrived"
	case c.answer.State == processor.Running:
		return "it has no result yet"
	case c.answer.Answer != nil:
		return string(c.answer.Answer.State)
	default:
		return string(c.answer.State)
	}
}

func (c *Crashes) readOutcome(ctx context.Context, found *finding) error {
	err := until(ctx, "the webhook "+found.hook.String(), func() (bool, error) {
		err := c.receive(ctx)
		return c.facts.received(found.hook) > 0, err
	})
	if err := c.late(err); err != nil {
		return err
	}
	now, err := c.read(ctx, c.paid.ID)
	if err != nil {
		return err
	}
	found.after = now.Status
	c.expect(found.ended())
	return c.showEvents(ctx)
}

// receive takes the webhooks that have come, and prints them. None may run ahead of the answer of
// GET.
func (c *Crashes) receive(ctx context.Context) error {
	for {
		select {
		case err := <-c.receiver.refused:
			c.facts.unverified++
			c.expect(notVerified(err))
		case h := <-c.receiver.webhooks:
			c.facts.webhooks = append(c.facts.webhooks, h)
			c.result.Webhooks++
			c.out.webhook(h)
			now, err := c.quiet().read(ctx, h.Payment.ID)
			if err != nil {
				return err
			}
			if now.DateUpdated.Before(h.Payment.DateUpdated) {
				c.expect(fmt.Errorf("%s ran ahead of what GET answers", h))
			}
		default:
			return nil
		}
	}
}

func (c *Crashes) showEvents(ctx context.Context) error {
	events, err := c.history(ctx, c.paid.ID)
	if err != nil {
		return err
	}
	for _, e := range events[min(c.shown[c.paid.ID], len(events)):] {
		c.out.event(e)
		c.result.Events++
	}
	c.shown[c.paid.ID] = len(events)
	return nil
}

// recorded waits until the service has recorded that the merchant has every webhook: a kill before
// would deliver it again (D18).
func (c *Crashes) recorded(ctx context.Context) error {
	return c.late(until(ctx, "the record of the deliveries", func() (bool, error) {
		list, err := c.deliveries(ctx)
		c.facts.deliveries = len(list)
		return allDelivered(list, len(c.facts.webhooks)), err
	}))
}
