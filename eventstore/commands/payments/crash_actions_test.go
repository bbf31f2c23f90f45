package payments_test

import (
	"errors"
	"sync"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/commands/commandstest"
	"payledger/eventstore/commands/payments"
	"payledger/eventstore/commands/service"
)

const (
	authorized = "authorize SUCCEEDED"
)

// actions are the commands of the matrix, with their effects in order.
var actions = []action{
	{
		name: "create", prepare: ready(commandstest.ApprovedCard), give: create, status: payment.StatusAuthorized, books: authorized,
		effects: []effect{
			{on: "instrument.used"}, {on: "payment.created"},
			{on: commandstest.Authorize, neverStatus: payment.StatusFailed}, {on: "payment.authorized"},
		},
	},
	{
		name: "create at a second processor", prepare: ready(commandstest.FallbackCard), give: create,
		status: payment.StatusAuthorized, books: "authorize FAILED, " + authorized,
		effects: []effect{
			{on: commandstest.Authorize, neverStatus: payment.StatusFailed}, {on: "payment.authorization_rerouted"},
			{on: commandstest.Authorize, nth: 2, neverStatus: payment.StatusFailed, neverBooks: "authorize FAILED"}, {on: "payment.authorized"},
		},
	},
	{
		name: "create with automatic capture", prepare: requested, give: recoverIt, repeat: createAgain,
		status: payment.StatusSettled, books: authorized + ", capture SUCCEEDED",
		effects: []effect{
			{on: commandstest.Authorize, neverStatus: payment.StatusFailed}, {on: "payment.authorized"},
			{on: "send capture", neverStatus: payment.StatusSettled, neverBooks: authorized + ", capture SUCCEEDED"}, {on: "payment.captured"},
		},
	},
	{
		name: "resume after the action's end at the processor", prepare: endedElsewhere, give: resumeUnknown,
		status: payment.StatusAuthorized, books: authorized + ", complete SUCCEEDED",
		effects: []effect{{on: "payment.key_claimed"}, {on: "payment.authorized"}},
	},
	{
		name: "resume", prepare: paid(commandstest.ChallengeCard), give: resume, status: payment.StatusAuthorized, books: authorized + ", complete SUCCEEDED",
		effects: []effect{
			{on: "payment.key_claimed"}, {on: "payment.resumed"},
			{on: "send complete", neverStatus: payment.StatusPending, neverBooks: "authorize PENDING"}, {on: "payment.authorized"},
		},
	},
	{
		name: "capture", prepare: paid(commandstest.ApprovedCard), give: capture(1000, false), status: payment.StatusPartiallySettled, books: authorized + ", capture SUCCEEDED",
		effects: []effect{
			{on: "payment.key_claimed"}, {on: "payment.capture_requested"},
			{on: "send capture", neverStatus: payment.StatusAuthorized, neverBooks: authorized}, {on: "payment.captured"},
		},
	},
	{
		name: "cancel", prepare: paid(commandstest.ApprovedCard), give: cancel, status: payment.StatusCancelled, books: authorized + ", void SUCCEEDED",
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
		name: "adjust", prepare: paid(commandstest.ApprovedCard), give: adjust, status: payment.StatusAuthorized, books: authorized + ", adjust SUCCEEDED",
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
			{on: "send void", neverStatus: payment.StatusCancelled, neverBooks: authorized + ", void SUCCEEDED"}, {on: "payment.voided"},
		},
	},
}

