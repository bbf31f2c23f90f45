package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/stripe/stripe-go/v84"

	"payledger/domain/processor"
	"payledger/processorsim/connector"
)

const latestCharge = "latest_charge"

// authorize makes a PaymentMethod of the card, and a confirmed PaymentIntent with manual capture. A
// PaymentMethod alone moves nothing: whatever happens before the second request is certain.
func (s *Stripe) authorize(ctx context.Context, o connector.Order) (connector.Result, error) {
	amount, err := toStripe(o.Amount, o.Currency)
	if err != nil {
		return connector.Result{}, err
	}
	if o.Card == nil {
		return connector.Result{}, errors.New("an authorization without a card")
	}
	method, customer, err := s.payer(ctx, o)
	if err != nil {
		return s.noPaymentMethod(err)
	}
	if amount == 0 {
		return s.checkCard(ctx, o, method, customer)
	}
	p := &stripe.PaymentIntentCreateParams{
		Params: params(ctx, o.Key), Amount: &amount, Currency: stripe.String(lower(o.Currency)),
		PaymentMethod: &method, PaymentMethodTypes: stripe.StringSlice([]string{"card"}),
		CaptureMethod: stripe.String("manual"), Confirm: stripe.Bool(true), Metadata: metadata(o), Expand: stripe.StringSlice([]string{latestCharge}),
		PaymentMethodOptions: s.cardOptions(o),
	}
	if page := cmp.Or(o.ReturnURL, s.ReturnURL); page != "" && !merchantInitiated(o) {
		p.ReturnURL = &page
	}
	if suffix := descriptor(o.Descriptor); suffix != "" {
		p.StatementDescriptorSuffix = &suffix
	}
	if merchantInitiated(o) {
		p.OffSession = stripe.Bool(true)
	}
	if customer != "" {
		p.Customer = &customer
	}
	if o.Card.Token != "" {
		p.Metadata[cardStamp] = "token"
	}
	if o.Tokenize {
		p.SetupFutureUsage = stripe.String(futureUsage(o))
	}
	intent, err := s.client.V1PaymentIntents.Create(ctx, p)
	if err != nil {
		err = explain(err)
		if d, is := errors.AsType[*declined](err); is {
			return s.declined(ctx, o, d)
		}
		return connector.Result{}, unknownToken(o, err)
	}
	return s.authorized(o, intent)
}

// merchantInitiated reports whether the customer is absent and can pass no check.
func merchantInitiated(o connector.Order) bool {
	return o.PaymentType == "SUBSCRIPTION" || o.PaymentType == "UNSCHEDULED"
}

func (s *Stripe) cardOptions(o connector.Order) *stripe.PaymentIntentCreatePaymentMethodOptionsParams {
	card := &stripe.PaymentIntentCreatePaymentMethodOptionsCardParams{}
	if s.Multicapture {
		card.RequestMulticapture = stripe.String("if_available")
	}
	if o.AuthorizationType == "ESTIMATED" {
		card.RequestIncrementalAuthorization = stripe.String("if_available")
	}
	if *card == (stripe.PaymentIntentCreatePaymentMethodOptionsCardParams{}) {
		return nil
	}
	return &stripe.PaymentIntentCreatePaymentMethodOptionsParams{Card: card}
}

