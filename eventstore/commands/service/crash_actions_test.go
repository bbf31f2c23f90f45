package service_test

import (
	"context"
	"errors"
	"sync"

	"payledger/domain"
	"payledger/domain/instrument"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/commands/payments"
	"payledger/eventstore/commands/service"
)

// Cards of the simulator's table (D13).
const (
	challengeCard = "4916994064252017"
	fallbackCard  = "4000000000005266"
)

const (
	authorized = "authorize SUCCEEDED"
	authorize  = "send authorize"
	lookUp     = "look up by reference"
)

// actions are the commands of the matrix, with their effects in order.
var actions = []action{
	{
		name: "create", prepare: ready(approvedCard), give: create, status: payment.StatusAuthorized, books: authorized,
		effects: []effect{
			{on: "instrument.used"}, {on: "payment.created"},
			{on: authorize, neverStatus: payment.StatusFailed}, {on: "payment.authorized"},
		},
	},
	{
		name: "create at a second processor", prepare: ready(fallbackCard), give: create,
		status: payment.StatusAuthorized, books: "authorize FAILED, " + authorized,
		effects: []effect{
			{on: authorize, neverStatus: payment.StatusFailed}, {on: "payment.authorization_rerouted"},
			{on: authorize, nth: 2, neverStatus: payment.StatusFailed, neverBooks: "authorize FAILED"}, {on: "payment.authorized"},
		},
	},
	{
		name: "create with automatic capture", prepare: requested, give: recoverIt, repeat: createAgain,
		status: payment.StatusSettled, books: authorized + ", capture SUCCEEDED",
		effects: []effect{
			{on: authorize, neverStatus: payment.StatusFailed}, {on: "payment.authorized"},
			{on: "send capture", neverStatus: payment.StatusAuthorized, neverBooks: authorized}, {on: "payment.captured"},
		},
	},
	{
		name: "resume", prepare: paid(challengeCard), give: resume, status: payment.StatusAuthorized, books: authorized + ", complete SUCCEEDED",
		effects: []effect{
			{on: "payment.key_claimed"}, {on: "payment.resumed"},
			{on: "send complete", neverStatus: payment.StatusPending, neverBooks: "authorize PENDING"}, {on: "payment.authorized"},
		},
	},
	{
		name: "capture", prepare: paid(approvedCard), give: capture(1000, false), status: payment.StatusPartiallySettled, books: authorized + ", capture SUCCEEDED",
		effects: []effect{
			{on: "payment.key_claimed"}, {on: "payment.capture_requested"},
			{on: "send capture", neverStatus: payment.StatusAuthorized, neverBooks: authorized}, {on: "payment.captured"},
		},
	},
	{
		name: "cancel", prepare: paid(approvedCard), give: cancel, status: payment.StatusCancelled, books: authorized + ", void SUCCEEDED",
		effects: []effect{
			{on: "payment.key_claimed"}, {on: "payment.void_requested"},
			{on: "send void", neverStatus: payment.StatusAuthorized, neverBooks: authorized}, {on: "payment.voided"},
		},
	},
	{
		name: "refund", prepare: captured, give: refund, status: payment.StatusSettled, books: authorized + ", capture SUCCEEDED, refund SUCCEEDED",
		effects: []effect{
			{on: "payment.key_claimed"}, {on: "payment.refund_requested"},
			{on: "send refund", neverStatus: payment.StatusSettled, neverBooks: authorized + ", capture SUCCEEDED"}, {on: "payment.refunded"},
		},
	},
	{
		name: "adjust", prepare: paid(approvedCard), give: adjust, status: payment.StatusAuthorized, books: authorized + ", adjust SUCCEEDED",
		effects: []effect{
			{on: "payment.key_claimed"}, {on: "payment.adjustment_requested"},
			{on: "send adjust", neverStatus: payment.StatusAuthorized, neverBooks: authorized}, {on: "payment.adjusted"},
		},
	},
	{
		name: "cancel while the authorization runs", prepare: running, give: cancelRunning, repeat: cancelAgain,
		status: payment.StatusCancelled, books: authorized + ", void SUCCEEDED",
		effects: []effect{
			{on: "payment.key_claimed"}, {on: "payment.cancellation_intended"}, {on: "payment.authorized"},
			{on: "send void", neverStatus: payment.StatusAuthorized, neverBooks: authorized}, {on: "payment.voided"},
		},
	},
}

