package api

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v84"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

// pageSize is the number of objects in a page of a list, Stripe's maximum.
const pageSize = 100

// heldAtMost is longer than Stripe holds money before an authorization expires.
const heldAtMost = 32 * 24 * time.Hour

// List returns authorizations, captures, releases and refunds at Stripe, by creation: of the
// PaymentIntents known, or of all that were made between two times. A payment that the ledger did
// not make has the id of its PaymentIntent as reference.
func (s *Stripe) List(ctx context.Context, f protocol.Filter, known []string, yield func(protocol.Entry) error) error {
	l := &listing{s: s, f: f, seen: map[string]bool{}, paired: map[string]bool{}}
	var err error
	if f.Reference != "" {
		err = l.payment(ctx, known)
	} else {
		err = l.between(ctx)
	}
	if err != nil {
		return err
	}
	slices.SortStableFunc(l.entries, func(a, b protocol.Entry) int { return a.CreatedAt.Compare(b.CreatedAt) })
	for _, e := range l.entries {
		if err := yield(e); err != nil {
			return err
		}
	}
	return nil
}

// listing collects entries.
type listing struct {
	s       *Stripe
	f       protocol.Filter
	seen    map[string]bool
	paired  map[string]bool // charges whose captures made elsewhere are listed
	entries []protocol.Entry
}

// payment lists the authorizations in known, with their captures and refunds.
func (l *listing) payment(ctx context.Context, known []string) error {
	for _, id := range known {
		if strings.HasPrefix(id, "seti_") {
			continue // a verification holds nothing, so nothing can be made elsewhere
		}
		intent, err := l.s.intent(ctx, id)
		if err != nil {
			return err
		}
		if err := l.intent(intent); err != nil {
			return err
		}
		if err := l.captures(ctx, intent, intent.LatestCharge, time.Time{}); err != nil {
			return err
		}
		if err := l.refunds(ctx, &stripe.RefundListParams{PaymentIntent: &id}, intent.Metadata); err != nil {
			return err
		}
	}
	return nil
}

// between lists by time: PaymentIntents and refunds by their own time, captures by that of their
// balance transactions, releases by that of the cancellation.
func (l *listing) between(ctx context.Context) error {
	if err := l.canceledLater(ctx); err != nil {
		return err
	}
	intents := &stripe.PaymentIntentListParams{CreatedRange: l.created(), Expand: stripe.StringSlice([]string{"data." + latestCharge})}
	intents.Limit = stripe.Int64(pageSize)
	for intent, err := range l.s.client.V1PaymentIntents.List(ctx, intents) {
		if err != nil {
			return explain(err)
		}
		if err := l.intent(intent); err != nil {
			return err
		}
	}
	moves := &stripe.BalanceTransactionListParams{
		CreatedRange: l.created(), Type: stripe.String("charge"), Expand: stripe.StringSlice([]string{"data.source", "data.source.payment_intent"}),
	}
	moves.Limit = stripe.Int64(pageSize)
	for move, err := range l.s.client.V1BalanceTransactions.List(ctx, moves) {
		if err != nil {
			return explain(err)
		}
		if move.Source == nil || move.Source.Charge == nil || move.Source.Charge.PaymentIntent == nil {
			continue // no card payment through a PaymentIntent
		}
		charge := move.Source.Charge
		if err := l.captures(ctx, charge.PaymentIntent, charge, time.Unix(move.Created, 0).UTC()); err != nil {
			return err
		}
	}
	return l.refunds(ctx, &stripe.RefundListParams{CreatedRange: l.created(), Expand: stripe.StringSlice([]string{"data.payment_intent"})}, nil)
}

// canceledLater adds the releases of PaymentIntents that were made before the time of the list.
func (l *listing) canceledLater(ctx context.Context) error {
	if l.f.From.IsZero() {
		return nil
	}
	first := l.created().GreaterThanOrEqual
	earlier := &stripe.PaymentIntentListParams{CreatedRange: &stripe.RangeQueryParams{
		GreaterThanOrEqual: l.f.From.Add(-heldAtMost).Unix(), LesserThan: first,
	}}
	earlier.Limit = stripe.Int64(pageSize)
	for found, err := range l.s.client.V1PaymentIntents.List(ctx, earlier) {
		if err != nil {
			return explain(err)
		}
		if found.CanceledAt < first {
			continue
		}
		intent, err := l.s.intent(ctx, found.ID) // with its charge
		if err != nil {
			return err
		}
		if err := l.release(intent); err != nil {
			return err
		}
	}
	return nil
}

// created returns the bounds of the filter in Stripe's seconds.
func (l *listing) created() *stripe.RangeQueryParams {
	r := &stripe.RangeQueryParams{}
	if !l.f.From.IsZero() {
		r.GreaterThanOrEqual = l.f.From.Add(time.Second - 1).Unix()
	}
	if !l.f.To.IsZero() {
		r.LesserThanOrEqual = l.f.To.Unix()
	}
	if *r == (stripe.RangeQueryParams{}) {
		return nil
	}
	return r
}

