package workflows

import (
	"cmp"
	"hash/maphash"
	"slices"
	"sync"

	"payledger/domain"
)

// report is a Report that the shards add to concurrently.
type report struct {
	mu sync.Mutex
	Report
	sums map[sumKey]*Sum
	done map[uint64]uint16 // by the hash of a payment with a run: a bit for each action that is in the sums
	seed maphash.Seed
}

func newReport() *report {
	return &report{sums: map[sumKey]*Sum{}, done: map[uint64]uint16{}, seed: maphash.MakeSeed()}
}

type sumKey struct {
	step     int
	currency domain.Currency
}

func (p *report) count(n *int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*n++
}

// addMatch adds a trigger on which the condition holds.
func (p *report) addMatch(s Simulated) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Met++
	if p.Payments = append(p.Payments, s); len(p.Payments) > 2*MaxSimulated {
		p.oldest()
	}
	payment := maphash.String(p.seed, string(s.Payment))
	done := p.done[payment]
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
		again := done&(1<<i) != 0
		if again && effect.Action.Amount == nil { // the first run took all that is left
			continue
		}
		if !again {
			done |= 1 << i
			sum.Payments++
		}
		sum.Amount = min(sum.Amount+effect.Amount, domain.MaxAmount) // clients of JSON do not read larger numbers exactly (§8)
	}
	p.done[payment] = done
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
	p.Distinct = len(p.done)
	for _, sum := range p.sums {
		p.Sums = append(p.Sums, *sum)
	}
	slices.SortFunc(p.Sums, func(a, b Sum) int { return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.Currency, b.Currency)) })
	return p.Report
}
