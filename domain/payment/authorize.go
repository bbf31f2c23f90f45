package payment

import (
	"payledger/domain"
	"payledger/domain/processor"
)

// actionName is the action that processors require today (D13).
const actionName = "3DS_AUTHENTICATION"

// authorizationAnswer is what an answer to an authorization is. A failure or a soft decline that the
// processor marks retryable moves on to the next of the route; nothing else does, and nothing that is to be
// cancelled or has had a required action (D15).
func (s State) authorizationAnswer(op Operation, c RecordAnswer) Event {
	a := c.Answer
	stays := op.State == StateAction || s.Intent != nil || s.open(processor.Void)
	if next, more := s.nextTarget(); more && a.Retryable && mayReroute(a) && !stays {
		return AuthorizationRerouted{c.failed(), next}
	}
	switch a.State {
	case processor.Succeeded:
		return Authorized{c.fact()}
	case processor.Declined:
		return Declined{c.fact()}
	case processor.Pending:
		return AuthorizationPending{c.fact()}
	case processor.ActionRequired:
		return ActionRequired{c.fact(), actionName, c.ActionExpiresAt}
	case processor.Failed:
		return AuthorizationFailed{c.failed()}
	default:
		return nil
	}
}

func mayReroute(a processor.Answer) bool {
	return a.State == processor.Failed || a.State == processor.Declined && processor.ExplainDecline(a.Code).Soft()
}

// nextTarget is the processor after the one that was tried last.
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

// rerouted ends one try and requests the next.
func (s State) rerouted(e AuthorizationRerouted) State {
	to := StateFailed
	if e.Failure == domain.IssuerDeclined {
		to = StateDeclined
	}
	s = s.answered(e.Answer, to, e.Failure)
	return s.request(Operation{Kind: processor.Authorize, Target: e.To, Amount: s.Amount, RequestedAt: e.At})
}
