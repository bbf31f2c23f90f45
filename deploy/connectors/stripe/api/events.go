package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v84"
	"github.com/stripe/stripe-go/v84/webhook"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/connector"
)

// tolerance is how old a signature may be, and how far its clock may be ahead.
const tolerance = 5 * time.Minute

// message is the part of an event that counts: what changed. Its state is read from Stripe, so that
// an event may be late, repeated, or out of order.
type message struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Livemode *bool  `json:"livemode"`
	Account  string `json:"account"` // a connected account; "": the endpoint's own
	Data     struct {
		Object struct {
			ID     string `json:"id"`
			Object string `json:"object"`
		} `json:"object"`
	} `json:"data"`
}

// Events reads a webhook of Stripe.
func (s *Stripe) Events(ctx context.Context, header http.Header, body []byte) ([]connector.Event, error) {
	if err := s.verify(header.Get("Stripe-Signature"), body); err != nil {
		return nil, err
	}
	var m message
	if err := json.Unmarshal(body, &m); err != nil {
		return nil, errors.New("the event cannot be read")
	}
	if m.Livemode == nil || *m.Livemode != s.live() {
		return nil, nil // the endpoint's other mode: nothing of ours
	}
	if m.Account != "" {
		return nil, nil // of a connected account: nothing of ours
	}
	object := m.Data.Object
	if m.ID == "" || len(m.ID) > 255 || object.ID == "" || !domain.ValidID(object.ID) {
		return nil, nil
	}
	switch {
	case object.Object == "payment_intent" && strings.HasPrefix(m.Type, "payment_intent."):
		return s.intentEvents(ctx, m)
	case object.Object == "setup_intent" && strings.HasPrefix(m.Type, "setup_intent."):
		return s.setupEvents(ctx, m)
	case object.Object == "refund" && (strings.HasPrefix(m.Type, "refund.") || strings.HasPrefix(m.Type, "charge.refund.")):
		return s.refundEvents(ctx, m)
	case object.Object == "dispute" && strings.HasPrefix(m.Type, "charge.dispute."):
		return s.disputeEvents(ctx, m)
	}
	return nil, nil
}

// verify checks the signature, by any of the secrets, and its time.
func (s *Stripe) verify(signature string, body []byte) error {
	err := error(webhook.ErrNotSigned)
	for _, secret := range s.WebhookSecrets {
		if err = webhook.ValidatePayloadIgnoringTolerance(body, signature, secret); err == nil {
			break
		}
	}
	if err != nil {
		return err
	}
	var signed int64
	for part := range strings.SplitSeq(signature, ",") {
		if text, is := strings.CutPrefix(part, "t="); is { // the last one is signed
			if signed, err = strconv.ParseInt(text, 10, 64); err != nil {
				return webhook.ErrInvalidHeader
			}
		}
	}
	if age := s.Now().Sub(time.Unix(signed, 0)); age > tolerance || age < -tolerance {
		return webhook.ErrTooOld
	}
	return nil
}

func (s *Stripe) intentEvents(ctx context.Context, m message) ([]connector.Event, error) {
	intent, err := s.intent(ctx, m.Data.Object.ID)
	if err != nil {
		return nil, hidden(err)
	}
	key := intent.Metadata[metaKey]
	if key == "" {
		return nil, nil // not of the ledger
	}
	answer, err := s.state(intent)
	if err != nil {
		return nil, nil //nolint:nilerr // it is not confirmed: nothing has happened
	}
	answer.ProcessorEventID = m.ID
	result, err := s.sized(intent, answer)
	if err != nil {
		return nil, err
	}
	return []connector.Event{{ID: m.ID, Key: domain.OperationKey(key), Kind: processor.Authorize, TransactionID: intent.ID, Result: &result}}, nil
}

func (s *Stripe) setupEvents(ctx context.Context, m message) ([]connector.Event, error) {
	intent, err := s.setupIntent(ctx, m.Data.Object.ID)
	if err != nil {
		return nil, hidden(err)
	}
	key := intent.Metadata[metaKey]
	if key == "" {
		return nil, nil // not of the ledger, or no operation
	}
	answer, err := s.setup(intent)
	if err != nil {
		return nil, nil //nolint:nilerr // it is not confirmed: nothing has happened
	}
	answer.ProcessorEventID = m.ID
	result := connector.Result{Answer: answer, AsOrdered: true} // a SetupIntent has no amount
	return []connector.Event{{ID: m.ID, Key: domain.OperationKey(key), Kind: processor.Authorize, TransactionID: intent.ID, Result: &result}}, nil
}

func (s *Stripe) refundEvents(ctx context.Context, m message) ([]connector.Event, error) {
	refund, err := s.client.V1Refunds.Retrieve(ctx, m.Data.Object.ID, nil)
	if err != nil {
		return nil, hidden(explain(err))
	}
	key := refund.Metadata[metaKey]
	if key == "" || refund.ID != m.Data.Object.ID {
		return nil, nil
	}
	result, err := s.refundResult(refund)
	if err != nil {
		return nil, err
	}
	result.Answer.ProcessorEventID = m.ID
	return []connector.Event{{ID: m.ID, Key: domain.OperationKey(key), Kind: processor.Refund, TransactionID: refund.ID, Result: &result, Overturns: refund.Status == stripe.RefundStatusFailed}}, nil
}

// hidden returns the error of an event whose object cannot be read, also if Stripe does not know
// it: the key may be of another account at the moment. Stripe sends the event again.
func hidden(err error) error { return fmt.Errorf("the object of the event cannot be read: %w", err) }