// behind are the commands that find out-of-band operations (§6.3, D14).
var behind = []action{
	{
		name: "cancel after a capture at the processor", prepare: acted(paid(commandstest.ApprovedCard), processor.Capture, nil), give: cancel,
		status: payment.StatusSettled, books: authorized + ", capture SUCCEEDED, void FAILED",
		effects: []effect{
			{on: "payment.void_requested"}, {on: "send void", neverStatus: payment.StatusSettled, neverBooks: authorized + ", capture SUCCEEDED"},
			{on: commandstest.LookUp}, {on: "payment.capture_found"}, {on: "payment.void_failed"},
		},
	},
	{
		name:    "capture after two parts were captured at the processor",
		prepare: acted(acted(paid(commandstest.ApprovedCard), processor.Capture, commandstest.Amount(700)), processor.Capture, commandstest.Amount(300)),
		give:    capture(2500, true), status: payment.StatusPartiallySettled,
		books: authorized + ", capture SUCCEEDED, capture SUCCEEDED, capture FAILED",
		effects: []effect{
			{on: commandstest.LookUp}, {on: "payment.capture_found"}, {on: "payment.capture_found", nth: 2}, {on: "payment.capture_failed"},
		},
	},
	{
		name: "capture after a void at the processor", prepare: acted(paid(commandstest.ApprovedCard), processor.Void, nil), give: capture(1000, false),
		status: payment.StatusCancelled, books: authorized + ", void SUCCEEDED, capture FAILED",
		effects: []effect{{on: commandstest.LookUp}, {on: "payment.void_found"}, {on: "payment.capture_failed"}},
	},
	{
		name: "refund after a refund at the processor", prepare: acted(captured, processor.Refund, commandstest.Amount(2000)), give: refund,
		status: payment.StatusSettled, books: authorized + ", capture SUCCEEDED, refund SUCCEEDED, refund FAILED",
		effects: []effect{{on: commandstest.LookUp}, {on: "payment.refund_found"}, {on: "payment.refund_failed"}},
	},
	{
		name: "adjust after a capture at the processor", prepare: acted(paid(commandstest.ApprovedCard), processor.Capture, commandstest.Amount(700)), give: adjust,
		status: payment.StatusPartiallySettled, books: authorized + ", capture SUCCEEDED, adjust FAILED",
		effects: []effect{{on: commandstest.LookUp}, {on: "payment.capture_found"}, {on: "payment.adjustment_failed"}},
	},
}

// acted makes an operation directly at the processor after prepare.
func acted(prepare func(*scenario), kind processor.Kind, a *domain.Amount) func(*scenario) {
	return func(h *scenario) {
		prepare(h)
		if _, err := h.Sim.Act(background, kind, h.id, a); err != nil {
			h.T.Fatal(err)
		}
	}
}

// ready prepares a token. The payment's id follows from the command's key.
func ready(card string) func(*scenario) {
	return func(h *scenario) {
		h.token = h.TokenOf(h.healthy, card)
		h.id = domain.PaymentIDForKey(h.By.Account, h.key)
	}
}

// running prepares a token; the payment will be made by cancelRunning.
func running(h *scenario) {
	h.token = h.TokenOf(h.healthy, commandstest.ApprovedCard)
	h.id = domain.PaymentIDForKey(h.By.Account, h.key+"-create")
}

func paid(card string) func(*scenario) {
	return func(h *scenario) {
		h.made = h.Pay(h.healthy, card)
		h.id = h.made.ID
	}
}

func captured(h *scenario) {
	paid(commandstest.ApprovedCard)(h)
	if _, err := h.healthy.Capture(background, h.By, h.id, payment.Capture{Final: true}); err != nil {
		h.T.Fatal(err)
	}
}

func create(h *scenario, n *commandstest.Node) error {
	_, err := n.CreatePayment(n.Ctx, h.By, payments.PaymentInput{Token: h.token, IdempotencyKey: h.key})
	return err
}

func createAgain(h *scenario, s *service.Service) error {
	return create(h, &commandstest.Node{Service: s, Ctx: background})
}