// paymentMethod makes a PaymentMethod of the order's card, and returns its id.
func (s *Stripe) paymentMethod(ctx context.Context, o connector.Order) (string, error) {
	month, _ := strconv.ParseInt(o.Card.ExpirationMonth, 10, 64)
	year, _ := strconv.ParseInt(o.Card.ExpirationYear, 10, 64)
	p := &stripe.PaymentMethodCreateParams{
		Type: stripe.String("card"),
		Card: &stripe.PaymentMethodCreateCardParams{Number: &o.Card.Number, ExpMonth: &month, ExpYear: &year},
	}
	if o.Card.CVV != "" {
		p.Card.CVC = &o.Card.CVV
	}
	if o.Card.CardholderName != "" {
		p.BillingDetails = &stripe.PaymentMethodCreateBillingDetailsParams{Name: &o.Card.CardholderName}
	}
	var method *stripe.PaymentMethod
	err := another(o.Key+"-card", func(key string) (err error) {
		p.Params = params(ctx, key)
		if method, err = s.client.V1PaymentMethods.Create(ctx, p); err != nil {
			err = explain(err)
		}
		return err
	})
	if err != nil {
		return "", err
	}
	if method.ID == "" {
		return "", errors.New("Stripe's answer names no PaymentMethod")
	}
	return method.ID, nil
}

// noPaymentMethod returns the outcome of an authorization whose card Stripe did not take. The
// second request was not sent in this try.
func (s *Stripe) noPaymentMethod(err error) (connector.Result, error) {
	if d, is := errors.AsType[*declined](err); is {
		code := declineCode(networkCode(d.stated), d.stated.DeclineCode, d.stated.Code)
		return connector.Result{}, &refusal{code: code, message: safe(d.stated.Msg), declined: true}
	}
	if refused, is := errors.AsType[*refusal](err); is {
		refused.replayed = false // that of another request
		return connector.Result{}, refused
	}
	return connector.Result{}, fmt.Errorf("%w: the card did not reach Stripe: %w", connector.ErrNothing, err)
}

// declined returns the result of a declined authorization. Stripe keeps a PaymentIntent for it.
func (s *Stripe) declined(ctx context.Context, o connector.Order, d *declined) (connector.Result, error) {
	intent := d.stated.PaymentIntent
	if intent == nil {
		return connector.Result{}, errors.New("Stripe declined, and names no PaymentIntent")
	}
	if err := made(intent.Metadata, o); err != nil {
		return connector.Result{}, err
	}
	// The charge tells more: the network's code, and whether Stripe itself refused.
	if whole, err := s.intent(ctx, intent.ID); err == nil && whole.Status == stripe.PaymentIntentStatusRequiresPaymentMethod {
		return s.authorized(o, whole)
	}
	answer := s.decline(intent, d.stated)
	answer.ProcessorEventID = d.stated.RequestID
	return s.sized(intent, answer)
}

// intent returns a PaymentIntent with its newest charge.
func (s *Stripe) intent(ctx context.Context, id string) (*stripe.PaymentIntent, error) {
	intent, err := s.client.V1PaymentIntents.Retrieve(ctx, id, &stripe.PaymentIntentRetrieveParams{Expand: stripe.StringSlice([]string{latestCharge})})
	if err != nil {
		return nil, explain(err)
	}
	if intent.ID != id {
		return nil, errors.New("Stripe answered with another PaymentIntent")
	}
	return intent, nil
}

// authorized returns the result of an authorization from its PaymentIntent.
func (s *Stripe) authorized(o connector.Order, intent *stripe.PaymentIntent) (connector.Result, error) {
	if err := made(intent.Metadata, o); err != nil {
		return connector.Result{}, err
	}
	if intent.Livemode != s.live() {
		return connector.Result{}, errors.New("Stripe answered with a PaymentIntent of the other mode")
	}
	answer, err := s.state(intent)
	if err != nil {
		return connector.Result{}, err
	}
	answer.ProcessorEventID, answer.CardToken = requestID(intent.LastResponse), tokenOf(intent, answer)
	result, err := s.sized(intent, answer)
	if raised(intent) && result.Amount > o.Amount { // by adjustments: it was authorized as ordered
		result.Amount = o.Amount
	}
	return result, err
}

func (s *Stripe) sized(intent *stripe.PaymentIntent, answer processor.Answer) (connector.Result, error) {
	amount, currency, err := fromStripe(intent.Amount, intent.Currency)
	return connector.Result{Answer: answer, Amount: amount, Currency: currency}, err
}
