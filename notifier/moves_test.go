package notifier

import (
	"crypto/rand"
	"fmt"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore"
)

// move decides one event of a payment. r has the fields of every command.
type move func(s payment.State, r payment.Request) (payment.Event, error)

// creation makes a payment of 25.00, ESTIMATED so that it can be adjusted.
func creation(id domain.PaymentID, change func(*payment.Create)) move {
	return func(s payment.State, r payment.Request) (payment.Event, error) {
		amount := domain.Amount(2500)
		c := payment.Create{
			At: r.At, ID: id, Account: merchantID, OrderID: "order-1", Currency: "EUR", Amount: &amount,
			Method: payment.Method{Token: "01token", Type: "PAYMENT_CARD", AuthorizationType: "ESTIMATED", Card: domain.NewCard("4111111111111111", "12", "2030", true)},
			Route: []payment.Target{
				{Processor: processor.Adyen, MerchantID: "north-adyen"}, {Processor: processor.Stripe, MerchantID: "north-stripe"},
			},
		}
		if change != nil {
			change(&c)
		}
		return payment.DecideCreate(s, c)
	}
}

// answer is the processor's to the newest operation that may have one.
func answer(state processor.State) move { return answerWith(processor.Answer{State: state}) }

func answerWith(a processor.Answer) move {
	return func(s payment.State, r payment.Request) (payment.Event, error) {
		request := uint64(0)
		for _, op := range s.Operations {
			if op.State.Open() || op.State == payment.StateAction {
				request = op.Revision
			}
		}
		return answerTo(request, a)(s, r)
	}
}

// answerTo is the processor's to the request at a revision.
func answerTo(request uint64, a processor.Answer) move {
	return func(s payment.State, r payment.Request) (payment.Event, error) {
		if of := request; a.ProcessorTransactionID == "" {
			if op, _ := s.Operation(request); op.Kind == processor.Complete { // the transaction of its authorization
				of = op.Parent
			}
			a.ProcessorTransactionID = fmt.Sprintf("ptx-%d", of)
		}
		return payment.DecideAnswer(s, payment.RecordAnswer{
			At: r.At, EventID: r.EventID, Request: request, Answer: a, ActionExpiresAt: r.At.Add(24 * time.Hour),
		})
	}
}

func timeOut(s payment.State, r payment.Request) (payment.Event, error) {
	request := uint64(0)
	for _, op := range s.Operations {
		if op.State == payment.StateRequested {
			request = op.Revision
		}
	}
	return payment.DecideTimeOut(s, payment.TimeOut{At: r.At, Request: request})
}

func capture(amount domain.Amount, final bool) move {
	return func(s payment.State, r payment.Request) (payment.Event, error) {
		return payment.DecideCapture(s, payment.Capture{Request: r, Amount: &amount, Final: final})
	}
}

func refund(amount domain.Amount) move {
	return func(s payment.State, r payment.Request) (payment.Event, error) {
		return payment.DecideRefund(s, payment.Refund{Request: r, Amount: &amount, OrderID: "return-1", Reason: "too small"})
	}
}

func adjust(amount domain.Amount) move {
	return func(s payment.State, r payment.Request) (payment.Event, error) {
		return payment.DecideAdjust(s, payment.Adjust{Request: r, Amount: amount})
	}
}

func cancel(s payment.State, r payment.Request) (payment.Event, error) {
	return payment.DecideCancel(s, payment.Cancel{Request: r, Reason: "out of stock"})
}

func resume(s payment.State, r payment.Request) (payment.Event, error) {
	action := uint64(0)
	if op := s.Authorization(); op != nil {
		action = op.Revision
	}
	return payment.DecideResume(s, payment.Resume{Request: r, Action: action, Outcome: processor.Authenticated})
}

const (
	succeeded = processor.Succeeded
	pends     = processor.Pending
	failed    = processor.Failed
	actionDue = processor.ActionRequired
)

func newPaymentID() domain.PaymentID {
	var b [16]byte
	_, _ = rand.Read(b[:])
	return domain.NewPaymentID(b)
}

// lead appends moves to a payment.
func (r *rig) lead(id domain.PaymentID, moves ...move) (s payment.State) {
	r.t.Helper()
	for _, decide := range moves {
		s = r.move(id, decide)
	}
	return s
}

func (r *rig) move(id domain.PaymentID, decide move) payment.State {
	r.t.Helper()
	return execute(r, eventstore.Payments, eventstore.Payments.Key(merchantID, string(id)),
		func(m eventstore.Meta, s payment.State) (payment.Event, error) {
			return decide(s, payment.Request{At: m.At, EventID: m.EventID})
		})
}