// requested prepares a payment that was recorded by a process that is gone, with an automatic
// capture.
func requested(h *scenario) {
	ready(commandstest.ApprovedCard)(h)
	h.Claims(h.token, h.id)
	inst := h.Instrument(h.token)
	meta, err := h.Store.NewMeta("test", "request")
	if err != nil {
		h.T.Fatal(err)
	}
	total := domain.Amount(2500)
	_, err = eventstore.NewRepositories(h.Store).Payments.ExecuteNew(background, h.By.Account, h.id, meta,
		func(s payment.State) (payment.Event, error) {
			return payment.DecideCreate(s, payment.Create{
				At: meta.At, ID: h.id, Account: h.By.Account, OrderID: "order-1", Currency: "EUR", Amount: &total, IdempotencyKey: h.key,
				Method:      payment.Method{Token: h.token, Type: "PAYMENT_CARD", TokenizedAt: inst.CreatedAt, AuthorizationType: "FINAL", Card: inst.Card},
				Route:       []payment.Target{{Processor: processor.Adyen, MerchantID: "merchant"}},
				AutoCapture: true,
			})
		})
	if err != nil {
		h.T.Fatal(err)
	}
}

// recoverIt recovers a payment that no caller waits for.
func recoverIt(h *scenario, n *commandstest.Node) error { return n.Recover(n.Ctx, h.By.Account, h.id) }

// endedElsewhere prepares a payment whose customer has passed the check, which only the processor
// knows.
func endedElsewhere(h *scenario) {
	paid(commandstest.ChallengeCard)(h)
	h.endsElsewhere(h.made)
}

// resumeUnknown resumes as in production: the processor knows the result of the action.
func resumeUnknown(h *scenario, n *commandstest.Node) error {
	_, err := n.Resume(n.Ctx, h.By, payments.ResumeInput{Payment: h.id, Action: 1, IdempotencyKey: h.key})
	return err
}

func resume(h *scenario, n *commandstest.Node) error {
	_, err := n.Resume(n.Ctx, h.By, payments.ResumeInput{
		Payment: h.id, Action: h.made.RequiredAction().Revision, Outcome: processor.Authenticated, IdempotencyKey: h.key,
	})
	if domain.ReasonOf(err) == domain.ReasonNoActionsToHandle && (h.fault.Mode == commandstest.Late || h.fault.Mode == commandstest.Never) {
		return nil // D8: the answer of resume at the payment timeout
	}
	return err
}

func capture(a domain.Amount, final bool) func(*scenario, *commandstest.Node) error {
	return func(h *scenario, n *commandstest.Node) error {
		_, err := n.Capture(n.Ctx, h.By, h.id, payment.Capture{Request: payment.Request{IdempotencyKey: h.key}, Amount: &a, Final: final})
		return err
	}
}

func cancel(h *scenario, n *commandstest.Node) error {
	_, err := n.Cancel(n.Ctx, h.By, h.id, payment.Cancel{Request: payment.Request{IdempotencyKey: h.key}})
	return err
}

func cancelAgain(h *scenario, s *service.Service) error {
	return cancel(h, &commandstest.Node{Service: s, Ctx: background})
}

func refund(h *scenario, n *commandstest.Node) error {
	_, err := n.Refund(n.Ctx, h.By, h.id, payment.Refund{Request: payment.Request{IdempotencyKey: h.key}, Amount: commandstest.Amount(700)})
	return err
}

func adjust(h *scenario, n *commandstest.Node) error {
	_, err := n.Adjust(n.Ctx, h.By, h.id, payment.Adjust{Request: payment.Request{IdempotencyKey: h.key}, Amount: 3000})
	return err
}

// cancelRunning creates a payment under another key, and cancels it while the processor's answer to
// its authorization is on its way.
func cancelRunning(h *scenario, n *commandstest.Node) error {
	held, holds := n.Port.HoldBack()
	var creation sync.WaitGroup
	var created error
	creation.Go(func() {
		_, created = n.CreatePayment(n.Ctx, h.By, payments.PaymentInput{Token: h.token, IdempotencyKey: h.key + "-create"})
	})
	if !commandstest.Came(holds) {
		return errors.New("the authorization never came")
	}
	err := cancel(h, n)
	close(held)
	creation.Wait()
	return errors.Join(err, created)
}
