package api

import (
	"context"
	"errors"
	"time"

	"github.com/stripe/stripe-go/v84"

	"payledger/domain/processor"
	"payledger/processorsim/connector"
)

// Bounds for the search of an object by time.
const (
	skew    = 10 * time.Minute // between the clocks of Stripe and of the connector
	arrival = 25 * time.Hour   // after the newest try no request under its key arrives any more
)

// Find returns what Stripe knows about an order. See "Doubt" in the package comment.
func (s *Stripe) Find(ctx context.Context, o connector.Order) (connector.Finding, error) {
	if o.Answer != nil {
		return s.follow(ctx, o)
	}
	found, err := s.existing(ctx, o)
	if err != nil || found != nil {
		return connector.Finding{Result: found}, err
	}
	if s.Now().Sub(o.Began) >= keyLife { // the key may be free again: it cannot be used up
		return connector.Finding{Nothing: s.Now().Sub(o.Tried) >= arrival}, nil
	}
	switch err := s.seal(ctx, o); {
	case err == nil:
		return connector.Finding{Nothing: true}, nil
	case errors.Is(err, errSeen): // it arrived meanwhile, or its object shows later
		found, err := s.existing(ctx, o)
		return connector.Finding{Result: found}, err
	default:
		return connector.Finding{}, err
	}
}

// seal uses the order's key up with a request that moves nothing: a SetupIntent without a card.
// After nil no request with the order arrives any more; errSeen means that one has arrived.
func (s *Stripe) seal(ctx context.Context, o connector.Order) error {
	m := metadata(o)
	delete(m, metaKey) // it is no operation
	m[metaSealed] = string(o.Operation.Key)
	sealed, err := s.client.V1SetupIntents.Create(ctx, &stripe.SetupIntentCreateParams{
		Params: params(ctx, o.Key), PaymentMethodTypes: stripe.StringSlice([]string{"card"}), Metadata: m,
	})
	if err != nil {
		err = explain(err)
		if refused, is := errors.AsType[*refusal](err); is {
			return errors.New("Stripe does not let the key be used up: " + refused.Error())
		}
		return err
	}
	if sealed.Metadata[metaSealed] != string(o.Operation.Key) {
		return errors.New("Stripe answered with another SetupIntent")
	}
	_, _ = s.client.V1SetupIntents.Cancel(ctx, sealed.ID, nil) // it does nothing if it stays
	return nil
}

// existing returns the result of an order that Stripe has carried out; nil if there is no trace of
// it.
func (s *Stripe) existing(ctx context.Context, o connector.Order) (*connector.Result, error) {
	var result connector.Result
	switch o.Kind {
	case processor.Authorize:
		if o.Amount == 0 {
			return s.verification(ctx, o)
		}
		intent, err := s.byKey(ctx, o)
		if err != nil || intent == nil {
			return nil, err
		}
		result, err = s.authorized(o, intent)
		return &result, err
	case processor.Refund:
		refund, err := s.refundByKey(ctx, o)
		if err != nil || refund == nil {
			return nil, err
		}
		result, err = s.refunded(o, refund)
		return &result, err
	}
	if checkParent(o) != nil {
		return nil, nil //nolint:nilnil // Stripe never got it
	}
	if o.Parent.Kind == processor.Authorize && o.Parent.Amount == 0 {
		return s.existingUponCheck(ctx, o)
	}
	intent, err := s.intent(ctx, o.ParentID)
	if err != nil {
		return nil, err
	}
	_, stamped := stampOf(intent.Metadata, o)
	switch {
	case o.Kind == processor.Capture && stamped:
		result, err = s.captured(o, intent)
	case o.Kind == processor.Adjust && stamped:
		result, err = s.adjusted(o, intent)
	case o.Kind == processor.Void && canceled(intent):
		result, err = s.released(o, intent)
	case o.Kind == processor.Complete && intent.Status != stripe.PaymentIntentStatusRequiresAction:
		result, err = s.completed(o, intent)
	default:
		return nil, nil //nolint:nilnil // there is no trace of it
	}
	return &result, err
}

