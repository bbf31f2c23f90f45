package workflows

import (
	"errors"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/domain/workflow"
)

// Effect is the effect that an action would have had.
type Effect struct {
	Action  workflow.Action
	Amount  domain.Amount // that would have moved; 0 for HTTP requests
	Refusal string        // the reason of its refusal; "": none
}

// DryRun returns the effects that actions would have on a payment if the processor accepted each,
// up to the first refusal.
func DryRun(of Subject, actions []workflow.Action, at time.Time) []Effect {
	var effects []Effect
	s, total := of.Payment, of.Payment.Amount
	for _, a := range actions {
		a = a.Resolved(total)
		effect := Effect{Action: a}
		if a.Type != workflow.HTTPRequest {
			s, effect = dryRunOne(s, of.Disputed, a, at)
		}
		effects = append(effects, effect)
		if effect.Refusal != "" {
			break
		}
	}
	return effects
}

const simulated = "simulated" // the id of simulated events

func dryRunOne(s payment.State, disputed []payment.Disputed, a workflow.Action, at time.Time) (payment.State, Effect) {
	requested, err := decideOn(s, disputed, a, payment.Request{At: at, EventID: simulated})
	refused, is := requested.(interface{ Refusal(payment.State) error })
	switch {
	case errors.Is(err, payment.ErrRunning):
		return s, Effect{Action: a, Refusal: "It would have waited for another operation, and been decided after that."}
	case err != nil:
		return s, Effect{Action: a, Refusal: refusalText(err)}
	case is:
		return s, Effect{Action: a, Refusal: refusalText(refused.Refusal(s))}
	}
	s = payment.Evolve(s, requested)
	op, found := s.Operation(s.Revision)
	if !found {
		return s, Effect{Action: a} // a cancellation that waits for the authorization
	}
	if a.Type == workflow.Cancel && s.Status() == payment.StatusSettled {
		return s, Effect{Action: a, Refusal: refusalText(s.CannotCancel())}
	}
	answered, err := payment.DecideAnswer(s, payment.RecordAnswer{
		At: at, EventID: simulated, Request: op.Revision, Answer: processor.Answer{State: processor.Succeeded, At: at},
	})
	if err != nil {
		return s, Effect{Action: a, Refusal: "It would have been refused."}
	}
	return payment.Evolve(s, answered), Effect{Action: a, Amount: op.Amount}
}

func decideOn(s payment.State, disputed []payment.Disputed, a workflow.Action, r payment.Request) (payment.Event, error) {
	switch a.Type {
	case workflow.Capture:
		return payment.DecideCapture(s, payment.Capture{Request: r, Amount: a.Amount, Final: a.IsFinal()})
	case workflow.Cancel:
		return payment.DecideCancel(s, payment.Cancel{Request: r, Reason: a.Reason})
	default:
		return payment.DecideRefund(s, payment.Refund{Request: r, Amount: a.Amount, OrderID: a.OrderID, Reason: a.Reason, Disputed: disputed})
	}
}
