package api

import (
	"context"
	"time"

	"github.com/stripe/stripe-go/v84"

	"payledger/domain/processor"
	"payledger/processorsim/connector"
)

// actionPatience is how long a customer may take who came back before the check had a result.
const actionPatience = time.Hour

// complete asks Stripe for the result of the customer's check: what the browser says does not
// count. If the customer gave up, the PaymentIntent is cancelled, so that it is never approved
// later.
func (s *Stripe) complete(ctx context.Context, o connector.Order) (connector.Result, error) {
	intent, err := s.intent(ctx, o.ParentID)
	if err != nil {
		return connector.Result{}, unread(err)
	}
	if intent.Status == stripe.PaymentIntentStatusRequiresAction && o.Outcome == processor.AuthenticationFailed {
		if intent, err = s.abandon(ctx, o); err != nil {
			return connector.Result{}, err
		}
	}
	return s.completed(o, intent)
}

// abandon cancels a PaymentIntent that waits for its customer, and returns its state. If the
// customer passed the check meanwhile, Stripe does not cancel, and that counts.
func (s *Stripe) abandon(ctx context.Context, o connector.Order) (*stripe.PaymentIntent, error) {
	p := &stripe.PaymentIntentCancelParams{
		Params: params(ctx, o.Key), CancellationReason: stripe.String(string(stripe.PaymentIntentCancellationReasonAbandoned)),
	}
	if _, err := s.client.V1PaymentIntents.Cancel(ctx, o.ParentID, p); err != nil {
		if _, refused := explained(err).(*refusal); !refused { //nolint:errorlint // explained returns it unwrapped
			return nil, explained(err)
		}
	}
	intent, err := s.intent(ctx, o.ParentID)
	if err != nil {
		return nil, unread(err)
	}
	return intent, nil
}

func (s *Stripe) completed(o connector.Order, intent *stripe.PaymentIntent) (connector.Result, error) {
	answer, err := s.state(intent)
	if err != nil {
		return connector.Result{}, err
	}
	if answer.State == processor.ActionRequired {
		answer.State, answer.ActionToken, answer.ActionURL, answer.ThreeDS = processor.Pending, "", "", ""
	}
	answer.ProcessorEventID, answer.CardToken = requestID(intent.LastResponse), tokenOf(intent, answer)
	return s.sized(intent, answer)
}
