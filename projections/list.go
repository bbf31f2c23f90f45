package projections

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/eventstore"
	"payledger/eventstore/secrets"
	"payledger/projections/listing"
	"payledger/projections/paymentjson"
	"payledger/projections/sqlitefile"
	"payledger/projections/statistics"
)

// PaymentFilter selects payments of an account (D11) with one of each field's values; an empty
// field does not filter. Bounds are inclusive.
type PaymentFilter struct {
	Statuses    []string `json:"status"`
	MethodTypes []string `json:"payment_method_type"`
	Processors  []string `json:"processor"`
	Currencies  []string `json:"currency_code"`
	CustomerIDs []string `json:"customer_id"`
	MerchantIDs []string `json:"merchant_id"`
	Emails      []string `json:"customer_email_address"` // case and surrounding space do not count
	Last4Digits []string `json:"last_4_digits"`

	TriedProcessors []string `json:"tried_processor,omitempty"` // that had an authorization of the payment, the newest or not
	TriedResults    []string `json:"tried_result,omitempty"`    // of an authorization at one of these, or at any

	WalletEmails []string         `json:"wallet_email,omitempty"` // at PayPal or Klarna. No payment has one: payments are made by card.
	OrderID      string           `json:"order_id"`
	Session      domain.SessionID `json:"-"`                // no parameter of D11
	Oldest       bool             `json:"oldest,omitempty"` // the oldest payments come first

	From      *time.Time     `json:"from_date"` // of creation
	To        *time.Time     `json:"to_date"`
	MinAmount *domain.Amount `json:"min_amount"` // minor units
	MaxAmount *domain.Amount `json:"max_amount"`
}

// PaymentPage is one page of a list, newest first unless the filter says oldest first. Older and
// Newer are the places of the adjacent pages; nil: no page.
type PaymentPage struct {
	Data  []PaymentSummary
	Older *listing.Place
	Newer *listing.Place
}

// PaymentSummary is a payment in a list (D11); its fields are those of the Payment JSON.
type PaymentSummary struct {
	ID                domain.PaymentID              `json:"id"`
	Date              paymentjson.Time              `json:"date"`
	DateUpdated       paymentjson.Time              `json:"dateUpdated"`
	Status            payment.Status                `json:"status"`
	StatusReason      *paymentjson.StatusReason     `json:"statusReason,omitempty"`
	OrderID           string                        `json:"orderId,omitempty"`
	CustomerID        string                        `json:"customerId,omitempty"`
	CurrencyCode      domain.Currency               `json:"currencyCode"`
	Amount            domain.Amount                 `json:"amount"`
	PaymentMethodType string                        `json:"paymentMethodType"`
	PaymentMethodData *ShortCard                    `json:"paymentMethodData,omitempty"`
	Processor         *paymentjson.PaymentProcessor `json:"processor,omitempty"`
	Metadata          domain.Metadata               `json:"metadata,omitempty"`
}

// ShortCard is what a list shows of a card.
type ShortCard struct {
	Network     domain.Network `json:"network"`
	Last4Digits string         `json:"last4Digits"`
}

// listTimeout bounds the wait for the read model and the reading of one page.
const listTimeout = 10 * time.Second

// ListPayments reads a page of at most limit payments of an account after from; nil is the end that
// comes first (D11). The page has everything that this node acknowledged before the call, and every
// payment in it fits the filter. Events of other nodes follow when they arrive. If the read model
// does not answer within 10 s, the error is ServiceUnavailable.
//
// E-mail addresses are found by their keyed hash. A found payment is listed only if its personal
// data opens and has the address: after a customer's key is destroyed, the list by address no
// longer shows that there were payments.
func (p *Projections) ListPayments(ctx context.Context, account domain.AccountID, f PaymentFilter, from *listing.Place, limit int) (PaymentPage, error) {
	first := from == nil
	if first && f.Oldest {
		from = &listing.Place{At: time.UnixMicro(0), Newer: true}
	}
	return current(ctx, p, func(ctx context.Context) (PaymentPage, error) {
		found, err := p.listed(ctx, account, f, from, limit+1)
		if err != nil {
			return PaymentPage{}, fmt.Errorf("projections: list: %w", err)
		}
		page := newPage(found, from, limit)
		if f.Oldest {
			slices.Reverse(page.Data)
		}
		if f.Oldest && first {
			page.Older = nil
		}
		return page, nil
	})
}

// current returns what read returns once the read model shows every event that this node knows to
// be in the log. Every error, also that of a wait beyond listTimeout, is ServiceUnavailable.
func current[T any](ctx context.Context, p *Projections, read func(context.Context) (T, error)) (found T, err error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	if err = p.appendedHere(ctx); err == nil {
		found, err = read(ctx)
	}
	if err != nil {
		return found, unavailable(err)
	}
	return found, nil
}

