package api

import (
	"context"
	"errors"
	"fmt"

	"github.com/stripe/stripe-go/v84"

	"payledger/domain/processor"
	"payledger/processorsim/connector"
	"payledger/processorsim/protocol"
)

// capture takes an amount of an authorization.
func (s *Stripe) capture(ctx context.Context, o connector.Order) (connector.Result, error) {
	amount, err := toStripe(o.Amount, o.Currency)
	if err != nil {
		return connector.Result{}, err
	}
	p := &stripe.PaymentIntentCaptureParams{
		Params: params(ctx, o.Key), AmountToCapture: &amount, Metadata: stamps(o, amount), Expand: stripe.StringSlice([]string{latestCharge}),
	}
	if s.Multicapture {
		p.FinalCapture = stripe.Bool(o.Final)
	} else if !o.Final && o.Amount < o.Parent.Amount {
		return connector.Result{}, refuse(codeOneCapture, "this account captures an authorization once: make the capture final")
	}
	intent, err := s.client.V1PaymentIntents.Capture(ctx, o.ParentID, p)
	if err != nil {
		return connector.Result{}, explained(err)
	}
	return s.captured(o, intent)
}

// explained is explain for requests that concern no card: a card error is a refusal of Stripe.
func explained(err error) error {
	err = explain(err)
	if d, is := errors.AsType[*declined](err); is {
		return &refusal{code: refusalCode(d.stated), message: safe(d.stated.Msg), replayed: true} // it began to run, and is saved
	}
	return err
}

// captured returns the result of a capture from its PaymentIntent.
func (s *Stripe) captured(o connector.Order, intent *stripe.PaymentIntent) (connector.Result, error) {
	t, stamped := stampOf(intent.Metadata, o)
	charge := intent.LatestCharge
	switch {
	case intent.ID != o.ParentID || !stamped:
		return connector.Result{}, errors.New("Stripe answered with a PaymentIntent that does not have this capture")
	case charge == nil || charge.ID == "":
		return connector.Result{}, errors.New("a capture without a charge")
	case intent.AmountReceived < captured(intent.Metadata):
		return connector.Result{}, errors.New("Stripe received less than was captured")
	case !s.Multicapture && intent.AmountReceived != t.amount:
		return connector.Result{}, fmt.Errorf("Stripe received %d instead of %d", intent.AmountReceived, t.amount)
	}
	amount, currency, err := fromStripe(t.amount, intent.Currency)
	return connector.Result{Amount: amount, Currency: currency, Answer: processor.Answer{
		State: processor.Succeeded, ProcessorTransactionID: captureID(charge.ID, t), ProcessorEventID: requestID(intent.LastResponse), At: s.answered(intent.LastResponse),
	}}, err
}

// void releases what an authorization holds, after captures of parts the rest.
func (s *Stripe) void(ctx context.Context, o connector.Order) (connector.Result, error) {
	p := &stripe.PaymentIntentCancelParams{
		Params: params(ctx, o.Key), CancellationReason: stripe.String(string(stripe.PaymentIntentCancellationReasonRequestedByCustomer)),
	}
	intent, err := s.client.V1PaymentIntents.Cancel(ctx, o.ParentID, p)
	if err != nil {
		return connector.Result{}, notCancelled(explained(err))
	}
	return s.released(o, intent)
}

// notCancelled marks the refusal of a cancellation as a passing fault, unless the PaymentIntent is
// captured or cancelled: any other is about the key, the account or the request, or about a
// PaymentIntent that Stripe is processing. The ledger captures after a decision of Stripe, and not
// after a fault.
func notCancelled(err error) error {
	if refused, is := errors.AsType[*refusal](err); is {
		refused.retryable = refused.code != protocol.CodeAlreadyVoided && refused.code != protocol.CodeAlreadyCaptured
	}
	return err
}

func (s *Stripe) released(o connector.Order, intent *stripe.PaymentIntent) (connector.Result, error) {
	if intent.ID != o.ParentID || intent.AmountCapturable != 0 || !canceled(intent) {
		return connector.Result{}, fmt.Errorf("after a cancellation a PaymentIntent is %q", intent.Status)
	}
	return connector.Result{Amount: o.Amount, Currency: o.Currency, Answer: processor.Answer{
		State: processor.Succeeded, ProcessorTransactionID: intent.ID, ProcessorEventID: requestID(intent.LastResponse), At: s.answered(intent.LastResponse),
	}}, nil
}