// intent adds the authorization of a PaymentIntent, if it has an outcome, and its release.
func (l *listing) intent(intent *stripe.PaymentIntent) error {
	answer, err := l.s.state(intent)
	if err != nil {
		return nil //nolint:nilerr // it was never confirmed
	}
	if answer.State == processor.ActionRequired {
		answer.State, answer.ActionToken, answer.ActionURL = processor.Pending, "", ""
	}
	e := protocol.Entry{Answer: answer}
	e.Operation, e.IdempotencyKey = processor.Authorize, domain.OperationKey(intent.Metadata[metaKey])
	if err := l.add(e, intent, intent.ID, intent.Amount, intent.Currency, time.Unix(intent.Created, 0).UTC()); err != nil {
		return err
	}
	return l.release(intent)
}

// release adds the void of a PaymentIntent whose authorization was cancelled, or has expired. The
// kit leaves it out if the connector made it.
func (l *listing) release(intent *stripe.PaymentIntent) error {
	if c := intent.LatestCharge; !canceled(intent) || c == nil || c.Status != stripe.ChargeStatusSucceeded {
		return nil // no money was held
	}
	at := time.Unix(intent.CanceledAt, 0).UTC()
	e := protocol.Entry{Answer: processor.Answer{State: processor.Succeeded, ProcessorTransactionID: intent.ID, At: at}}
	e.ID, e.Operation, e.ParentID = intent.ID+"_canceled", processor.Void, intent.ID
	return l.add(e, intent, intent.ID, intent.Amount-intent.AmountReceived, intent.Currency, at)
}

// captures adds the captures of a charge: those with a stamp, and those made elsewhere.
func (l *listing) captures(ctx context.Context, intent *stripe.PaymentIntent, charge *stripe.Charge, at time.Time) error {
	if charge == nil || charge.ID == "" || charge.AmountCaptured == 0 {
		return nil
	}
	if at.IsZero() {
		at = time.Unix(charge.Created, 0).UTC()
	}
	for _, t := range stampsOf(intent.Metadata) {
		if t.kind != processor.Capture {
			continue
		}
		if err := l.capture(intent, taken{id: captureID(charge.ID, t), amount: t.amount, final: t.final, at: at}, t.key); err != nil {
			return err
		}
	}
	if charge.AmountCaptured <= captured(intent.Metadata) || l.paired[charge.ID] {
		return nil
	}
	l.paired[charge.ID] = true
	list, intent, err := l.s.elsewhere(ctx, intent.ID, charge.ID)
	if err != nil {
		return err
	}
	for _, t := range list {
		if err := l.capture(intent, t, ""); err != nil {
			return err
		}
	}
	return nil
}

func (l *listing) capture(intent *stripe.PaymentIntent, t taken, key string) error {
	e := protocol.Entry{Final: t.final, Answer: processor.Answer{State: processor.Succeeded, ProcessorTransactionID: t.id, ProcessorEventID: t.move, At: t.at}}
	e.Operation, e.ParentID, e.IdempotencyKey = processor.Capture, intent.ID, domain.OperationKey(key)
	return l.add(e, intent, t.id, t.amount, intent.Currency, t.at)
}

// refunds adds refunds. of is the metadata of their payment if the list does not have it.
func (l *listing) refunds(ctx context.Context, list *stripe.RefundListParams, of map[string]string) error {
	list.Limit = stripe.Int64(pageSize)
	for refund, err := range l.s.client.V1Refunds.List(ctx, list) {
		if err != nil {
			return explain(err)
		}
		if refund.PaymentIntent == nil {
			continue
		}
		result, err := l.s.refundResult(refund)
		if err != nil {
			return err
		}
		intent := *refund.PaymentIntent
		if of != nil {
			intent.Metadata = of
		}
		at := time.Unix(refund.Created, 0).UTC()
		result.Answer.At = at
		e := protocol.Entry{Answer: result.Answer}
		e.Operation, e.ParentID, e.IdempotencyKey = processor.Refund, intent.ID, domain.OperationKey(refund.Metadata[metaKey])
		if err := l.add(e, &intent, refund.ID, refund.Amount, refund.Currency, at); err != nil {
			return err
		}
	}
	return nil
}

// add completes an entry and keeps it, once.
func (l *listing) add(e protocol.Entry, intent *stripe.PaymentIntent, id string, amount int64, currency stripe.Currency, at time.Time) error {
	var err error
	if e.Amount, e.Currency, err = fromStripe(amount, currency); err != nil {
		return err
	}
	e.ID = cmp.Or(e.ID, id)
	e.ProcessorTransactionID, e.State, e.CreatedAt, e.UpdatedAt = id, e.Answer.State, at, at
	e.ProcessorMerchantID = intent.Metadata[metaMerchant]
	if e.Reference = domain.PaymentID(intent.Metadata[metaReference]); e.Reference == "" {
		e.Reference = domain.PaymentID(intent.ID)
	}
	if l.seen[id+string(e.Operation)] || !l.f.Matches("", "", at) && l.f.Reference == "" || l.f.Reference != "" && e.Reference != l.f.Reference {
		return nil
	}
	l.seen[id+string(e.Operation)] = true
	l.entries = append(l.entries, e)
	return nil
}
