package statistics

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/projections/sqlitefile"
)

// Day is a day in UTC: the number of days since 1970.
type Day int64

// DayOf returns the day of a time.
func DayOf(at time.Time) Day { return Day(at.UnixMicro() / microsPerDay) }

// ParseDay reads a day as "2026-03-14".
func ParseDay(text string) (Day, error) {
	at, err := time.Parse(time.DateOnly, text)
	return DayOf(at), err
}

func (d Day) String() string { return time.Unix(int64(d)*24*60*60, 0).UTC().Format(time.DateOnly) }

// MarshalText writes the day as ParseDay reads it.
func (d Day) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// Report has the counts of an account's payments that were created from one day to another, both
// included.
type Report struct {
	From        Day           `json:"from"`
	To          Day           `json:"to"`
	Count                     // all of them
	ByStatus    []OfStatus    `json:"byStatus"`
	ByProcessor []OfProcessor `json:"byProcessor"`
	ByDay       []OfDay       `json:"byDay"` // every day, also one without payments
}

// Count is the number of payments of a group, and their sums.
type Count struct {
	Payments   int64        `json:"payments"`
	Currencies []OfCurrency `json:"currencies"` // sums of different currencies are never added
}

// OfCurrency has the sums of one currency in minor units. A sum may be above 2^53.
type OfCurrency struct {
	Currency domain.Currency `json:"currencyCode"`
	Payments int64           `json:"payments"`
	Amount   *big.Int        `json:"total"` // the authorized amounts, of payments in any status
	Captured *big.Int        `json:"totalCaptured"`
	Refunded *big.Int        `json:"totalRefunded"`
}

// OfStatus has the payments that are in a status now.
type OfStatus struct {
	Status payment.Status `json:"status"`
	Count
}

// OfProcessor has the payments whose newest authorization was sent to a processor, and the outcomes
// of all authorizations there.
type OfProcessor struct {
	Processor processor.Name `json:"processor"`
	Count
	Authorizations Authorizations `json:"authorizations"`
}

// Authorizations are the outcomes of authorizations at a processor. A payment that was tried at two
// processors counts at both.
type Authorizations struct {
	Approved int64 `json:"approved"`
	Declined int64 `json:"declined"`
	Failed   int64 `json:"failed"`
	// Rate is approved among all three, from 0 to 1 with four decimals; nil: the processor has
	// decided nothing.
	Rate *float64 `json:"rate,omitempty"`
}

// OfDay has the payments that were created on a day, and their statuses now.
type OfDay struct {
	Day Day `json:"day"`
	Count
	Statuses []Number `json:"statuses"`
}

// Number is the number of payments in a status.
type Number struct {
	Status   payment.Status `json:"status"`
	Payments int64          `json:"payments"`
}

const selectGroups = `SELECT day, currency, status, processor, tries, payments, amount_high, amount_low, captured_high, captured_low,
	refunded_high, refunded_low FROM statistics WHERE account = ? AND day BETWEEN ? AND ?`

type group struct {
	day       Day
	currency  domain.Currency
	status    payment.Status
	processor processor.Name
	tries     int64
	payments  int64
	sums      [6]int64 // upper and lower bits of amount, captured and refunded
}

// Read returns the report of an account for some days.
func Read(ctx context.Context, db *sql.DB, account domain.AccountID, from, to Day) (Report, error) {
	t := &tally{
		all: counts{}, statuses: map[payment.Status]counts{}, processors: map[processor.Name]counts{}, days: map[Day]counts{},
		daily: map[Day]map[payment.Status]int64{}, outcomes: map[processor.Name]*Authorizations{},
	}
	err := sqlitefile.Rows(db.QueryContext(ctx, selectGroups, string(account), int64(from), int64(to))).Each(func(scan sqlitefile.Scan) error {
		var g group
		s := &g.sums
		if err := scan(&g.day, &g.currency, &g.status, &g.processor, &g.tries, &g.payments, &s[0], &s[1], &s[2], &s[3], &s[4], &s[5]); err != nil {
			return err
		}
		t.add(&g)
		return nil
	})
	if err != nil {
		return Report{}, fmt.Errorf("statistics: %w", err)
	}
	return t.report(from, to), nil
}

