package projections

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"

	"payledger/domain"
	"payledger/projections/sqlitefile"
)

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

// selectAmounts finds each payment by its id: the planner must not read the whole table.
const selectAmounts = `SELECT currency, amount, captured, refunded FROM json_each(?) CROSS JOIN payments ON payments.id = json_each.value`

func (m *model) totalsOf(ctx context.Context, account domain.AccountID, f PaymentFilter, hashes []string, most int) (Totals, error) {
	rows, err := m.listPayments(ctx, account, f, hashes, nil, most+1)
	if err != nil {
		return Totals{}, err
	}
	out := Totals{More: len(rows) > most, Currencies: []CurrencyTotal{}}
	ids := make([]string, min(len(rows), most))
	for i := range ids {
		ids[i] = rows[i].key.ID
	}
	list, err := json.Marshal(ids)
	if err != nil {
		return Totals{}, err
	}
	all := map[domain.Currency]*CurrencyTotal{}
	err = sqlitefile.Rows(m.Readers().QueryContext(ctx, selectAmounts, string(list))).Each(func(scan sqlitefile.Scan) error {
		var currency domain.Currency
		var amount, captured, refunded int64
		if err := scan(&currency, &amount, &captured, &refunded); err != nil {
			return err
		}
		t := all[currency]
		if t == nil {
			t = &CurrencyTotal{Currency: currency, Amount: new(big.Int), Captured: new(big.Int), Refunded: new(big.Int)}
			all[currency] = t
		}
		out.Payments++
		t.Payments++
		t.Amount.Add(t.Amount, big.NewInt(amount))
		t.Captured.Add(t.Captured, big.NewInt(captured))
		t.Refunded.Add(t.Refunded, big.NewInt(refunded))
		return nil
	})
	if err != nil {
		return Totals{}, m.Noticed(err)
	}
	for _, t := range all {
		out.Currencies = append(out.Currencies, *t)
	}
	slices.SortFunc(out.Currencies, func(a, b CurrencyTotal) int { // the most payments first
		return cmp.Or(cmp.Compare(b.Payments, a.Payments), cmp.Compare(a.Currency, b.Currency))
	})
	return out, nil
}
