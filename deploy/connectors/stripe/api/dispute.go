package api

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v84"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/connector"
	"payledger/processorsim/protocol"
)

// noReason is the reason code of a dispute for which the card scheme gave none.
const noReason = "NONE"

func (s *Stripe) disputeEvents(ctx context.Context, m message) ([]connector.Event, error) {
	d, err := s.client.V1Disputes.Retrieve(ctx, m.Data.Object.ID, &stripe.DisputeRetrieveParams{Expand: stripe.StringSlice([]string{"payment_intent", "charge"})})
	if err != nil {
		return nil, hidden(explain(err))
	}
	if d.ID != m.Data.Object.ID || d.PaymentIntent == nil || d.PaymentIntent.Metadata[metaReference] == "" {
		return nil, nil // of a payment that is not the ledger's
	}
	update, err := s.disputeUpdate(d)
	if err != nil {
		return nil, err
	}
	of := domain.PaymentID(d.PaymentIntent.Metadata[metaReference])
	return []connector.Event{{ID: stateID(update), Reference: of, Dispute: &update}}, nil
}

// stateID names a state of a dispute: several events of Stripe lead to one state.
func stateID(d processor.DisputeUpdate) string {
	state := fmt.Sprint(d.Type, d.Status, d.ReasonCode, d.Amount, d.Currency, d.ChallengeBy.Unix())
	sum := sha256.Sum256([]byte(state))
	return d.ID + "." + hex.EncodeToString(sum[:6])
}

// disputeUpdate returns a dispute in the terms of D16. Its time is that at which Stripe gave the
// state, so that the newest state has the newest time, in whatever order events come.
func (s *Stripe) disputeUpdate(d *stripe.Dispute) (processor.DisputeUpdate, error) {
	now := stageOf(d)
	if now.status == "" {
		return processor.DisputeUpdate{}, fmt.Errorf("a dispute is %q", d.Status)
	}
	amount, currency, err := fromStripe(d.Amount, d.Currency)
	if err != nil {
		return processor.DisputeUpdate{}, err
	}
	u := processor.DisputeUpdate{
		ID: d.ID, MerchantID: d.PaymentIntent.Metadata[metaMerchant], TransactionID: disputed(d), Type: now.kind, Status: now.status,
		ReasonCode: reasonCode(d), Wording: safe(string(d.Reason)), Amount: amount, Currency: currency,
		At: s.answered(d.LastResponse).Add(now.order),
	}
	if e := d.EvidenceDetails; e != nil && e.DueBy > 0 {
		u.ChallengeBy = time.Unix(e.DueBy, 0).UTC()
	}
	return u, nil
}

// stage is the state of a dispute in the terms of D16.
type stage struct {
	kind   processor.DisputeType
	status processor.DisputeStatus
	order  time.Duration // orders the states of one second
}

// stageOf returns the stage of a dispute; an empty one for a status that is not known. Stripe has
// no word for a dispute that the merchant accepted or let expire: it is lost without evidence.
func stageOf(d *stripe.Dispute) stage {
	var evidence, late bool
	if e := d.EvidenceDetails; e != nil {
		evidence, late = e.SubmissionCount > 0, e.PastDue
	}
	kind := processor.Chargeback
	if strings.HasPrefix(string(d.Status), "warning_") {
		kind = processor.Retrieval
	}
	const open, answered, ended = 0, time.Millisecond, 2 * time.Millisecond
	switch d.Status {
	case stripe.DisputeStatusNeedsResponse, stripe.DisputeStatusWarningNeedsResponse:
		return stage{kind, processor.DisputeOpen, open}
	case stripe.DisputeStatusUnderReview, stripe.DisputeStatusWarningUnderReview:
		return stage{kind, processor.DisputeChallenged, answered}
	case stripe.DisputeStatusWarningClosed, stripe.DisputeStatusPrevented:
		return stage{kind, processor.DisputeCancelled, ended}
	case stripe.DisputeStatusWon:
		if !evidence {
			return stage{kind, processor.DisputeCancelled, ended} // the customer or the bank withdrew it
		}
		return stage{kind, processor.DisputeWon, ended}
	case stripe.DisputeStatusLost:
		switch {
		case evidence:
			return stage{kind, processor.DisputeLost, ended}
		case late:
			return stage{kind, processor.DisputeExpired, ended}
		}
		return stage{kind, processor.DisputeAccepted, ended}
	}
	return stage{}
}

// reasonCode returns the card scheme's code.
func reasonCode(d *stripe.Dispute) string {
	code := d.NetworkReasonCode
	if details := d.PaymentMethodDetails; details != nil && details.Card != nil {
		code = cmp.Or(details.Card.NetworkReasonCode, code)
	}
	if !protocol.ReasonCode.MatchString(code) {
		return noReason
	}
	return code
}

// disputed returns the transaction of the disputed capture, else of the authorization.
func disputed(d *stripe.Dispute) string {
	if d.Charge == nil {
		return d.PaymentIntent.ID
	}
	part := ""
	for _, t := range stampsOf(d.PaymentIntent.Metadata) {
		if t.kind != processor.Capture {
			continue
		}
		if t.final {
			return captureID(d.Charge.ID, t)
		}
		part = captureID(d.Charge.ID, t)
	}
	return cmp.Or(part, d.PaymentIntent.ID)
}