// lowers refuses an adjustment that raises nothing.
func lowers(o connector.Order) error {
	if o.Kind == processor.Adjust && o.Amount <= o.Parent.Amount {
		return refuse(codeCannotAdjust, "Stripe does not decrease an authorization: capture less instead")
	}
	return nil
}

// adjust raises an authorization to a new total.
func (s *Stripe) adjust(ctx context.Context, o connector.Order) (connector.Result, error) {
	amount, err := toStripe(o.Amount, o.Currency)
	if err != nil {
		return connector.Result{}, err
	}
	if err := lowers(o); err != nil {
		return connector.Result{}, err
	}
	p := &stripe.PaymentIntentIncrementAuthorizationParams{
		Params: params(ctx, o.Key), Amount: &amount, Metadata: stamps(o, amount), Expand: stripe.StringSlice([]string{latestCharge}),
	}
	intent, err := s.client.V1PaymentIntents.IncrementAuthorization(ctx, o.ParentID, p)
	if err != nil {
		return connector.Result{}, explained(err)
	}
	return s.adjusted(o, intent)
}

func (s *Stripe) adjusted(o connector.Order, intent *stripe.PaymentIntent) (connector.Result, error) {
	t, stamped := stampOf(intent.Metadata, o)
	if intent.ID != o.ParentID || !stamped || intent.Amount < t.amount { // a later one raised it further
		return connector.Result{}, errors.New("Stripe answered with a PaymentIntent that does not have this increment")
	}
	amount, currency, err := fromStripe(t.amount, intent.Currency)
	return connector.Result{Amount: amount, Currency: currency, Answer: processor.Answer{
		State: processor.Succeeded, ProcessorTransactionID: intent.ID, ProcessorEventID: requestID(intent.LastResponse), At: s.answered(intent.LastResponse),
	}}, err
}

// refund pays an amount of a payment back. Stripe does not refund one of several captures.
func (s *Stripe) refund(ctx context.Context, o connector.Order) (connector.Result, error) {
	amount, err := toStripe(o.Amount, o.Currency)
	if err != nil {
		return connector.Result{}, err
	}
	p := &stripe.RefundCreateParams{Params: params(ctx, o.Key), PaymentIntent: stripe.String(intentOf(o)), Amount: &amount, Metadata: metadata(o)}
	refund, err := s.client.V1Refunds.Create(ctx, p)
	if err != nil {
		err = explained(err)
		if refused, is := errors.AsType[*refusal](err); is && refused.code == processor.CodeRejected {
			refused.code = protocol.CodeAboveCaptured // Stripe has no code for an amount above the rest
		}
		return connector.Result{}, err
	}
	return s.refunded(o, refund)
}

// refunded returns the result of a refund.
func (s *Stripe) refunded(o connector.Order, refund *stripe.Refund) (connector.Result, error) {
	if err := made(refund.Metadata, o); err != nil {
		return connector.Result{}, err
	}
	if refund.PaymentIntent == nil || refund.PaymentIntent.ID != intentOf(o) || refund.ID == "" {
		return connector.Result{}, errors.New("Stripe answered with a refund of another payment")
	}
	return s.refundResult(refund)
}

func (s *Stripe) refundResult(refund *stripe.Refund) (connector.Result, error) {
	a := processor.Answer{ProcessorTransactionID: refund.ID, ProcessorEventID: requestID(refund.LastResponse), At: s.answered(refund.LastResponse)}
	switch refund.Status {
	case stripe.RefundStatusSucceeded:
		a.State = processor.Succeeded
	case stripe.RefundStatusPending, stripe.RefundStatusRequiresAction:
		a.State = processor.Pending
	case stripe.RefundStatusFailed, stripe.RefundStatusCanceled:
		a.State, a.Code, a.Message = processor.Failed, protocol.CodeRefundFailed, safe(string(refund.FailureReason))
	default:
		return connector.Result{}, fmt.Errorf("a refund is %q", refund.Status)
	}
	amount, currency, err := fromStripe(refund.Amount, refund.Currency)
	return connector.Result{Answer: a, Amount: amount, Currency: currency}, err
}
