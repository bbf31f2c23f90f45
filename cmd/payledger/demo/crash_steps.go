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

// operation is an operation of the story at the processor.
type operation struct {
	kind   processor.Kind
	amount int64 // minor units of EUR
	key    domain.OperationKey
}

// interruption is a merchant's request in whose middle the service is killed.
type interruption struct {
	operation
	path        string
	body        map[string]any
	merchantKey string // the request's idempotency key (D9)

	requested, outcome string // events
	before, status     string // of the payment: without the outcome, and with it
	hook               hook   // of the outcome

	// reached reports whether the processor is where the service is to be killed, and describes it.
	reached func(context.Context, *interruption) (string, bool, error)
	// down, if set, runs while no service runs.
	down func(context.Context, *interruption) error
	// known is the state of the operation in the processor's answer to the first question after the start.
	known processor.LookupState
}

func (i *interruption) request() client.Request {
	return client.Request{Method: http.MethodPost, Path: i.path, Body: i.body, IdempotencyKey: i.merchantKey}
}

// interrupt sends the request, kills the service in the middle, starts it again and checks what it makes of the request.
func (c *Crashes) interrupt(ctx context.Context, op *interruption) error {
	lost := c.send(ctx, op.request())
	if err := c.awaitMiddle(ctx, op, lost); err != nil {
		return err
	}
	op.key = c.nextKey()
	if err := c.checkEvents(ctx, c.paid.ID, []string{op.requested}); err != nil {
		return err
	}
	if err := c.kill(ctx, op, lost); err != nil {
		return err
	}
	if op.down != nil {
		if err := op.down(ctx, op); err != nil {
			return err
		}
	}
	if err := c.readDisk(ctx, op); err != nil {
		return err
	}
	asked := len(c.there.about(op.key))
	if err := c.again(ctx); err != nil {
		return err
	}
	if err := c.repeat(ctx, op); err != nil {
		return err
	}
	if err := c.watchQuestions(ctx, op, asked); err != nil {
		return err
	}
	if err := c.later(ctx, payment{ID: c.paid.ID}, op.status, []string{op.outcome}, op.hook); err != nil {
		return err
	}
	c.facts.operations = append(c.facts.operations, op.operation)
	if err := c.checkQuestions(op, c.there.about(op.key)[asked:]); err != nil {
		return err
	}
	_, err := c.delivered(ctx) // a kill before the receiver's answer is recorded would deliver the webhook again (D18)
	return err
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

// awaitMiddle waits until the processor is where the service is to be killed.
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
	var told *client.Error
	var broken *url.Error
	switch {
	case err == nil || errors.As(err, &told):
		return errors.Join(errEarly, err)
	case errors.As(err, &broken):
		err = broken.Err
	}
	c.out.unanswered(http.MethodPost, op.path, "no answer", fmt.Sprintf("the connection broke (%s): the merchant cannot know what happened", err))
	return until(ctx, "the end of the calls of the killed service", func() (bool, error) { return c.there.idle(), nil })
}

// repeat sends the request again under its key. The answer names the payment (D9).
func (c *Crashes) repeat(ctx context.Context, op *interruption) error {
	var took time.Duration
	api := &client.Client{
		URL: c.api, APIKey: c.apiKey, HTTP: &c.client, Seen: func(_ client.Request, _ int, t time.Duration) { took = t },
	}
	answer, err := api.Do(ctx, op.request())
	if err == nil {
		return errors.Join(fmt.Errorf("the repeat of %s was answered %d, expected 409", op.path, answer.StatusCode), answer.Body.Close())
	}
	var told *client.Error
	if !errors.As(err, &told) {
		return err
	}
	c.out.request(http.MethodPost, op.path, told.Status, took,
		fmt.Sprintf("the same key again: %s. It is payment %s, %s", told.ErrorID, told.PaymentID, told.PaymentStatus))
	if told.Status != http.StatusConflict || told.ErrorID != client.IdempotencyKeyAlreadyExists || told.PaymentID != c.paid.ID {
		return fmt.Errorf("the repeat of %s was answered %d %w", op.path, told.Status, told)
	}
	c.facts.repeats++
	return nil
}

// watchQuestions waits until the service, after its start, knows enough at the processor, and prints its calls there.
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
			c.out.line("   the service sends the %s to %s, under the same key", op.kind, c.facts.name)
		} else {
			c.out.line("   the service asks %s about %s: %s", c.facts.name, op.key, call.state())
		}
	}
	return err
}

// checkQuestions checks that the service, after its start, asked before it acted, and sent only an operation that was never seen.
func (c *Crashes) checkQuestions(op *interruption, calls []call) error {
	expected, sends := 0, 0
	if op.known == processor.Unseen {
		expected = 1
	}
	for _, call := range calls {
		if call.send {
			sends++
		}
	}
	if calls[0].send || calls[0].answer.State != op.known || sends != expected {
		return fmt.Errorf("after its start the service called %s as %+v, expected a question with the answer %s and then %d sends",
			c.facts.name, calls, op.known, expected)
	}
	return nil
}

// state returns the answer to a question in words.
func (c call) state() string {
	text := string(c.answer.State)
	if c.answer.Answer != nil {
		text += ", " + string(c.answer.Answer.State)
	}
	return text
}