// appendedHere returns when the read model shows every event that this node knows: it knows those
// of a call before it answers.
func (p *Projections) appendedHere(ctx context.Context) error {
	return p.Reach(ctx, p.Store.Appended())
}

// listed reads up to n payments from a place, in its direction.
func (p *Projections) listed(ctx context.Context, account domain.AccountID, f PaymentFilter, from *listing.Place, n int) ([]payment.State, error) {
	emails, hashes, err := p.emailHashes(account, f.Emails)
	if err != nil {
		return nil, err
	}
	return filled(ctx, p, eventstore.Payments, n, func(m *model, last *payment.State, most int) ([]rowKey, error) {
		if last != nil {
			from = placeOf(*last, from != nil && from.Newer)
		}
		return m.listPayments(ctx, account, f, hashes, from, most)
	}, func(s *payment.State) (bool, error) { return p.fits(ctx, s, f, emails) })
}

// filled reads up to n states that fit. next finds at most so many rows after a state, or the first
// rows; the store has their newest states. A state that no longer fits is left out, and the next
// ones take its place.
func filled[S any, E domain.Event](ctx context.Context, p *Projections, a *eventstore.Aggregate[S, E], n int,
	next func(m *model, last *S, most int) ([]rowKey, error), fits func(*S) (bool, error),
) ([]S, error) {
	kept, last := []S{}, (*S)(nil)
	for {
		want := n - len(kept)
		m, done := p.reading()
		rows, err := next(m, last, want)
		done()
		if err != nil {
			return nil, err
		}
		states, err := tips(ctx, p.Store, a, rows)
		if err != nil {
			return nil, err
		}
		for i := range states {
			fit, err := fits(&states[i])
			if err != nil {
				return nil, err
			}
			if fit {
				kept = append(kept, states[i])
			}
		}
		if len(rows) < want || len(kept) == n {
			return kept, nil
		}
		last = &states[len(states)-1]
	}
}

// emailHashes returns addresses in normal form, and their hashes as rows have them.
func (p *Projections) emailHashes(account domain.AccountID, addresses []string) (emails, hashes []string, err error) {
	emails, hashes = make([]string, len(addresses)), make([]string, len(addresses))
	for i, email := range addresses {
		if hashes[i], err = p.Secrets.EmailHash(account, email); err != nil {
			return nil, nil, err
		}
		emails[i] = secrets.NormalEmail(email)
	}
	return emails, hashes, nil
}

// fits reports whether the newest state of a payment is in the list. A filter by addresses needs
// personal data that opens.
func (p *Projections) fits(ctx context.Context, s *payment.State, f PaymentFilter, emails []string) (bool, error) {
	if !f.holds(s) || len(emails) == 0 {
		return f.holds(s), nil
	}
	personal, err := p.Secrets.Open(ctx, s.Details().Personal)
	if err != nil {
		return false, err
	}
	c := personal.Customer
	return c != nil && slices.Contains(emails, secrets.NormalEmail(c.Email)), nil
}

func (f PaymentFilter) tried() statistics.ByTries {
	return statistics.ByTries{Processors: f.TriedProcessors, Results: f.TriedResults}
}

// holds reports whether the fields that later events can change fit the filter: status, processor,
// merchant id, tries and amount.
func (f PaymentFilter) holds(s *payment.State) bool {
	oneOf := func(value string, values []string) bool { return len(values) == 0 || slices.Contains(values, value) }
	target := targetOf(s)
	return f.tried().Holds(s) && oneOf(string(s.Status()), f.Statuses) && oneOf(string(target.Processor), f.Processors) && oneOf(target.MerchantID, f.MerchantIDs) &&
		(f.MinAmount == nil || s.Amount >= *f.MinAmount) && (f.MaxAmount == nil || s.Amount <= *f.MaxAmount)
}

func placeOf(s payment.State, newer bool) *listing.Place {
	return &listing.Place{At: s.CreatedAt, ID: string(s.ID), Newer: newer}
}

// newPage builds a page from the payments found; more than limit payments mean that another page
// follows. In the opposite direction is the page that the caller came from, even if nothing on it
// fits the filter any more.
func newPage(found []payment.State, from *listing.Place, limit int) PaymentPage {
	newer := from != nil && from.Newer
	ahead, behind := (*listing.Place)(nil), (*listing.Place)(nil)
	if len(found) > limit {
		found = found[:limit]
		ahead = placeOf(found[limit-1], newer)
	}
	switch {
	case from == nil:
	case len(found) > 0:
		behind = placeOf(found[0], !newer)
	default:
		behind = &listing.Place{At: from.At, ID: from.ID, Newer: !newer, Here: !from.Here}
	}
	page := PaymentPage{Data: make([]PaymentSummary, len(found)), Older: ahead, Newer: behind}
	if newer {
		page.Older, page.Newer = behind, ahead
		slices.Reverse(found)
	}
	for i, s := range found {
		page.Data[i] = summary(s)
	}
	return page
}