type tally struct {
	all        counts
	statuses   map[payment.Status]counts
	processors map[processor.Name]counts
	days       map[Day]counts
	daily      map[Day]map[payment.Status]int64
	outcomes   map[processor.Name]*Authorizations
}

type counts map[domain.Currency]*OfCurrency

func (t *tally) add(g *group) {
	for _, c := range []counts{t.all, within(t.statuses, g.status), within(t.processors, g.processor), within(t.days, g.day)} {
		c.add(g)
	}
	if t.daily[g.day] == nil {
		t.daily[g.day] = map[payment.Status]int64{}
	}
	t.daily[g.day][g.status] += g.payments
	for place, name := range processor.Names {
		to := outcomeAt(g.tries, place)
		if to == none {
			continue
		}
		if t.outcomes[name] == nil {
			t.outcomes[name] = &Authorizations{}
			within(t.processors, name) // tried there, and then elsewhere
		}
		switch of := t.outcomes[name]; to {
		case approved:
			of.Approved += g.payments
		case declined:
			of.Declined += g.payments
		case failed:
			of.Failed += g.payments
		}
	}
}

func within[K comparable](all map[K]counts, key K) counts {
	if all[key] == nil {
		all[key] = counts{}
	}
	return all[key]
}

func (c counts) add(g *group) {
	of := c[g.currency]
	if of == nil {
		of = &OfCurrency{Currency: g.currency, Amount: new(big.Int), Captured: new(big.Int), Refunded: new(big.Int)}
		c[g.currency] = of
	}
	of.Payments += g.payments
	for i, sum := range []*big.Int{of.Amount, of.Captured, of.Refunded} {
		high := new(big.Int).Lsh(big.NewInt(g.sums[2*i]), 32)
		sum.Add(sum, high.Add(high, big.NewInt(g.sums[2*i+1])))
	}
}

func (c counts) count() Count {
	all := Count{Currencies: []OfCurrency{}}
	for _, currency := range slices.Sorted(maps.Keys(c)) {
		all.Payments += c[currency].Payments
		all.Currencies = append(all.Currencies, *c[currency])
	}
	return all
}

func (t *tally) report(from, to Day) Report {
	r := Report{From: from, To: to, Count: t.all.count(), ByStatus: []OfStatus{}, ByProcessor: []OfProcessor{}, ByDay: []OfDay{}}
	for _, status := range slices.Sorted(maps.Keys(t.statuses)) {
		r.ByStatus = append(r.ByStatus, OfStatus{status, t.statuses[status].count()})
	}
	for _, name := range slices.Sorted(maps.Keys(t.processors)) {
		of := OfProcessor{Processor: name, Count: t.processors[name].count()}
		if outcomes := t.outcomes[name]; outcomes != nil {
			of.Authorizations = outcomes.rated()
		}
		r.ByProcessor = append(r.ByProcessor, of)
	}
	for day := from; day <= to; day++ {
		of := OfDay{Day: day, Count: t.days[day].count(), Statuses: []Number{}}
		for _, status := range slices.Sorted(maps.Keys(t.daily[day])) {
			of.Statuses = append(of.Statuses, Number{status, t.daily[day][status]})
		}
		r.ByDay = append(r.ByDay, of)
	}
	return r
}

const rateDecimals = 10_000

// rated returns the outcomes with their rate, rounded down: a rate of 1 means that everything was
// approved.
func (a Authorizations) rated() Authorizations {
	if decided := a.Approved + a.Declined + a.Failed; decided > 0 {
		a.Rate = new(float64(a.Approved*rateDecimals/decided) / rateDecimals)
	}
	return a
}
