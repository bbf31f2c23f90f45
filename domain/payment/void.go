package payment

import "payledger/domain/processor"

// Cancel asks to release what is held (§3.1, D7).
type Cancel struct {
	Request
	Reason string // the merchant's words
}

// DecideCancel requests the void. While the authorization has no answer at all it records the intent
// instead. A settled payment is sent to the processor all the same, which refuses it (§4 rule 2).
func DecideCancel(s State, c Cancel) (Event, error) {
	if err := s.admit(c.Request); err != nil {
		return nil, err
	}
	if op, busy := s.running(); busy {
		if op.Kind != processor.Authorize && op.Kind != processor.Complete {
			return nil, ErrRunning
		}
		return CancellationIntended{At: c.At, Reason: c.Reason, KeyHash: c.keyHash(s)}, nil
	}
	switch s.Status() {
	case StatusDeclined, StatusFailed, StatusCancelled:
		return nil, s.notIn("cancelled")
	}
	if err := s.withinLimit(); err != nil {
		return nil, err
	}
	return VoidRequested{At: c.At, Amount: s.Capturable(), Reason: c.Reason, KeyHash: c.keyHash(s)}, nil
}

// CannotCancel refuses the cancellation of a payment that was SETTLED, after the processor was asked (D7).
func (s State) CannotCancel() error { return s.notIn("cancelled") }

// VoidRefused tells whether the newest request is a void that the processor refused.
func (s State) VoidRefused() bool {
	op := s.NewestRequest()
	return op.Kind == processor.Void && op.State == StateFailed
}

func voidAnswer(c RecordAnswer) Event {
	switch {
	case c.Answer.State == processor.Succeeded:
		return Voided{c.fact()}
	case c.Answer.State == processor.Pending:
		return VoidPending{c.fact()}
	case refusedByProcessor(c.Answer):
		return VoidFailed{c.failed()}
	default:
		return nil
	}
}

func (s State) cancellationIntended(e CancellationIntended) State {
	if s.Intent == nil {
		s.Intent = &Intent{At: e.At, Reason: e.Reason}
	}
	return s.withKey(e.KeyHash)
}

func (s State) voidRequested(e VoidRequested) State {
	return s.withKey(e.KeyHash).request(Operation{
		Kind: processor.Void, Amount: e.Amount, Parent: s.held().Revision, RequestedAt: e.At, Reason: e.Reason,
	})
}

// released ends an authorization, and its completion, that had no result when it was voided: nothing was ever
// held, and nothing will be. A failure that was told before the void's own answer was of the void's making.
func (s State) released() State {
	held := s.held()
	if held.State.Open() || held.State == StateAction || held.State == StateFailed {
		s = s.withOperation(held.Revision, func(op *Operation) { op.State = StateVoided })
	}
	return s.endCompletions(StateVoided)
}