// behind are the commands that find out-of-band operations (§6.3, D14).
var behind = []action{
	{
		name: "cancel after a capture at the processor", prepare: acted(paid(approvedCard), processor.Capture, nil), give: cancel,
		status: payment.StatusSettled, books: authorized + ", capture SUCCEEDED, void FAILED",
		effects: []effect{
			{on: "payment.void_requested"}, {on: "send void", neverStatus: payment.StatusSettled, neverBooks: authorized + ", capture SUCCEEDED"},
			{on: lookUp}, {on: "payment.capture_found"}, {on: "payment.void_failed"},
		},
	},
	{
		name:    "capture after two parts were captured at the processor",
		prepare: acted(acted(paid(approvedCard), processor.Capture, amount(700)), processor.Capture, amount(300)),
		give:    capture(2500, true), status: payment.StatusPartiallySettled,
		books: authorized + ", capture SUCCEEDED, capture SUCCEEDED, capture FAILED",
		effects: []effect{
			{on: lookUp}, {on: "payment.capture_found"}, {on: "payment.capture_found", nth: 2}, {on: "payment.capture_failed"},
		},
	},
	{
		name: "capture after a void at the processor", prepare: acted(paid(approvedCard), processor.Void, nil), give: capture(1000, false),
		status: payment.StatusCancelled, books: authorized + ", void SUCCEEDED, capture FAILED",
		effects: []effect{{on: lookUp}, {on: "payment.void_found"}, {on: "payment.capture_failed"}},
	},
	{
		name: "refund after a refund at the processor", prepare: acted(captured, processor.Refund, amount(2000)), give: refund,
		status: payment.StatusSettled, books: authorized + ", capture SUCCEEDED, refund SUCCEEDED, refund FAILED",
		effects: []effect{{on: lookUp}, {on: "payment.refund_found"}, {on: "payment.refund_failed"}},
	},
	{
		name: "adjust after a capture at the processor", prepare: acted(paid(approvedCard), processor.Capture, amount(700)), give: adjust,
		status: payment.StatusPartiallySettled, books: authorized + ", capture SUCCEEDED, adjust FAILED",
		effects: []effect{{on: lookUp}, {on: "payment.capture_found"}, {on: "payment.adjustment_failed"}},
	},
}

// acted makes an operation directly at the processor after prepare.
func acted(prepare func(*scenario), kind processor.Kind, a *domain.Amount) func(*scenario) {
	return func(h *scenario) {
		prepare(h)
		if _, err := h.sim.Act(background, kind, h.id, a); err != nil {
			h.t.Fatal(err)
		}
	}
}

// ready prepares a token. The payment's id follows from the command's key.
func ready(card string) func(*scenario) {
	return func(h *scenario) {
		h.token = h.tokenOf(h.healthy, card)
		h.id = domain.PaymentIDForKey(h.by.Account, h.key)
	}
}

// running prepares a token; the payment will be made by cancelRunning.
func running(h *scenario) {
	h.token = h.tokenOf(h.healthy, approvedCard)
	h.id = domain.PaymentIDForKey(h.by.Account, h.key+"-create")
}

func paid(card string) func(*scenario) {
	return func(h *scenario) {
		h.made = h.pay(h.healthy, card)
		h.id = h.made.ID
	}
}

func captured(h *scenario) {
	paid(approvedCard)(h)
	if _, err := h.healthy.Capture(background, h.by, h.id, payment.Capture{Final: true}); err != nil {
		h.t.Fatal(err)
	}
}

func create(h *scenario, n *node) error {
	_, err := n.CreatePayment(n.ctx, h.by, payments.PaymentInput{Token: h.token, IdempotencyKey: h.key})
	return err
}

func createAgain(h *scenario, s *service.Service) error {
	return create(h, &node{Service: s, ctx: background})
}

