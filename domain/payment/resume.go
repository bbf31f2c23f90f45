package payment

import (
	"slices"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
)

// Resume is the command to continue a payment after the customer's action has ended (§4 rule 1,
// D8).
type Resume struct {
	Request
	Action  uint64 // revision of the authorization that required the action; 0 if the resume token is unreadable
	Outcome processor.Outcome
	Expired bool // resume only if the action has expired (D7), and does not rest after failed completions
	Overdue bool // the action has expired although At is earlier: the clock was set back
}

// ErrProcessing means that the payment has no action to resume and is still processed. The caller
// waits for it.
var ErrProcessing = domain.Refuse(domain.KindConflict, domain.ReasonNoActionsToHandle,
	"The payment is still being processed.")

// DecideResume requests the completion of the authorization at the processor.
func DecideResume(s State, c Resume) (Event, error) {
	if err := s.checkRequest(c.Request); err != nil {
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
		return nil, domain.InvalidAt("PaymentResume", "$.resumeToken", "must be the token of the payment's current action")
	case c.Expired && s.completedLately(c):
		return nil, nil // later
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

// completionRest returns how long an expired action rests after n completions of it failed. A
// temporary failure ends within seconds; at a processor that never completes the action, one a day
// is enough.
func completionRest(n int) time.Duration {
	const first, longest = 100 * time.Millisecond, 24 * time.Hour
	return min(longest, first<<(3*min(n, 7)))
}

// completedLately reports whether completions of the action have failed, the newest of them so
// lately that the expired action rests: each completion adds to the payment's events and to its
// state.
func (s State) completedLately(c Resume) bool {
	n, newest := 0, time.Time{}
	for _, op := range s.Operations { // a failed completion stays while its action is required
		if op.Kind == processor.Complete && op.Parent == c.Action && op.State == StateFailed {
			n, newest = n+1, op.RequestedAt
		}
	}
	return n > 0 && c.At.Sub(newest).Abs() < completionRest(n)
}

// RequiredAction is the action that the customer must take. Revision names the authorization that
// waits for it.
type RequiredAction struct {
	Revision   uint64
	Name       string // D13: 3DS_AUTHENTICATION
	RequiredAt time.Time
	ExpiresAt  time.Time
}

// RequiredAction returns the pending action; nil if there is none (D6).
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

// EndedAction returns the action that the authorization at a revision required before; nil if it
// required none, or if the payment waits for an action now.
func (s State) EndedAction(revision uint64) *RequiredAction {
	if s.Action == nil || s.RequiredAction() != nil {
		return nil
	}
	for _, op := range s.Operations {
		if op.Kind == processor.Authorize && op.Revision == revision {
			return &RequiredAction{Revision: revision, Name: s.Action.Name, ExpiresAt: s.Action.ExpiresAt}
		}
	}
	return nil
}

// Waiting reports whether the authorization waits for the processor, not for the customer.
func (s State) Waiting() bool {
	op := s.Authorization()
	return op != nil && (op.State.Open() || s.open(processor.Complete))
}

// Voiding reports whether a void has no answer yet.
func (s State) Voiding() bool { return s.open(processor.Void) }

func (s State) open(kind processor.Kind) bool {
	return slices.ContainsFunc(s.Operations, func(op Operation) bool { return op.Kind == kind && op.State.Open() })
}

// completionAnswer returns the event of an answer to a completion, which decides the authorization.
func (s State) completionAnswer(op Operation, c RecordAnswer) Event {
	if decidesNothing(c.Answer) {
		failed := c.failed()
		if held, _ := s.Operation(op.Parent); held.TransactionID != "" && failed.TransactionID != "" {
			failed.TransactionID = held.TransactionID // the authorization keeps its own
		}
		return CompletionFailed{failed}
	}
	return s.authorization(c)
}

// decidesNothing reports whether the answer to a completion leaves the authorization as it is. The
// action is still required if the processor refused temporarily, if the key was fenced, or if the
// action had ended before: a look-up of the authorization then gets its result.
func decidesNothing(a processor.Answer) bool {
	return a.State == processor.Failed && (a.Retryable || a.Code == processor.CodeFenced || a.Code == processor.CodeNoAction)
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

// endCompletions sets the state of an open completion to that of its authorization, which has its
// result from elsewhere.
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
	return s.withAnswerOn(op.Parent, e.Answer, StateAction, StateAction, "")
}
