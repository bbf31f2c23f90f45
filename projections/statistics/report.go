package statistics

import (
	"math/big"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
)

// Day is a day in UTC: the number of days since 1970.
type Day int64

// DayOf returns the day of a time.
func DayOf(at time.Time) Day { return HourOf(at).Day() }

// Day returns the day of an hour.
func (h Hour) Day() Day { return Day(h / hoursPerDay) }

// First returns the first hour of a day.
func (d Day) First() Hour { return Hour(d * hoursPerDay) }

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
	From           Day                    `json:"from"`
	To             Day                    `json:"to"`
	Count                                 // all of them
	Authorizations Authorizations         `json:"authorizations"` // at all processors
	ByStatus       []OfStatus             `json:"byStatus"`
	ByProcessor    []OfProcessor          `json:"byProcessor"`
	ByNetwork      []OfNetwork            `json:"byNetwork"`
	ByCountry      []OfCountry            `json:"byCountry"`
	ByHourOfDay    [hoursPerDay]HourOfDay `json:"byHourOfDay"`
	Reasons        []OfReason             `json:"reasons"` // of the payments DECLINED and FAILED, the most frequent first
	Funnel         Funnel                 `json:"funnel"`
	ThreeDSecure   ThreeDSecure           `json:"threeDSecure"`
	Refunds        Refunds                `json:"refunds"`
	Disputes       Disputes               `json:"disputes"`
	ByDay          []OfDay                `json:"byDay"`            // every day, also one without payments
	ByHour         []OfHour               `json:"byHour,omitempty"` // every hour, if the query is Hourly
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
	Sums
}

// Sums are the sums of some payments of one currency, in minor units.
type Sums struct {
	Amount   *big.Int `json:"total"` // the authorized amounts, of payments in any status
	Captured *big.Int `json:"totalCaptured"`
	Refunded *big.Int `json:"totalRefunded"`
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
	// Rate is approved among all three, from 0 to 1 with four decimals; nil: nothing was decided.
	Rate *float64 `json:"rate,omitempty"`
}

// OfNetwork has the outcomes of authorizations of a card network.
type OfNetwork struct {
	Network        domain.Network `json:"network"`
	Authorizations Authorizations `json:"authorizations"`
}

// OfCountry has the outcomes of authorizations of the issuers of a country.
type OfCountry struct {
	Country        string         `json:"country"` // ISO 3166-1 alpha-2; "": the processor did not state it
	Authorizations Authorizations `json:"authorizations"`
}

// HourOfDay has the payments of one hour of all days.
type HourOfDay struct {
	Hour           int            `json:"hour"` // 0 to 23, UTC
	Payments       int64          `json:"payments"`
	Authorizations Authorizations `json:"authorizations"`
}

// OfReason is the number of payments that are in a status for a reason (ReasonOf).
type OfReason struct {
	Status   payment.Status `json:"status"`
	Reason   string         `json:"reason"`
	Payments int64          `json:"payments"`
}

// Funnel has the steps of client sessions. Each step counts at the time of its own creation.
type Funnel struct {
	Sessions   int64 `json:"sessions"`
	Cards      int64 `json:"cards"`      // entered in sessions; a customer may enter two
	Payments   int64 `json:"payments"`   // of sessions
	Authorized int64 `json:"authorized"` // of these payments, those that a processor approved
	Captured   int64 `json:"captured"`   // of these payments, those with a captured amount
}

// ThreeDSecure has the payments with 3-D Secure.
type ThreeDSecure struct {
	Frictionless int64 `json:"frictionless"` // authenticated without a challenge
	Challenged   int64 `json:"challenged"`   // the sum of the others
	Waiting      int64 `json:"waiting"`      // for the customer
	Passed       int64 `json:"passed"`
	Failed       int64 `json:"failed"` // also those that the customer gave up
}

// Refunds counts the payments with refunds.
type Refunds struct {
	Captured int64    `json:"capturedPayments"` // payments with a captured amount
	Refunded int64    `json:"refundedPayments"` // payments with a refunded amount
	Rate     *float64 `json:"rate,omitempty"`   // refunded among captured, four decimals; nil: none is captured
}

// Disputes counts the disputes that were opened on the days, whenever their payments were made.
type Disputes struct {
	Opened   int64        `json:"opened"`
	Rate     *float64     `json:"rate,omitempty"` // opened among all captured payments of the days; nil: none is captured
	ByStatus []OfDisputes `json:"byStatus"`
}

// OfDisputes is the number of disputes that are in a status now.
type OfDisputes struct {
	Status   string `json:"status"`
	Disputes int64  `json:"disputes"`
}

// OfDay has the payments that were created on a day, and their statuses now.
type OfDay struct {
	Day Day `json:"day"`
	Bucket
}

// OfHour has the payments that were created in an hour, and their statuses now.
type OfHour struct {
	Hour Hour `json:"hour"`
	Bucket
}

// Bucket has the counts of a day or of an hour.
type Bucket struct {
	Count
	Statuses       []Number       `json:"statuses"`
	Authorizations Authorizations `json:"authorizations"`
	Processors     []Tried        `json:"processors"`
	Disputes       int64          `json:"disputes"`              // opened then
	DisputeRate    *float64       `json:"disputeRate,omitempty"` // disputes among all payments with a captured amount; nil: there is none
}

// Number is the number of payments in a status. Sums are set if the query has a currency.
type Number struct {
	Status   payment.Status `json:"status"`
	Payments int64          `json:"payments"`
	*Sums
}

// Tried has the outcomes of authorizations at a processor.
type Tried struct {
	Processor      processor.Name `json:"processor"`
	Authorizations Authorizations `json:"authorizations"`
}

// add adds numbers of outcomes, those after none in their order.
func (a *Authorizations) add(n []int64) {
	a.Approved += n[0]
	a.Declined += n[declined-approved]
	a.Failed += n[failed-approved]
}

const rateDecimals = 10_000

// rated returns the outcomes with their rate, rounded down: a rate of 1 means that everything was
// approved.
func (a Authorizations) rated() Authorizations {
	a.Rate = rate(a.Approved, a.Approved+a.Declined+a.Failed)
	return a
}

// rate returns part / of with four decimals, rounded down; nil if of is 0.
func rate(part, of int64) *float64 {
	if of <= 0 {
		return nil
	}
	return new(float64(part*rateDecimals/of) / rateDecimals)
}
