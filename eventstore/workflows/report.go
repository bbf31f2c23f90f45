package workflows

import (
	"cmp"
	"slices"
	"sync"

	"payledger/domain"
)

// report is the Report of one shard, or the sum of several.
type report struct {
	mu sync.Mutex
	Report
	sums map[sumKey]*Sum
}

type sumKey struct {
	step     int
	currency domain.Currency
}

// addMatch adds a trigger on which the condition holds.
func (p *report) addMatch(s Simulated) {
	p.Met++
	if p.Payments = append(p.Payments, s); len(p.Payments) > 2*MaxSimulated {
		p.oldest()
	}
	for i, effect := range s.Effects {
		key := sumKey{i, s.Currency}
		sum := p.sums[key]
		if sum == nil {
			sum = &Sum{Step: i, Type: effect.Action.Type, Currency: s.Currency}
			p.sums[key] = sum
		}
		if effect.Refusal != "" {
			sum.Refused++
			continue
		}
		sum.Count++
		sum.Amount = added(sum.Amount, effect.Amount)
	}
}

// added returns a sum, at most the largest amount: clients of JSON do not read larger numbers exactly (§8).
func added(a, b domain.Amount) domain.Amount { return min(a+b, domain.MaxAmount) }

func (p *report) add(o *report) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Events, p.Triggered, p.Met, p.Errors = p.Events+o.Events, p.Triggered+o.Triggered, p.Met+o.Met, p.Errors+o.Errors
	p.More, p.Read = p.More || o.More, p.Read+o.Read
	p.Payments = append(p.Payments, o.Payments...)
	p.oldest()
	for key, more := range o.sums {
		if p.sums[key] == nil {
			p.sums[key] = more
			continue
		}
		sum := p.sums[key]
		sum.Count, sum.Refused, sum.Amount = sum.Count+more.Count, sum.Refused+more.Refused, added(sum.Amount, more.Amount)
	}
}

// oldest sorts the payments by time and keeps the first MaxSimulated.
func (p *report) oldest() {
	slices.SortFunc(p.Payments, func(a, b Simulated) int {
		return cmp.Or(a.Occasion.At.Compare(b.Occasion.At), cmp.Compare(a.Payment, b.Payment), cmp.Compare(a.Occasion.Sequence, b.Occasion.Sequence))
	})
	if len(p.Payments) > MaxSimulated {
		p.Payments, p.More = p.Payments[:MaxSimulated], true
	}
}

func (p *report) finished() Report {
	p.oldest()
	for _, sum := range p.sums {
		p.Sums = append(p.Sums, *sum)
	}
	slices.SortFunc(p.Sums, func(a, b Sum) int { return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.Currency, b.Currency)) })
	return p.Report
}
