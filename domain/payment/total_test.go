package payment_test

import (
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/process"
	"payledger/domain/processor"
	"payledger/domain/seedtest"
)

var (
	anyKind  = rapid.SampledFrom([]processor.Kind{processor.Authorize, processor.Complete, processor.Capture, processor.Void, processor.Refund, processor.Adjust, ""})
	anyState = rapid.SampledFrom([]payment.OperationState{
		payment.StateRequested, payment.StateUnknown, payment.StatePending, payment.StateAction, payment.StateSucceeded,
		payment.StateDeclined, payment.StateFailed, payment.StateVoided, payment.StateCompleted, "",
	})
	anyAmount   = rapid.Custom(func(t *rapid.T) domain.Amount { return domain.Amount(rapid.Int64().Draw(t, "amount")) })
	anyRevision = rapid.Uint64Range(0, 9)
	anyTime     = rapid.Custom(func(t *rapid.T) time.Time {
		return at.Add(time.Duration(rapid.Int64Range(-1e12, 1e12).Draw(t, "ns")))
	})
)

// stateOf draws a state that no events need ever have led to.
func stateOf(t *rapid.T) payment.State {
	s := payment.State{
		ID: "01payment", Account: "acct", Revision: anyRevision.Draw(t, "revision"), UpdatedAt: anyTime.Draw(t, "updated"),
		Amount: anyAmount.Draw(t, "total"), Currency: rapid.SampledFrom([]domain.Currency{"EUR", ""}).Draw(t, "currency"),
		AutoCapture: rapid.Bool().Draw(t, "automatic"), Route: make([]payment.Target, rapid.IntRange(0, 2).Draw(t, "route")),
		Method: payment.Method{
			Type: rapid.SampledFrom([]string{"PAYMENT_CARD", "PAYPAL"}).Draw(t, "method"), AuthorizationType: "ESTIMATED",
		},
	}
	if rapid.Bool().Draw(t, "intended") {
		s.Intent = &payment.Intent{}
	}
	if rapid.Bool().Draw(t, "with action") {
		s.Action = &payment.Action{ExpiresAt: anyTime.Draw(t, "expires")}
	}
	if rapid.IntRange(0, 9).Draw(t, "claim") == 0 {
		s.Claim = &payment.KeyClaimed{Payment: "01other"}
	}
	for range rapid.IntRange(0, 6).Draw(t, "operations") {
		s.Operations = append(s.Operations, payment.Operation{
			Revision: anyRevision.Draw(t, "of"), Kind: anyKind.Draw(t, "kind"), State: anyState.Draw(t, "state"),
			Amount: anyAmount.Draw(t, "amount"), Parent: anyRevision.Draw(t, "parent"), Final: rapid.Bool().Draw(t, "final"),
			Answers: make([]payment.OperationAnswer, rapid.IntRange(0, 2).Draw(t, "answers")),
		})
	}
	return s
}

// TestRulesAreTotal checks that every decision in any state returns an event or a refusal, that
// every view of any state works, and that every event can be folded into any state, even into an
// impossible one.
func TestRulesAreTotal(t *testing.T) {
	seedtest.Check(t, func(t *rapid.T) {
		s := stateOf(t)
		r := payment.Request{At: anyTime.Draw(t, "now"), EventID: "event", IdempotencyKey: rapid.SampledFrom([]string{"", "key"}).Draw(t, "key")}
		var given *domain.Amount
		if rapid.Bool().Draw(t, "with amount") {
			given = new(anyAmount.Draw(t, "given"))
		}
		state := rapid.SampledFrom([]processor.State{
			processor.Succeeded, processor.Declined, processor.Failed, processor.Pending, processor.ActionRequired, "",
		}).Draw(t, "answer")
		revision, total := anyRevision.Draw(t, "request"), anyAmount.Draw(t, "new total")
		decide := map[string]func() (payment.Event, error){
			"create": func() (payment.Event, error) {
				return payment.DecideCreate(s, payment.Create{Amount: given, OrderID: "o", Currency: "EUR", Route: s.Route})
			},
			"capture": func() (payment.Event, error) {
				return payment.DecideCapture(s, payment.Capture{Request: r, Amount: given})
			},
			"cancel": func() (payment.Event, error) { return payment.DecideCancel(s, payment.Cancel{Request: r}) },
			"refund": func() (payment.Event, error) {
				return payment.DecideRefund(s, payment.Refund{Request: r, Amount: given})
			},
			"adjust": func() (payment.Event, error) {
				return payment.DecideAdjust(s, payment.Adjust{Request: r, Amount: total})
			},
			"resume": func() (payment.Event, error) {
				return payment.DecideResume(s, payment.Resume{Request: r, Action: revision, Outcome: "AUTHENTICATED"})
			},
			"claim":    func() (payment.Event, error) { return payment.DecideClaim(s, payment.ClaimKey{Payment: "01payment"}) },
			"time out": func() (payment.Event, error) { return payment.DecideTimeOut(s, payment.TimeOut{Request: revision}) },
			"found": func() (payment.Event, error) {
				return payment.DecideOutOfBand(s, payment.RecordOutOfBand{At: r.At, Record: processor.Record{
					ID: "op-1", Kind: anyKind.Draw(t, "found kind"), State: state, Amount: total, ParentID: "t-1", Currency: s.Currency, Answer: processor.Answer{State: state},
				}})
			},
			"answer": func() (payment.Event, error) {
				return payment.DecideAnswer(s, payment.RecordAnswer{At: r.At, Request: revision, Answer: processor.Answer{State: state, Retryable: true}})
			},
		}
		s.Contradiction(revision, processor.Answer{State: state})
		for name, one := range decide {
			event, err := one()
			if err != nil && event != nil {
				t.Fatalf("%s: %v and %v", name, event, err)
			}
			if event != nil {
				seen(payment.Evolve(s, event))
			}
		}
		for _, e := range payment.Events() {
			seen(payment.Evolve(s, about(e, revision)))
			if v := reflect.ValueOf(e); v.IsZero() {
				seen(payment.Evolve(s, e))
			}
		}
		seen(s)
	})
}

// seen takes every view of a state.
func seen(s payment.State) {
	s.Status()
	s.StatusReason()
	_ = s.Check()
	s.RequiredAction()
	s.Unanswered()
	s.Waiting()
	s.VoidRefused()
	s.NewestRequest()
	s.RevisionOf("01payment.1")
	_ = s.CannotCancel()
	s.Owner()
	process.Open(s)
	process.Abandoned(s, at)
	if op, found := process.Requested(s); found {
		process.Operation(s, op)
	}
	for _, op := range s.Operations {
		op.Answer().Reason()
	}
}
