package payment

import (
	"payledger/domain"
	"payledger/domain/processor"
)

// actionName is the only action that processors require (D13).
const actionName = "3DS_AUTHENTICATION"

// authorizationAnswer returns the event of an answer to an authorization. The route's next
// processor is tried after a failure or soft decline that is marked retryable, unless an action was
// required or the payment's cancellation was, whatever became of it (D15).
func (s State) authorizationAnswer(op Operation, c RecordAnswer) Event {
	a := c.Answer
	stays := op.State == StateAction || s.Intent != nil || s.some(func(op *Operation) bool { return op.Kind == processor.Void })
	if next, more := s.nextTarget(); more && a.Retryable && mayReroute(a) && !stays {
		return AuthorizationRerouted{c.failed(), next}
	}
	if a.State == processor.ActionRequired {
		return ActionRequired{c.fact(), actionName, c.ActionExpiresAt}
	}
	return s.authorization(c)
}

// authorization returns the event of an answer that decides an authorization, or leaves it pending;
// nil for any other.
func (s State) authorization(c RecordAnswer) Event {
	switch c.Answer.State {
	case processor.Succeeded:
		return Authorized{c.fact(), s.cancelUndecided()}
	case processor.Declined:
		return Declined{c.fact()}
	case processor.Pending:
		return AuthorizationPending{c.fact()}
	case processor.Failed:
		return AuthorizationFailed{c.failed()}
	default:
		return nil
	}
}

func mayReroute(a processor.Answer) bool {
	return a.State == processor.Failed || a.State == processor.Declined && processor.ExplainDecline(a.Code).Soft()
}

func (s State) nextTarget() (Target, bool) {
	tried := 0
	for _, op := range s.Operations {
		if op.Kind == processor.Authorize {
			tried++
		}
	}
	if tried >= len(s.Route) {
		return Target{}, false
	}
	return s.Route[tried], true
}

func (s State) rerouted(e AuthorizationRerouted) State {
	to := StateFailed
	if e.Failure == domain.IssuerDeclined {
		to = StateDeclined
	}
	s = s.withAnswer(e.Answer, to, e.Failure)
	return s.request(Operation{Kind: processor.Authorize, Target: e.To, Amount: s.Amount, RequestedAt: e.At})
}
