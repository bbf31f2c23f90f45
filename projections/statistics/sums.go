package statistics

import (
	"cmp"
	"maps"
	"math/big"
	"slices"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
)

func (t *tally) report() Report {
	for _, day := range t.days {
		t.all.captured += day.captured
		for number, n := range day.counts {
			if n != nil {
				t.all.add(number, n)
			}
		}
	}
	r := Report{From: t.From, To: t.To, ByStatus: []OfStatus{}, ByProcessor: []OfProcessor{}, ByNetwork: []OfNetwork{}, ByCountry: []OfCountry{}, Reasons: []OfReason{}}
	r.Count = t.sum(&t.all, func(key) bool { return true })
	for _, status := range t.named(1, kindGroup) {
		r.ByStatus = append(r.ByStatus, OfStatus{payment.Status(status), t.sum(&t.all, func(k key) bool { return k.names[1] == status })})
	}
	for _, name := range t.processors() {
		r.ByProcessor = append(r.ByProcessor, OfProcessor{
			Processor: processor.Name(name), Count: t.sum(&t.all, func(k key) bool { return k.names[2] == name }),
			Authorizations: t.outcomes(&t.all, kindProcessor, name),
		})
	}
	r.Authorizations = t.tried(&t.all)
	for _, name := range t.named(0, kindNetwork) {
		r.ByNetwork = append(r.ByNetwork, OfNetwork{domain.Network(name), t.outcomes(&t.all, kindNetwork, name)})
	}
	for _, name := range t.named(0, kindCountry) {
		r.ByCountry = append(r.ByCountry, OfCountry{name, t.outcomes(&t.all, kindCountry, name)})
	}
	for hour := range r.ByHourOfDay {
		of := t.ofDay[hour]
		r.ByHourOfDay[hour] = HourOfDay{hour, of.Payments, of.Authorizations.rated()}
	}
	t.fill(&r)
	for day := t.From; day <= t.To; day++ {
		r.ByDay = append(r.ByDay, OfDay{day, t.bucket(t.days[day])})
	}
	for hour := t.From.First(); t.Hourly && hour < (t.To+1).First(); hour++ {
		r.ByHour = append(r.ByHour, OfHour{hour, t.bucket(t.hours[hour])})
	}
	return r
}

// fill sets the counts that have no group: reasons, funnel, 3-D Secure, refunds and disputes.
func (t *tally) fill(r *Report) {
	t.each(&t.all, func(k *key, n *numbers) {
		switch k.kind {
		case kindReason:
			r.Reasons = append(r.Reasons, OfReason{payment.Status(k.names[0]), k.names[1], n[0]})
		case kindFunnel:
			r.Funnel = Funnel{n[fSessions], n[fCards], n[fPayments], n[fAuthorized], n[fCaptured]}
		case kindChallenge:
			r.ThreeDSecure = ThreeDSecure{
				Frictionless: n[Frictionless], Waiting: n[ChallengeWaiting], Passed: n[ChallengePassed], Failed: n[ChallengeUnpassed],
				Challenged: n[ChallengeWaiting] + n[ChallengePassed] + n[ChallengeUnpassed],
			}
		case kindGroup:
			r.Refunds.Captured += n[nCaptured]
			r.Refunds.Refunded += n[nRefunded]
		}
	})
	slices.SortFunc(r.Reasons, func(a, b OfReason) int {
		return cmp.Or(cmp.Compare(b.Payments, a.Payments), cmp.Compare(a.Status, b.Status), cmp.Compare(a.Reason, b.Reason))
	})
	r.Refunds.Rate = rate(r.Refunds.Refunded, r.Refunds.Captured)
	r.Disputes = Disputes{Opened: t.all.disputes, Rate: rate(t.all.disputes, t.all.captured), ByStatus: []OfDisputes{}}
	for _, status := range slices.Sorted(maps.Keys(t.disputes)) {
		r.Disputes.ByStatus = append(r.Disputes.ByStatus, OfDisputes{status, t.disputes[status]})
	}
}

// named returns the names at a place of the keys of a kind that the report has, in their order.
func (t *tally) named(place int, kind byte) []string {
	all := map[string]bool{}
	t.each(&t.all, func(k *key, _ *numbers) {
		if k.kind == kind {
			all[k.names[place]] = true
		}
	})
	return slices.Sorted(maps.Keys(all))
}

// processors returns those of the newest authorizations, and those that were tried before.
func (t *tally) processors() []string {
	all := append(t.named(2, kindGroup), t.named(0, kindProcessor)...)
	slices.Sort(all)
	return slices.Compact(all)
}

// sum adds up the groups that fit.
func (t *tally) sum(b *bucket, fits func(key) bool) Count {
	found := map[string]*numbers{}
	t.each(b, func(k *key, n *numbers) {
		if k.kind == kindGroup && fits(*k) {
			to := found[k.names[0]]
			if to == nil {
				to = new(numbers)
				found[k.names[0]] = to
			}
			to.add(n)
		}
	})
	all := Count{Currencies: make([]OfCurrency, 0, len(found))}
	for _, currency := range slices.Sorted(maps.Keys(found)) {
		n := found[currency]
		all.Payments += n[nPayments]
		all.Currencies = append(all.Currencies, OfCurrency{domain.Currency(currency), n[nPayments], n.sums()})
	}
	return all
}

func (n *numbers) add(other *numbers) {
	for i := range n {
		n[i] += other[i]
	}
}

func (n *numbers) sums() Sums {
	var all [3]*big.Int
	for i := range all {
		high := new(big.Int).Lsh(big.NewInt(n[nSums+2*i]), 32)
		all[i] = high.Add(high, big.NewInt(n[nSums+2*i+1]))
	}
	return Sums{all[0], all[1], all[2]}
}

func (t *tally) outcomes(b *bucket, kind byte, name string) (of Authorizations) {
	if number, known := t.numbers[string(kind)+name]; known && number < len(b.counts) && b.counts[number] != nil {
		of.add(b.counts[number][:])
	}
	return of.rated()
}

// tried returns the outcomes at all processors.
func (t *tally) tried(b *bucket) (all Authorizations) {
	t.each(b, func(k *key, n *numbers) {
		if k.kind == kindProcessor {
			all.add(n[:])
		}
	})
	return all.rated()
}

func (t *tally) bucket(b *bucket) Bucket {
	out := Bucket{Count: Count{Currencies: []OfCurrency{}}, Statuses: []Number{}, Processors: []Tried{}}
	if b == nil {
		return out
	}
	out.Count, out.Authorizations, out.Disputes = t.sum(b, func(key) bool { return true }), t.tried(b), b.disputes
	out.DisputeRate = rate(b.disputes, b.captured)
	statuses := map[string]*numbers{}
	t.each(b, func(k *key, n *numbers) {
		switch k.kind {
		case kindGroup:
			if statuses[k.names[1]] == nil {
				statuses[k.names[1]] = new(numbers)
			}
			statuses[k.names[1]].add(n)
		case kindProcessor:
			out.Processors = append(out.Processors, Tried{processor.Name(k.names[0]), t.outcomes(b, kindProcessor, k.names[0])})
		}
	})
	slices.SortFunc(out.Processors, func(a, b Tried) int { return cmp.Compare(a.Processor, b.Processor) })
	for _, status := range slices.Sorted(maps.Keys(statuses)) {
		n := Number{Status: payment.Status(status), Payments: statuses[status][nPayments]}
		if t.Currency != "" {
			n.Sums = new(statuses[status].sums())
		}
		out.Statuses = append(out.Statuses, n)
	}
	return out
}