// existingUponCheck is existing for orders upon a verification.
func (s *Stripe) existingUponCheck(ctx context.Context, o connector.Order) (*connector.Result, error) {
	if o.Kind != processor.Complete {
		return nil, nil //nolint:nilnil // Stripe keeps nothing of them
	}
	result, err := s.completeCheck(ctx, o, false)
	if err != nil || result.Answer.State == processor.Pending {
		return nil, err
	}
	return &result, nil
}

// byKey returns the PaymentIntent of an authorization, by its metadata, from the list by time.
// The list has the newest PaymentIntents; Stripe's search gets them later.
func (s *Stripe) byKey(ctx context.Context, o connector.Order) (*stripe.PaymentIntent, error) {
	list := &stripe.PaymentIntentListParams{
		CreatedRange: &stripe.RangeQueryParams{GreaterThanOrEqual: o.Began.Add(-skew).Unix(), LesserThanOrEqual: o.Tried.Add(arrival + skew).Unix()},
		Expand:       stripe.StringSlice([]string{"data." + latestCharge}),
	}
	list.Limit = stripe.Int64(pageSize)
	for intent, err := range s.client.V1PaymentIntents.List(ctx, list) {
		if err != nil {
			return nil, explain(err)
		}
		if made(intent.Metadata, o) == nil {
			return intent, nil
		}
	}
	return nil, nil //nolint:nilnil // not there is no error
}

func (s *Stripe) refundByKey(ctx context.Context, o connector.Order) (*stripe.Refund, error) {
	list := &stripe.RefundListParams{PaymentIntent: stripe.String(intentOf(o))}
	list.Limit = stripe.Int64(pageSize)
	for refund, err := range s.client.V1Refunds.List(ctx, list) {
		if err != nil {
			return nil, explain(err)
		}
		if made(refund.Metadata, o) == nil {
			return refund, nil
		}
	}
	return nil, nil //nolint:nilnil // not there is no error
}

// follow returns the present state of an order that had no last answer.
func (s *Stripe) follow(ctx context.Context, o connector.Order) (connector.Finding, error) {
	var result connector.Result
	switch {
	case o.Kind == processor.Authorize && o.Amount == 0:
		intent, err := s.setupIntent(ctx, o.Answer.ProcessorTransactionID)
		if err != nil {
			return connector.Finding{}, err
		}
		result, err = s.verified(ctx, o, intent)
		return connector.Finding{Result: &result}, err
	case o.Kind == processor.Complete && o.Parent != nil && o.Parent.Amount == 0:
		result, err := s.completeCheck(ctx, o, s.Now().Sub(o.Began) > actionPatience)
		return connector.Finding{Result: &result}, err
	}
	switch o.Kind {
	case processor.Refund:
		refund, err := s.client.V1Refunds.Retrieve(ctx, o.Answer.ProcessorTransactionID, nil)
		if err != nil {
			return connector.Finding{}, explain(err)
		}
		result, err = s.refunded(o, refund)
		return connector.Finding{Result: &result}, err
	case processor.Authorize, processor.Complete:
		intent, err := s.intent(ctx, o.Answer.ProcessorTransactionID)
		if err != nil {
			return connector.Finding{}, err
		}
		if o.Kind == processor.Authorize {
			result, err = s.authorized(o, intent)
			return connector.Finding{Result: &result}, err
		}
		if intent.Status == stripe.PaymentIntentStatusRequiresAction && s.Now().Sub(o.Began) > actionPatience {
			if intent, err = s.abandon(ctx, o); err != nil {
				return connector.Finding{}, err
			}
		}
		result, err = s.completed(o, intent)
		return connector.Finding{Result: &result}, err
	}
	return connector.Finding{}, nil // the others have their last answer at once
}