// requested prepares a payment that was recorded by a process that is gone, with an automatic capture.
func requested(h *scenario) {
	ready(approvedCard)(h)
	h.claim(h.token, h.id)
	inst := h.instrument(h.token)
	meta, err := h.store.NewMeta("test", "request")
	if err != nil {
		h.t.Fatal(err)
	}
	total := domain.Amount(2500)
	_, err = eventstore.NewRepositories(h.store).Payments.ExecuteNew(background, h.by.Account, h.id, meta,
		func(s payment.State) (payment.Event, error) {
			return payment.DecideCreate(s, payment.Create{
				At: meta.At, ID: h.id, Account: h.by.Account, OrderID: "order-1", Currency: "EUR", Amount: &total, IdempotencyKey: h.key,
				Method:      payment.Method{Token: h.token, Type: "PAYMENT_CARD", TokenizedAt: inst.CreatedAt, AuthorizationType: "FINAL", Card: inst.Card},
				Route:       []payment.Target{{Processor: processor.Adyen, MerchantID: "merchant"}},
				AutoCapture: true,
			})
		})
	if err != nil {
		h.t.Fatal(err)
	}
}

// claim records that the payment uses the token, as the first step of its creation does.
func (r *rig) claim(token domain.Token, id domain.PaymentID) {
	r.t.Helper()
	meta, err := r.store.NewMeta("test", "request")
	if err != nil {
		r.t.Fatal(err)
	}
	_, err = eventstore.NewRepositories(r.store).Instruments.Execute(context.Background(), r.by.Account, token, meta,
		func(s instrument.State) (instrument.Event, error) {
			return instrument.DecideUse(s, instrument.Use{At: meta.At, Payment: id})
		})
	if err != nil || r.instrument(token).UsedBy != id {
		r.t.Fatal("not claimed", err)
	}
}

// recoverIt recovers a payment that no caller waits for.
func recoverIt(h *scenario, n *node) error { return n.Recover(n.ctx, h.by.Account, h.id) }

func resume(h *scenario, n *node) error {
	_, err := n.Resume(n.ctx, h.by, payments.ResumeInput{
		Payment: h.id, Action: h.made.RequiredAction().Revision, Outcome: processor.Authenticated, IdempotencyKey: h.key,
	})
	if domain.ReasonOf(err) == domain.ReasonNoActionsToHandle && (h.fault.mode == late || h.fault.mode == never) {
		return nil // D8: the answer of resume at the payment timeout
	}
	return err
}

func capture(a domain.Amount, final bool) func(*scenario, *node) error {
	return func(h *scenario, n *node) error {
		_, err := n.Capture(n.ctx, h.by, h.id, payment.Capture{Request: payment.Request{IdempotencyKey: h.key}, Amount: &a, Final: final})
		return err
	}
}

func cancel(h *scenario, n *node) error {
	_, err := n.Cancel(n.ctx, h.by, h.id, payment.Cancel{Request: payment.Request{IdempotencyKey: h.key}})
	return err
}

func cancelAgain(h *scenario, s *service.Service) error {
	return cancel(h, &node{Service: s, ctx: background})
}

func refund(h *scenario, n *node) error {
	_, err := n.Refund(n.ctx, h.by, h.id, payment.Refund{Request: payment.Request{IdempotencyKey: h.key}, Amount: amount(700)})
	return err
}

func adjust(h *scenario, n *node) error {
	_, err := n.Adjust(n.ctx, h.by, h.id, payment.Adjust{Request: payment.Request{IdempotencyKey: h.key}, Amount: 3000})
	return err
}

// cancelRunning creates a payment under another key, and cancels it while the processor's answer to its
// authorization is on its way.
func cancelRunning(h *scenario, n *node) error {
	n.port.mu.Lock()
	n.port.held, n.port.holds = make(chan struct{}), make(chan struct{})
	held, holds := n.port.held, n.port.holds
	n.port.mu.Unlock()
	var creation sync.WaitGroup
	var created error
	creation.Go(func() {
		_, created = n.CreatePayment(n.ctx, h.by, payments.PaymentInput{Token: h.token, IdempotencyKey: h.key + "-create"})
	})
	if !came(holds) {
		return errors.New("the authorization never came")
	}
	err := cancel(h, n)
	close(held)
	creation.Wait()
	return errors.Join(err, created)
}
