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

const latestAttempt = "latest_attempt"

// checkCard authorizes nothing: a SetupIntent asks the issuer whether the card is good.
func (s *Stripe) checkCard(ctx context.Context, o connector.Order, method, customer string) (connector.Result, error) {
	p := &stripe.SetupIntentCreateParams{
		Params: params(ctx, o.Key), PaymentMethod: &method, PaymentMethodTypes: stripe.StringSlice([]string{"card"}),
		Confirm: stripe.Bool(true), Usage: stripe.String("off_session"), Metadata: metadata(o), Expand: stripe.StringSlice([]string{latestAttempt}),
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

// attended reports whether the customer of a verification is there, and can pass a check.
func attended(o connector.Order) bool { return o.ReturnURL != "" && !merchantInitiated(o) }

// verified returns the result of a verification from its SetupIntent. If that needs a customer who
// is not there, verified cancels it, and the answer is DECLINED.
func (s *Stripe) verified(ctx context.Context, o connector.Order, intent *stripe.SetupIntent) (connector.Result, error) {
	if err := made(intent.Metadata, o); err != nil {
		return connector.Result{}, err
	}
	if intent.Status == stripe.SetupIntentStatusRequiresAction && !attended(o) {
		if _, err := s.client.V1SetupIntents.Cancel(ctx, intent.ID, nil); err != nil {
			return connector.Result{}, unread(explain(err)) // it exists, whatever is refused now
		}
		intent.Status = stripe.SetupIntentStatusCanceled
	}
	answer, err := s.setup(intent)
	if err == nil && o.Tokenize {
		answer.CardToken = storedBy(intent)
	}
	return connector.Result{Answer: answer, Amount: 0, Currency: o.Currency}, err // a SetupIntent has no amount
}

// storedBy returns the token of the card that a SetupIntent attached to its Customer; "" if it
// attached none.
func storedBy(intent *stripe.SetupIntent) string {
	if intent.Status != stripe.SetupIntentStatusSucceeded || intent.Customer == nil || intent.PaymentMethod == nil {
		return ""
	}
	return intent.Customer.ID + tokenSeparator + intent.PaymentMethod.ID
}

// setup returns the answer to a verification, from the present state of its SetupIntent. The states
// mean the same as those of a PaymentIntent, see state.
func (s *Stripe) setup(intent *stripe.SetupIntent) (processor.Answer, error) {
	if intent.ID == "" || intent.Livemode != s.live() {
		return processor.Answer{}, errors.New("Stripe answered with a SetupIntent without id, or of the other mode")
	}
	a := processor.Answer{ProcessorTransactionID: intent.ID, ProcessorEventID: requestID(intent.LastResponse), At: time.Unix(intent.Created, 0).UTC()}
	attempted(&a, intent.LatestAttempt)
	switch e := intent.LastSetupError; intent.Status {
	case stripe.SetupIntentStatusSucceeded:
		a.State = processor.Succeeded
	case stripe.SetupIntentStatusProcessing:
		a.State = processor.Pending
	case stripe.SetupIntentStatusRequiresAction:
		a.State, a.ActionToken, a.ThreeDS = processor.ActionRequired, intent.ID, "CHALLENGE"
		if next := intent.NextAction; next != nil && next.RedirectToURL != nil && len(next.RedirectToURL.URL) <= 2048 {
			a.ActionURL = next.RedirectToURL.URL
		}
	case stripe.SetupIntentStatusCanceled:
		a.State, a.Code, a.Message, a.ThreeDS = processor.Declined, codeAuthFailed, "the issuer wants to see the customer", "AUTH_FAILED"
	case stripe.SetupIntentStatusRequiresPaymentMethod:
		if e == nil {
			return processor.Answer{}, errors.New("a SetupIntent has neither a card nor an error")
		}
		a.State, a.Code, a.Message = processor.Declined, declineCode(networkCode(e), e.DeclineCode, e.Code), safe(e.Msg)
		if a.Retryable = retryable[a.Code]; a.Code == codeAuthFailed {
			a.ThreeDS = "AUTH_FAILED"
		}
	default:
		return processor.Answer{}, fmt.Errorf("a SetupIntent is %q", intent.Status)
	}
	return a, nil
}

// attempted adds the facts about the card and the checks of a verification.
func attempted(a *processor.Answer, attempt *stripe.SetupAttempt) {
	if attempt == nil || attempt.PaymentMethodDetails == nil || attempt.PaymentMethodDetails.Card == nil {
		return
	}
	card := attempt.PaymentMethodDetails.Card
	a.Bin = bin(&stripe.ChargePaymentMethodDetailsCard{
		Brand: stripe.PaymentMethodCardBrand(card.Brand), Country: card.Country, Issuer: card.Issuer, Description: card.Description,
		Funding: stripe.CardFunding(card.Funding),
	})
	if card.ThreeDSecure != nil {
		a.ThreeDS = threeDS(&stripe.ChargePaymentMethodDetailsCardThreeDSecure{
			Result: stripe.ChargePaymentMethodDetailsCardThreeDSecureResult(card.ThreeDSecure.Result),
		})
	}
	if card.Checks != nil {
		risk := processor.Risk{}
		checks(&risk, card.Checks.CVCCheck, card.Checks.AddressLine1Check, card.Checks.AddressPostalCodeCheck)
		if risk != (processor.Risk{}) {
			a.Risk = &risk
		}
	}
}

// setupIntent returns a SetupIntent with its newest attempt.
func (s *Stripe) setupIntent(ctx context.Context, id string) (*stripe.SetupIntent, error) {
	intent, err := s.client.V1SetupIntents.Retrieve(ctx, id, &stripe.SetupIntentRetrieveParams{Expand: stripe.StringSlice([]string{latestAttempt})})
	if err != nil {
		return nil, explain(err)
	}
	if intent.ID != id {
		return nil, errors.New("Stripe answered with another SetupIntent")
	}
	return intent, nil
}

// completeCheck asks Stripe for the result of the customer's check in a verification, as complete
// does. A customer who gave up has the SetupIntent cancelled.
func (s *Stripe) completeCheck(ctx context.Context, o connector.Order, gaveUp bool) (connector.Result, error) {
	intent, err := s.setupIntent(ctx, o.ParentID)
	if err == nil && gaveUp && intent.Status == stripe.SetupIntentStatusRequiresAction {
		if err = s.cancelSetup(ctx, o); err == nil {
			intent, err = s.setupIntent(ctx, o.ParentID)
		}
	}
	if err != nil {
		return connector.Result{}, unread(err)
	}
	answer, err := s.setup(intent)
	if answer.State == processor.ActionRequired {
		answer.State, answer.ActionToken, answer.ActionURL, answer.ThreeDS = processor.Pending, "", "", ""
	}
	if err == nil && o.Parent.Tokenize {
		answer.CardToken = storedBy(intent)
	}
	return connector.Result{Answer: answer, Currency: o.Currency}, err
}

// cancelSetup cancels a SetupIntent that waits for its customer. If the customer was faster, Stripe
// refuses, and the SetupIntent's state counts.
func (s *Stripe) cancelSetup(ctx context.Context, o connector.Order) error {
	_, err := s.client.V1SetupIntents.Cancel(ctx, o.ParentID, &stripe.SetupIntentCancelParams{
		Params: params(ctx, o.Key), CancellationReason: stripe.String(string(stripe.SetupIntentCancellationReasonAbandoned)),
	})
	if err == nil {
		return nil
	}
	err = explained(err)
	if _, refused := errors.AsType[*refusal](err); refused {
		return nil
	}
	return err
}

// verification returns the result of a verification that Stripe has; nil if it has none.
func (s *Stripe) verification(ctx context.Context, o connector.Order) (*connector.Result, error) {
	list := &stripe.SetupIntentListParams{
		CreatedRange: &stripe.RangeQueryParams{GreaterThanOrEqual: o.Began.Add(-skew).Unix(), LesserThanOrEqual: o.Tried.Add(arrival + skew).Unix()},
		Expand:       stripe.StringSlice([]string{"data." + latestAttempt}),
	}
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

// holdsNothing refuses an order upon a verification that needs money.
func holdsNothing(o connector.Order) error {
	if o.Parent.Kind == processor.Authorize && o.Parent.Amount == 0 && o.Kind != processor.Void && o.Kind != processor.Complete {
		return refuse(protocol.CodeAboveAuthorized, "the card was verified, and no money is held")
	}
	return nil
}

// uponCheck carries out an order upon a verification, which holds nothing.
func (s *Stripe) uponCheck(ctx context.Context, o connector.Order) (connector.Result, error) {
	switch {
	case o.Kind == processor.Complete:
		return s.completeCheck(ctx, o, o.Outcome == processor.AuthenticationFailed)
	case o.Kind != processor.Void:
		return connector.Result{}, holdsNothing(o)
	case o.Parent.Answer.State == processor.ActionRequired:
		if err := s.cancelSetup(ctx, o); err != nil {
			return connector.Result{}, err
		}
	}
	return connector.Result{Answer: processor.Answer{State: processor.Succeeded, ProcessorTransactionID: o.ParentID}}, nil
}