// summary takes its fields from paymentjson.Render, so that a list and the payment show the same.
func summary(s payment.State) PaymentSummary {
	p := paymentjson.Render(s, domain.Personal{}, paymentjson.Options{})
	var card *ShortCard
	if c := s.Method.Card; c.Last4Digits != "" {
		card = &ShortCard{c.Network, c.Last4Digits}
	}
	return PaymentSummary{
		ID: p.ID, Date: p.Date, DateUpdated: p.DateUpdated, Status: p.Status, StatusReason: p.StatusReason, PaymentMethodData: card, OrderID: p.OrderID,
		CustomerID: p.CustomerID, CurrencyCode: p.CurrencyCode, Amount: p.Amount,
		PaymentMethodType: p.PaymentMethod.PaymentMethodType, Processor: p.Processor, Metadata: p.Metadata,
	}
}

// Totals are the totals of the payments that a list has.
type Totals struct {
	Payments   int             `json:"payments"` // that are counted
	More       bool            `json:"more"`     // there are further ones, which are not counted
	Currencies []CurrencyTotal `json:"currencies"`
}

// CurrencyTotal is the total of the payments in one currency. Sums are minor units. They may be
// above the largest amount.
type CurrencyTotal struct {
	Currency domain.Currency `json:"currencyCode"`
	Payments int             `json:"payments"`
	Amount   *big.Int        `json:"amount"`
	Captured *big.Int        `json:"amountCaptured"`
	Refunded *big.Int        `json:"amountRefunded"`
}

// TotalsMost is the greatest number of payments that totals count: it bounds the work of a call.
const TotalsMost = 10_000

// TotalPayments returns the totals of the payments that fit a filter, of the newest most ones. It
// reads the rows of the read model: as for ListPayments, they have everything that this node
// acknowledged before the call.
func (p *Projections) TotalPayments(ctx context.Context, account domain.AccountID, f PaymentFilter, most int) (Totals, error) {
	return current(ctx, p, func(ctx context.Context) (Totals, error) {
		_, hashes, err := p.emailHashes(account, f.Emails)
		if err != nil {
			return Totals{}, err
		}
		m, done := p.reading()
		defer done()
		found, err := m.totalsOf(ctx, account, f, hashes, most)
		if err != nil {
			return Totals{}, fmt.Errorf("projections: totals: %w", err)
		}
		return found, nil
	})
}

// selectAmounts adds up rows by their currency. The upper and the lower 32 bits of amounts have
// separate sums: thousands of the largest amount do not fit 64 bits.
const selectAmounts = `SELECT currency, count(*), sum(amount >> 32), sum(amount & 0xffffffff), sum(captured >> 32), sum(captured & 0xffffffff),
	sum(refunded >> 32), sum(refunded & 0xffffffff) FROM json_each(?) CROSS JOIN payments ON payments.rowid = json_each.value
	GROUP BY currency ORDER BY count(*) DESC, currency`

func (m *model) totalsOf(ctx context.Context, account domain.AccountID, f PaymentFilter, hashes []string, most int) (Totals, error) {
	out := Totals{Currencies: []CurrencyTotal{}}
	if len(f.WalletEmails) > 0 {
		return out, nil
	}
	tx, err := m.Readers().BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return out, m.Noticed(err)
	}
	s := &search{tx: tx, sizes: m.sizes, known: &m.blocks, filter: newFilter(account, f, hashes), n: most + 1}
	if err = s.run(ctx); err == nil {
		out.More = len(s.found) > most
		err = out.add(ctx, tx, s.found[:min(len(s.found), most)])
	}
	return out, m.Noticed(errors.Join(err, tx.Rollback()))
}

// add adds up payments.
func (t *Totals) add(ctx context.Context, tx *sql.Tx, found []listedPayment) error {
	rows := make([]int64, len(found))
	for i := range found {
		rows[i] = found[i].row
	}
	return sqlitefile.Rows(tx.QueryContext(ctx, selectAmounts, numbers(rows))).Each(func(scan sqlitefile.Scan) error {
		var of CurrencyTotal
		var sums [6]int64
		if err := scan(&of.Currency, &of.Payments, &sums[0], &sums[1], &sums[2], &sums[3], &sums[4], &sums[5]); err != nil {
			return err
		}
		of.Amount, of.Captured, of.Refunded = wide(sums[0], sums[1]), wide(sums[2], sums[3]), wide(sums[4], sums[5])
		t.Payments += of.Payments
		t.Currencies = append(t.Currencies, of)
		return nil
	})
}

// wide returns the number of which the upper and the lower 32 bits were added up.
func wide(upper, lower int64) *big.Int {
	n := new(big.Int).Lsh(big.NewInt(upper), 32)
	return n.Add(n, big.NewInt(lower))
}
