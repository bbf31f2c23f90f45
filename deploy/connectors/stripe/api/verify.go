package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stripe/stripe-go/v84"

	"payledger/domain/processor"
	"payledger/processorsim/connector"
	"payledger/processorsim/protocol"
)

// checkCard authorizes nothing: a SetupIntent asks the issuer whether the card is good. No
// customer is there during a verification. A SetupIntent that needs the customer is cancelled, and
// the answer is DECLINED.
func (s *Stripe) checkCard(ctx context.Context, o connector.Order, method, customer string) (connector.Result, error) {
	p := &stripe.SetupIntentCreateParams{
		Params: params(ctx, o.Key), PaymentMethod: &method, PaymentMethodTypes: stripe.StringSlice([]string{"card"}),
		Confirm: stripe.Bool(true), Usage: stripe.String("off_session"), Metadata: metadata(o),
	}
	if page := cmp.Or(o.ReturnURL, s.ReturnURL); page != "" {
		p.ReturnURL = &page
	}
	if customer != "" {
		p.Customer = &customer
	}
	intent, err := s.client.V1SetupIntents.Create(ctx, p)
	if err != nil {
		err = explain(err)
		d, is := errors.AsType[*declined](err)
		if !is || d.stated.SetupIntent == nil {
			return connector.Result{}, unknownToken(o, err)
		}
		intent = d.stated.SetupIntent
		intent.LastSetupError = d.stated
	}
	return s.verified(ctx, o, intent)
}

// verified returns the result of a verification from its SetupIntent.
func (s *Stripe) verified(ctx context.Context, o connector.Order, intent *stripe.SetupIntent) (connector.Result, error) {
	if err := made(intent.Metadata, o); err != nil {
		return connector.Result{}, err
	}
	if intent.ID == "" || intent.Livemode != s.live() {
		return connector.Result{}, errors.New("Stripe answered with a SetupIntent without id, or of the other mode")
	}
	a := processor.Answer{ProcessorTransactionID: intent.ID, ProcessorEventID: requestID(intent.LastResponse), At: time.Unix(intent.Created, 0).UTC()}
	switch e := intent.LastSetupError; intent.Status {
	case stripe.SetupIntentStatusSucceeded:
		a.State = processor.Succeeded
		if o.Tokenize && intent.Customer != nil && intent.PaymentMethod != nil { // Stripe has attached it
			a.CardToken = intent.Customer.ID + tokenSeparator + intent.PaymentMethod.ID
		}
	case stripe.SetupIntentStatusProcessing:
		a.State = processor.Pending
	case stripe.SetupIntentStatusRequiresAction, stripe.SetupIntentStatusCanceled:
		if intent.Status == stripe.SetupIntentStatusRequiresAction {
			if _, err := s.client.V1SetupIntents.Cancel(ctx, intent.ID, nil); err != nil {
				return connector.Result{}, explain(err)
			}
		}
		a.State, a.Code, a.Message = processor.Declined, codeAuthFailed, "the issuer wants to see the customer"
	case stripe.SetupIntentStatusRequiresPaymentMethod:
		if e == nil {
			return connector.Result{}, errors.New("a SetupIntent has neither a card nor an error")
		}
		a.State, a.Code, a.Message = processor.Declined, declineCode(networkCode(e), e.DeclineCode, e.Code), safe(e.Msg)
		a.Retryable = retryable[a.Code]
	default:
		return connector.Result{}, fmt.Errorf("a SetupIntent is %q", intent.Status)
	}
	return connector.Result{Answer: a, Amount: 0, Currency: o.Currency}, nil // a SetupIntent has no amount
}

// verification returns the result of a verification that Stripe has; nil if it has none.
func (s *Stripe) verification(ctx context.Context, o connector.Order) (*connector.Result, error) {
	list := &stripe.SetupIntentListParams{CreatedRange: &stripe.RangeQueryParams{
		GreaterThanOrEqual: o.Began.Add(-skew).Unix(), LesserThanOrEqual: o.Tried.Add(arrival + skew).Unix(),
	}}
	list.Limit = stripe.Int64(pageSize)
	for intent, err := range s.client.V1SetupIntents.List(ctx, list) {
		if err != nil {
			return nil, explain(err)
		}
		if made(intent.Metadata, o) == nil {
			result, err := s.verified(ctx, o, intent)
			return &result, err
		}
	}
	return nil, nil //nolint:nilnil // not there is no error
}

// uponNothing answers an order upon a verification, which holds nothing.
func uponNothing(o connector.Order) (connector.Result, error) {
	if o.Kind != processor.Void {
		return connector.Result{}, refuse(protocol.CodeAboveAuthorized, "the card was verified, and no money is held")
	}
	return connector.Result{Answer: processor.Answer{State: processor.Succeeded, ProcessorTransactionID: o.ParentID}}, nil
}
