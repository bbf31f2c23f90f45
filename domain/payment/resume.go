package payment

import (
	"slices"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
)

// Resume hands back what the customer's action ended with (§4 rule 1, D8).
type Resume struct {
	Request
	Action  uint64 // revision of the authorization whose action ended; 0 when the token cannot be read
	Outcome processor.Outcome
	Expired bool // only if the action has expired: nobody says how the customer's check ended (D7)
	Overdue bool // it has, although At does not show it: the clock was set back since the action was required
}

// ErrProcessing means that the resumed payment goes on by itself: whoever resumes it waits with it.
var ErrProcessing = domain.Refuse(domain.KindConflict, domain.ReasonNoActionsToHandle,
	"The payment is still being processed.")

// DecideResume requests the completion of the authorization at the processor.
func DecideResume(s State, c Resume) (Event, error) {
	if err := s.admit(c.Request); err != nil {
		return nil, err
	}
	action := s.RequiredAction()
	switch {
	case s.open(processor.Void):
		return nil, ErrRunning
	case action == nil && s.Waiting():
		return nil, ErrProcessing
	case action == nil:
		return nil, s.notIn("resumed")
	case c.Action != action.Revision || c.Outcome == "":
		return nil, domain.Invalid("PaymentResume", domain.Violation{
			Path: "$.resumeToken", Description: "is not the token of the action that the payment waits for",
		})
	}
	outcome := c.Outcome
	if c.Overdue || !c.At.Before(action.ExpiresAt) {
		outcome = processor.AuthenticationFailed // D7: an abandoned action counts as failed
	} else if c.Expired {
		return nil, nil // not yet
	}
	return Resumed{
		At: c.At, EventID: c.EventID, Action: c.Action, Outcome: outcome, KeyHash: c.keyHash(s),
	}, nil
}

// RequiredAction is what the customer must do; Revision names the authorization that waits for it.
type RequiredAction struct {
	Revision   uint64
	Name       string // D13: 3DS_AUTHENTICATION
	RequiredAt time.Time
	ExpiresAt  time.Time
}

// RequiredAction gives the action that is pending; nil when none is (D6).
func (s State) RequiredAction() *RequiredAction {
	op := s.Authorization()
	if op == nil || s.Action == nil || op.State != StateAction || s.open(processor.Complete) || s.open(processor.Void) {
		return nil
	}
	action := &RequiredAction{Revision: op.Revision, Name: s.Action.Name, ExpiresAt: s.Action.ExpiresAt}
	if i := slices.IndexFunc(op.Answers, func(a OperationAnswer) bool { return a.State == StateAction }); i >= 0 {
		action.RequiredAt = op.Answers[i].At
	}
	return action
}

// Waiting tells whether the payment's authorization goes on without its customer.
func (s State) Waiting() bool {
	op := s.Authorization()
	return op != nil && (op.State.Open() || s.open(processor.Complete))
}

func (s State) open(kind processor.Kind) bool {
	for _, op := range s.Operations {
		if op.Kind == kind && op.State.Open() {
			return true
		}
	}
	return false
}

// completionAnswer is what an answer to a completion is. One that says that nothing was done for now leaves
// the action required, and so does one that says that the action had ended: how, the authorization itself tells when
// it is asked about. Any other decides the authorization.
func completionAnswer(c RecordAnswer) Event {
	a := c.Answer
	if a.State == processor.Failed && (a.Retryable || a.Code == processor.CodeFenced || a.Code == processor.CodeNoAction) {
		return CompletionFailed{c.failed()}
	}
	switch a.State {
	case processor.Succeeded:
		return Authorized{c.fact()}
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

func (s State) resumed(e Resumed) State {
	s = s.withOperation(e.Action, func(op *Operation) {
		op.Answers = append(op.Answers[:len(op.Answers):len(op.Answers)], OperationAnswer{
			EventID: e.EventID, At: e.At, State: StateCompleted,
		})
	})
	return s.withKey(e.KeyHash).request(Operation{
		Kind: processor.Complete, Parent: e.Action, Outcome: e.Outcome, RequestedAt: e.At,
	})
}

// endCompletions ends a completion under way together with its authorization, whose result came from elsewhere.
func (s State) endCompletions(to OperationState) State {
	for _, op := range s.Operations {
		if op.Kind == processor.Complete && op.State.Open() {
			s = s.withOperation(op.Revision, func(op *Operation) { op.State = to })
		}
	}
	return s
}

func (s State) completionFailed(e CompletionFailed) State {
	op, _ := s.Operation(e.Request)
	s = s.withOperation(e.Request, func(op *Operation) { op.State = StateFailed })
	return s.concluded(op.Parent, e.Answer, StateAction, StateAction, "")
}
