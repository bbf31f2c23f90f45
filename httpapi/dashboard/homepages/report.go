package homepages

import (
	"math/big"
	"net/url"
	"time"

	"payledger/domain"
	"payledger/httpapi/dashboard/frame"
)

const apiStatistics = "/management/statistics"

// statistics are the counts of some days (D20).
type statistics struct {
	bucket
	ByStatus    []ofStatus
	ByProcessor []struct {
		Processor string
		Payments  int64
		outcomes
	}
	ByNetwork []struct {
		Network string
		outcomes
	}
	ByCountry []struct {
		Country string
		outcomes
	}
	ByHourOfDay []struct {
		Hour     int
		Payments int64
		outcomes
	}
	Reasons []struct {
		Status, Reason string
		Payments       int64
	}
	Funnel       struct{ Sessions, Cards, Payments, Authorized, Captured int64 }
	ThreeDSecure struct{ Frictionless, Challenged, Waiting, Passed, Failed int64 }
	Refunds      struct {
		CapturedPayments, RefundedPayments int64
		Rate                               *float64
	}
	Disputes struct {
		Opened   int64
		Rate     *float64
		ByStatus []struct {
			Status   string
			Disputes int64
		}
	}
	ByDay    []bucket
	ByHour   []bucket
	Webhooks *webhooks // nil: they cannot be read now
	Requests requests
}

// bucket has the counts of a day, of an hour or of all days.
type bucket struct {
	Day        string
	Hour       time.Time
	Payments   int64
	Currencies []ofCurrency
	Statuses   []ofStatus
	outcomes
	Processors []struct {
		Processor string
		outcomes
	}
	Disputes    int64
	DisputeRate *float64
}

type ofStatus struct {
	Status   string
	Payments int64
}

type ofCurrency struct {
	CurrencyCode  domain.Currency
	Payments      int64
	Total         *big.Int
	TotalCaptured *big.Int
	TotalRefunded *big.Int
}

type outcomes struct{ Authorizations authorizations }

type authorizations struct {
	Approved, Declined, Failed int64
	Rate                       *float64
}

func (a authorizations) decided() int64 { return a.Approved + a.Declined + a.Failed }

func (a authorizations) plus(b authorizations) authorizations {
	return authorizations{Approved: a.Approved + b.Approved, Declined: a.Declined + b.Declined, Failed: a.Failed + b.Failed}
}

// share returns the approved ones, nil if nothing is decided.
func (a authorizations) share() *float64 { return ratio(a.Approved, a.decided()) }

func ratio(part, of int64) *float64 {
	if of <= 0 {
		return nil
	}
	return new(float64(part) / float64(of))
}

// in returns the sums of a currency; sums of 0 if there is no payment.
func (b *bucket) in(c domain.Currency) ofCurrency {
	for _, of := range b.Currencies {
		if of.CurrencyCode == c {
			return of
		}
	}
	return ofCurrency{CurrencyCode: c, Total: new(big.Int), TotalCaptured: new(big.Int), TotalRefunded: new(big.Int)}
}

// until adds up the hours of a day before another hour.
func until(hours []bucket, end int, c domain.Currency) (all bucket) {
	sums := ofCurrency{CurrencyCode: c, Total: new(big.Int), TotalCaptured: new(big.Int), TotalRefunded: new(big.Int)}
	for i := range hours[:min(end, len(hours))] {
		of := hours[i].in(c)
		sums.Total.Add(sums.Total, of.Total)
		sums.TotalCaptured.Add(sums.TotalCaptured, of.TotalCaptured)
		sums.TotalRefunded.Add(sums.TotalRefunded, of.TotalRefunded)
		all.Payments += hours[i].Payments
		all.Authorizations = all.Authorizations.plus(hours[i].Authorizations)
	}
	all.Currencies = []ofCurrency{sums}
	return all
}

// readStatistics reads the counts of the days from one to another, with those of each hour if
// hourly is set. The sums and numbers of payments are of one status, if it is set.
func readStatistics(v *frame.Visit, from, to time.Time, hourly bool, status string) (s statistics, err error) {
	query := url.Values{"from": {from.Format(time.DateOnly)}, "to": {to.Format(time.DateOnly)}}
	if hourly {
		query.Set("by", "hour")
	}
	if status != "" {
		query.Set("status", status)
	}
	return s, v.Get(apiStatistics, query, &s)
}
