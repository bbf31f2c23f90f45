package payment

import (
	"payledger/domain"
	"payledger/domain/processor"
)

// Cancel is the command to release the money that is held (§3.1, D7).
type Cancel struct {
	Request
	Reason string // the merchant's words
}

// DecideCancel requests the void. Before the authorization's first answer it records the intent
// instead. For a SETTLED payment the void is requested, too; the processor refuses it (§4 rule 2).
func DecideCancel(s State, c Cancel) (Event, error) {
	if err := s.checkRequest(c.Request); err != nil {
		return nil, err
	}
	if op, busy := s.blockingOperation(); busy {
		if op.Kind != processor.Authorize && op.Kind != processor.Complete {
			return nil, ErrRunning
		}
		return s.intendCancellation(c)
	}
	switch s.Status() {
	case StatusDeclined, StatusFailed, StatusCancelled:
		return nil, s.notIn("cancelled")
	}
	if err := s.withinLimit(processor.Void, c.At); err != nil {
		return nil, err
	}
	return VoidRequested{At: c.At, Amount: s.Capturable(), Reason: c.Reason, KeyHash: c.keyHash(s)}, nil
}

// intendCancellation records the intent once. A further request only uses its idempotency key, and
// is refused once the payment has used MaxFailures of them (D22.11).
func (s State) intendCancellation(c Cancel) (Event, error) {
	hash := c.keyHash(s)
	switch {
	case s.Intent != nil && hash == "":
		return nil, nil
	case s.Intent != nil && s.Totals.KeyHashes+len(s.KeyHashes) >= MaxFailures:
		err := s.conflict(domain.ReasonPaymentRequestLimit, "The cancellation of the payment was requested before, and the payment has used %d idempotency keys.", MaxFailures)
		err.Recovery = "Do not repeat the request: the payment is cancelled once its processor has answered. GET /payments/{id} shows it."
		return nil, err
	}
	return CancellationIntended{At: c.At, Reason: c.Reason, KeyHash: hash}, nil
}

// CannotCancel returns the error for the cancellation of a SETTLED payment, after the processor
// refused the void (D7).
func (s State) CannotCancel() error {
	err := s.notIn("cancelled")
	if s.Refundable() == 0 {
		err.Recovery = "The captured amount is refunded or is being refunded: GET /payments/{id} shows it."
	}
	return err
}

// VoidRefused reports whether the newest request is a void that the processor refused.
func (s State) VoidRefused() bool {
	op := s.NewestRequest()
	return op.Kind == processor.Void && op.State == StateFailed
}

// voidFailure returns the event of a void that failed. If the void was requested before the
// approval was recorded, the processor may have failed it before it approved: a refusal may say
// that there was nothing to release yet. So the cancellation stays intended after any such failure,
// in whatever order the two answers are recorded. If the void was requested later, the capture that
// waited for it follows a refusal of the processor only; after anything else the merchant decides.
func (s State) voidFailure(void Operation, c RecordAnswer) VoidFailed {
	e := VoidFailed{FailedAnswer: c.failed()}
	switch {
	case void.BeforeApproval:
		e.Intended = s.decidesCancel(void)
	case s.newestAuthorization().State == StateSucceeded:
		e.Capture = refusesVoid(c.Answer) && s.DelaysCapture(void)
	default:
		e.Intended = s.mayBeApproved()
	}
	return e
}

// cancelUndecided reports, at the approval, whether a cancel of the merchant has no result: its
// void is open, or has failed and left no intent. Only builds before VoidFailed.Intended recorded
// such a failure.
func (s State) cancelUndecided() bool {
	failed := func(op *Operation) bool { return op.Kind == processor.Void && op.State == StateFailed }
	return s.open(processor.Void) || s.Intent == nil && !s.startedOrDone(processor.Void) && s.some(failed)
}

// approvedBeside marks the open void that was requested before the approval. If the void has
// failed, the cancellation is intended.
func (s State) approvedBeside(e Authorized) State {
	if e.Voiding && !s.open(processor.Void) && s.Intent == nil {
		s.Intent = &Intent{At: e.At}
	}
	for _, op := range s.Operations {
		if e.Voiding && op.Kind == processor.Void && op.State.Open() {
			s = s.withOperation(op.Revision, func(op *Operation) { op.BeforeApproval = true })
		}
	}
	return s
}

// decidesCancel reports whether a void alone decides a cancellation: no capture was requested at
// the processor or made there, and no other void is open or has succeeded.
func (s State) decidesCancel(void Operation) bool {
	return void.Kind == processor.Void && !s.some(func(op *Operation) bool {
		return op.Kind == processor.Capture && !op.Refused || op.Kind == processor.Void && op.Revision != void.Revision && op.State.counts()
	})
}

// mayBeApproved reports whether the authorization can still be approved: it has no result, or its
// failure is replaced by a late success. A released authorization holds nothing, and its approval
// changes nothing.
func (s State) mayBeApproved() bool {
	held := s.newestAuthorization()
	return held.State != StateVoided && s.Awaits(held.Revision, processor.Answer{State: processor.Succeeded})
}

// refusesVoid reports whether a processor's failure of a void is a decision about it: no passing
// fault, and no fenced key, with which the processor never had the void.
func refusesVoid(a processor.Answer) bool {
	return a.Code != processor.CodeFenced && a.Code != processor.CodeFault && !a.Retryable
}

func (s State) voidFailed(e VoidFailed) State {
	void, _ := s.Operation(e.Request)
	s = s.withAnswer(e.Answer, StateFailed, e.Failure)
	if e.Intended && s.Intent == nil {
		s.Intent = &Intent{At: void.RequestedAt, Reason: void.Reason}
	}
	if e.Intended && s.newestAuthorization().State == StateSucceeded {
		s = s.requestFollowUp(e.At)
	}
	if e.Capture {
		s = s.requestAutoCapture(e.At)
	}
	return s
}

func (s State) cancellationIntended(e CancellationIntended) State {
	if s.Intent == nil {
		s.Intent = &Intent{At: e.At, Reason: e.Reason}
	}
	return s.withKey(e.KeyHash)
}

func (s State) voidRequested(e VoidRequested) State {
	return s.withKey(e.KeyHash).request(Operation{
		Kind: processor.Void, Amount: e.Amount, Parent: s.newestAuthorization().Revision, RequestedAt: e.At, Reason: e.Reason,
	})
}

// released ends an authorization without a result, and its completion, after a void. A failure
// before the void's answer was its consequence.
func (s State) released() State {
	held := s.newestAuthorization()
	if held.State.Open() || held.State == StateAction || held.State == StateFailed {
		s = s.withOperation(held.Revision, func(op *Operation) { op.State = StateVoided })
	}
	return s.endCompletions(StateVoided)
}
