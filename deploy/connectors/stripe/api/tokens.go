package api

import (
	"context"
	"errors"
	"strings"

	"github.com/stripe/stripe-go/v84"

	"payledger/domain/processor"
	"payledger/processorsim/connector"
	"payledger/processorsim/protocol"
)

// Tokens of cards. Stripe's token is a PaymentMethod. It pays more than once only if it is attached
// to a Customer, and then each payment must name this Customer. So an order with tokenize makes a
// Customer for the card, and sets setup_future_usage: with the approval Stripe attaches the
// PaymentMethod. The token is "cus_…:pm_…". The token of a merchant's own form may also be a
// PaymentMethod alone, "pm_…"; it pays once, unless the order has tokenize.
const tokenSeparator = ":"

// splitToken returns the Customer and the PaymentMethod of a token; "" for what it does not have.
func splitToken(token string) (customer, method string) {
	customer, method, both := strings.Cut(token, tokenSeparator)
	if !both {
		customer, method = "", token
	}
	if !strings.HasPrefix(method, "pm_") || both && !strings.HasPrefix(customer, "cus_") {
		return "", ""
	}
	return customer, method
}

// errNoToken refuses a token that Stripe does not know, or no longer. Nothing moved.
var errNoToken = &refusal{code: protocol.CodeTokenUnknown, message: "Stripe does not know the card's token, or it may not be used again", retryable: true}

// payer returns the PaymentMethod of an order's card, and its Customer; "" without one.
func (s *Stripe) payer(ctx context.Context, o connector.Order) (method, customer string, err error) {
	if o.Card.Token == "" {
		method, err = s.paymentMethod(ctx, o)
	} else if customer, method = splitToken(o.Card.Token); method == "" {
		refused := *errNoToken // not local: an earlier try may have had the number
		return "", "", &refused
	}
	if err == nil && customer == "" && o.Tokenize {
		customer, err = s.customer(ctx, o)
	}
	return method, customer, err
}

// customer makes a Customer for a card. It has no data of a person.
func (s *Stripe) customer(ctx context.Context, o connector.Order) (string, error) {
	var made *stripe.Customer
	err := another(o.Key+"-customer", func(key string) (err error) {
		if made, err = s.client.V1Customers.Create(ctx, &stripe.CustomerCreateParams{Params: params(ctx, key)}); err != nil {
			err = explain(err)
		}
		return err
	})
	if err != nil {
		return "", err
	}
	if made.ID == "" {
		return "", errors.New("Stripe's answer names no Customer")
	}
	return made.ID, nil
}

// futureUsage returns how later payments of the card are made: with the customer or without.
func futureUsage(o connector.Order) string {
	if o.FirstPaymentReason == "Recurring" || o.FirstPaymentReason == "Unscheduled" {
		return string(stripe.PaymentIntentSetupFutureUsageOffSession)
	}
	return string(stripe.PaymentIntentSetupFutureUsageOnSession)
}

// unknownToken returns the refusal of an order whose token Stripe refuses; else err.
func unknownToken(o connector.Order, err error) error {
	refused, is := errors.AsType[*refusal](err)
	if !is || o.Card == nil || o.Card.Token == "" || refused.param != "payment_method" && refused.param != "customer" {
		return err
	}
	token := *errNoToken
	token.replayed = refused.replayed
	return &token
}

// tokenOf returns the token that an approved PaymentIntent gave; "" if it gave none.
func tokenOf(intent *stripe.PaymentIntent, a processor.Answer) string {
	if a.State != processor.Succeeded || intent.SetupFutureUsage == "" || intent.Customer == nil || intent.PaymentMethod == nil {
		return ""
	}
	return intent.Customer.ID + tokenSeparator + intent.PaymentMethod.ID
}

// cardStamp is the metadata of a PaymentIntent whose card came as a token.
const cardStamp = "payledger_card"

// charged adds to an answer with what its card was charged.
func charged(a *processor.Answer, intent *stripe.PaymentIntent) {
	if intent.Metadata[cardStamp] != "" {
		a.CardTokenType = processor.ProcessorToken
	}
	if a.Bin != nil && a.Bin.AccountNumberType == "NETWORK_TOKEN" {
		a.CardTokenType = processor.NetworkToken
	}
}
