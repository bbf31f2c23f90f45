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

// voidFailure returns the event of a void that failed. Before the authorization has a result, the
// cancellation stays intended after any failure: a refusal may say that there is nothing to release
// yet. Of an approved payment, the capture that waited for the void follows a refusal of the
// processor only; after anything else the merchant decides.
func (s State) voidFailure(void Operation, c RecordAnswer) VoidFailed {
	approved := s.newestAuthorization().State == StateSucceeded
	return VoidFailed{
		FailedAnswer: c.failed(), Capture: approved && refusesVoid(c.Answer) && s.DelaysCapture(void), Intended: s.mayBeApproved(),
	}
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
