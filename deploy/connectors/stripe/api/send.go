package api

import (
	"context"
	"errors"
	"fmt"

	"payledger/domain/processor"
	"payledger/processorsim/connector"
	"payledger/processorsim/protocol"
)

// Send carries out an order. See "Doubt" in the package comment for refusals of a repeat.
func (s *Stripe) Send(ctx context.Context, o connector.Order) (connector.Result, error) {
	result, err := s.do(ctx, o)
	refused, is := errors.AsType[*refusal](err)
	switch {
	case err == nil:
		return result, nil
	case is && (refused.local || refused.replayed || !o.Doubtful):
		return refused.result(), nil
	case is:
		return s.refusedLater(ctx, o, refused)
	case errors.Is(err, errSeen):
		return s.look(ctx, o, err)
	}
	return connector.Result{}, err
}

// do asks Stripe to carry an order out.
func (s *Stripe) do(ctx context.Context, o connector.Order) (connector.Result, error) {
	if o.Kind == processor.Authorize {
		return s.authorize(ctx, o)
	}
	if err := checkParent(o); err != nil {
		return connector.Result{}, err
	}
	if o.Parent.Kind == processor.Authorize && o.Parent.Amount == 0 {
		return s.uponCheck(ctx, o)
	}
	switch o.Kind {
	case processor.Complete:
		return s.complete(ctx, o)
	case processor.Capture:
		return s.capture(ctx, o)
	case processor.Void:
		return s.void(ctx, o)
	case processor.Refund:
		return s.refund(ctx, o)
	case processor.Adjust:
		return s.adjust(ctx, o)
	}
	return connector.Result{}, fmt.Errorf("there is no operation %q", o.Kind)
}

// Refuse returns the answer to an order that Stripe does not get: its amount, its token or the
// state of its payment has no place there.
func (s *Stripe) Refuse(o connector.Order) *processor.Answer {
	if refused, is := errors.AsType[*refusal](refuses(o)); is {
		answer := refused.result().Answer
		return &answer
	}
	return nil
}

func refuses(o connector.Order) error {
	if o.Kind != processor.Authorize {
		for _, check := range []func(connector.Order) error{checkParent, holdsNothing, lowers} {
			if err := check(o); err != nil {
				return err
			}
		}
	}
	if o.Kind != processor.Complete && o.Kind != processor.Void {
		if _, err := toStripe(o.Amount, o.Currency); err != nil {
			return err
		}
	}
	if o.Card != nil && o.Card.Token != "" {
		if _, method := splitToken(o.Card.Token); method == "" {
			return errNoToken
		}
	}
	return nil
}

// checkParent refuses an order upon a transaction that is not this payment's, or in a state in
// which Stripe would refuse it.
func checkParent(o connector.Order) error {
	switch p := o.Parent; {
	case p == nil || p.Reference != o.Reference:
		return refuse(protocol.CodeParentNotFound, "this payment has no such transaction here")
	case o.Currency != "" && o.Currency != p.Currency:
		return refuse(protocol.CodeCurrencyMismatch, "the authorization is in another currency")
	case o.Kind == processor.Complete && p.Answer.State != processor.ActionRequired:
		return refuse(processor.CodeNoAction, "the authorization does not wait for its customer")
	case o.Kind == processor.Complete || o.Kind == processor.Void && p.Answer.State == processor.ActionRequired:
		return nil
	case o.Kind == processor.Void && p.Answer.State == processor.Failed && p.Answer.Code == protocol.CodeVoided:
		return nil // perhaps by this order, whose answer was lost: Stripe decides
	case p.Answer.State != processor.Succeeded && !(p.Kind == processor.Authorize && p.Answer.State == processor.Pending && o.Kind == processor.Void):
		return refuse(protocol.CodeNotAuthorized, "the transaction is not approved")
	case o.Kind != processor.Void && o.Amount == 0:
		return refuse(codeInvalidAmount, "the amount is zero")
	case o.Kind == processor.Refund && o.Amount > p.Amount && p.Kind == processor.Capture:
		return refuse(protocol.CodeAboveCaptured, "the amount is above the capture")
	}
	return nil
}

// refusedLater is called when Stripe refuses a repeat while an earlier try may still be on its way,
// and would perhaps not be refused. It uses the key up, so that the earlier one never counts.
func (s *Stripe) refusedLater(ctx context.Context, o connector.Order, refused *refusal) (connector.Result, error) {
	err := s.seal(ctx, o)
	if errors.Is(err, errSeen) {
		return s.look(ctx, o, err)
	}
	if err != nil {
		return connector.Result{}, err
	}
	return refused.result(), nil
}

// look finds the object of an order whose key Stripe has seen; without one the outcome is unknown.
func (s *Stripe) look(ctx context.Context, o connector.Order, why error) (connector.Result, error) {
	found, err := s.existing(ctx, o)
	switch {
	case err != nil:
		return connector.Result{}, fmt.Errorf("%w; %w", why, unread(err))
	case found == nil:
		return connector.Result{}, why
	}
	return *found, nil
}
