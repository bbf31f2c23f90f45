package api

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v84"

	"payledger/domain"
	"payledger/domain/processor"
)

// Captures made elsewhere, in Stripe's pages, have no stamp. Stripe shows only what a charge
// captured in all, and a balance transaction for each capture, which does not say whose it is. So
// the captures made elsewhere are the balance transactions without the amounts of the stamps. Of
// two captures of one amount it does not matter which is the connector's: a capture made elsewhere
// is named by its amount, and by its number among those of one amount. Neither changes when other
// captures follow, so the ledger never books it twice.
//
// A balance transaction has the amount in the currency in which Stripe pays out. In another
// currency the amount of the capture follows from the exchange rate, within a unit or two; the
// sum over all captures is exact.

// taken is a capture of a charge that was made elsewhere.
type taken struct {
	id, move string // move is its balance transaction
	amount   int64  // in Stripe's units of the charge's currency
	at       time.Time
	final    bool
}

// errUnpaired means that the balance transactions of a charge are not those of its captures: Stripe
// may show them a moment later.
var errUnpaired = errors.New("Stripe does not show the balance transactions of all captures of a payment")

// elsewhere returns the captures of a PaymentIntent that were made elsewhere, and its present
// state.
func (s *Stripe) elsewhere(ctx context.Context, id, charge string) ([]taken, *stripe.PaymentIntent, error) {
	moves, err := s.moves(ctx, charge)
	if err != nil {
		return nil, nil, err
	}
	intent, err := s.intent(ctx, id) // after the moves, so that it has the stamp of each capture that they have
	if err != nil {
		return nil, nil, err
	}
	c := intent.LatestCharge
	if c == nil || c.ID != charge {
		return nil, nil, errors.New("Stripe answered with a PaymentIntent of another charge")
	}
	sum := c.AmountCaptured - captured(intent.Metadata)
	if sum <= 0 {
		return nil, intent, nil
	}
	if !multicapture(c) { // it is the only capture, of which the charge is the name
		only := taken{id: c.ID, amount: sum, at: time.Unix(c.Created, 0).UTC(), final: true}
		if len(moves) > 0 {
			only.move, only.at = moves[0].id, moves[0].at
		}
		return []taken{only}, intent, nil
	}
	list, err := unstamped(c, moves, stampsOf(intent.Metadata), sum)
	if err != nil {
		return nil, nil, err
	}
	list[len(list)-1].final = intent.AmountCapturable == 0 && !canceled(intent) && !hasFinal(intent.Metadata)
	return list, intent, nil
}

// multicapture reports whether a charge may be captured several times.
func multicapture(c *stripe.Charge) bool {
	if c.PaymentMethodDetails == nil || c.PaymentMethodDetails.Card == nil || c.PaymentMethodDetails.Card.Multicapture == nil {
		return false
	}
	return c.PaymentMethodDetails.Card.Multicapture.Status == stripe.ChargePaymentMethodDetailsCardMulticaptureStatusAvailable
}

// canceled reports whether what a PaymentIntent held was released by a cancellation, or because it
// expired. After a capture of a part its status is that of a success.
func canceled(intent *stripe.PaymentIntent) bool {
	return intent.Status == stripe.PaymentIntentStatusCanceled || intent.CanceledAt > 0
}

// move is a balance transaction of a capture. amount is in the charge's currency, and may be wrong
// by within.
type move struct {
	id             string
	at             time.Time
	amount, within int64
}

// moves returns the balance transactions of the captures of a charge, by creation.
func (s *Stripe) moves(ctx context.Context, charge string) (list []move, err error) {
	p := &stripe.BalanceTransactionListParams{Source: &charge, Type: stripe.String("charge"), Expand: stripe.StringSlice([]string{"data.source"})}
	p.Limit = stripe.Int64(pageSize)
	for t, err := range s.client.V1BalanceTransactions.List(ctx, p) {
		if err != nil {
			return nil, explain(err)
		}
		if t.Source == nil || t.Source.Charge == nil || t.Source.Charge.ID != charge {
			return nil, errors.New("Stripe answered with a balance transaction of another charge")
		}
		m, err := readMove(t)
		if err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	slices.Reverse(list) // the newest is first
	slices.SortStableFunc(list, func(a, b move) int { return a.at.Compare(b.at) })
	return list, nil
}

func readMove(t *stripe.BalanceTransaction) (move, error) {
	m := move{id: t.ID, at: time.Unix(t.Created, 0).UTC(), amount: t.Amount}
	paid := t.Source.Charge.Currency
	if t.Currency == paid {
		return m, nil
	}
	if t.ExchangeRate <= 0 {
		return m, fmt.Errorf("a balance transaction in %q of a charge in %q has no exchange rate", t.Currency, paid)
	}
	unit := unitOf(domain.Currency(strings.ToUpper(string(paid))))
	m.amount = int64(math.Round(float64(t.Amount)/t.ExchangeRate/float64(unit))) * unit
	m.within = max(unit, int64(math.Ceil(1/t.ExchangeRate))) + m.amount/100_000 // the rate has some six digits
	return m, nil
}

// unstamped returns the captures of a charge that have no stamp, of which the sum is known.
func unstamped(c *stripe.Charge, moves []move, stamps []stamp, sum int64) ([]taken, error) {
	others := without(moves, stamps)
	var list []taken
	var within int64
	times := map[int64]int{}
	rest := sum
	for _, m := range others {
		times[m.amount]++
		t := taken{id: c.ID + "_elsewhere_" + strconv.FormatInt(m.amount, 10), move: m.id, amount: m.amount, at: m.at}
		if n := times[m.amount]; n > 1 {
			t.id += "_" + strconv.Itoa(n)
		}
		list = append(list, t)
		rest, within = rest-m.amount, within+m.within
	}
	if len(list) == 0 || max(rest, -rest) > within {
		return nil, fmt.Errorf("%w: they are %d of %d", errUnpaired, sum-rest, sum)
	}
	list[len(list)-1].amount += rest // what exchange rates leave open
	if len(moves) == 1 && sum == c.Amount {
		list[0].id = c.ID // of all that was authorized: it is the only one, as without multicapture
	}
	return list, nil
}

// without returns the balance transactions that are not those of captures with a stamp.
func without(moves []move, stamps []stamp) []move {
	left := slices.Clone(moves)
	for _, exact := range []bool{true, false} {
		stamps = slices.DeleteFunc(slices.Clone(stamps), func(t stamp) bool {
			if t.kind != processor.Capture {
				return true
			}
			at, off := -1, int64(0)
			for i, m := range left {
				d := max(m.amount-t.amount, t.amount-m.amount)
				if d == 0 || !exact && d <= m.within && (at < 0 || d <= off) {
					at, off = i, d // of several of one amount the newest, so that the times of the others stay
				}
			}
			if at >= 0 {
				left = slices.Delete(left, at, at+1)
			}
			return at >= 0
		})
	}
	return left
}
