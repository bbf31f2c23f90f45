package nextstep

import (
	"slices"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
)

// Dispute is a dispute about a payment, as the API lists it (D20).
type Dispute struct {
	ID                  string                  `json:"id"`
	Type                processor.DisputeType   `json:"type"`
	Status              processor.DisputeStatus `json:"status"`
	Amount              domain.Amount           `json:"amount"`
	Currency            domain.Currency         `json:"currency"`
	ChallengeRequiredBy *time.Time              `json:"challengeRequiredBy"` // nil: the processor names no deadline
}

// Returned reports whether the dispute has given its amount back to the customer.
func (d Dispute) Returned() bool { return d.Status.ReturnsMoney(d.Type) }

// Returned returns the part of an amount that disputes gave back. A dispute in another currency
// counts as all of it.
func Returned(all []Dispute, of domain.Amount, currency domain.Currency) (sum domain.Amount) {
	for _, d := range all {
		switch {
		case !d.Returned():
		case d.Currency != currency:
			return of
		default:
			sum += d.Amount
		}
	}
	return min(sum, of)
}

// open returns the dispute with the earliest deadline for an answer, else a dispute that waits for
// the bank; nil if no dispute is open.
func open(all []Dispute) (first *Dispute) {
	for _, d := range all {
		waits := d.Status == processor.DisputeOpen
		if waits && (first == nil || first.Status != processor.DisputeOpen || d.sooner(*first)) || first == nil && d.Status == processor.DisputeChallenged && d.Type != processor.Retrieval {
			first = &d
		}
	}
	return first
}

func (d Dispute) sooner(than Dispute) bool {
	return d.ChallengeRequiredBy != nil && (than.ChallengeRequiredBy == nil || d.ChallengeRequiredBy.Before(*than.ChallengeRequiredBy))
}

func won(all []Dispute) bool {
	return slices.ContainsFunc(all, func(d Dispute) bool { return d.Status == processor.DisputeWon })
}

// OfDispute returns the next step with one dispute, with a warning if a refund would pay the
// customer twice; "" if there is nothing to do or to avoid.
func (r Reader) OfDispute(d Dispute) string {
	switch {
	case open([]Dispute{d}) != nil:
		return r.dispute(d)
	case d.Returned():
		return "The dispute has returned " + r.Money(d.Amount, d.Currency) + " to the customer. Do not refund the same money as well."
	}
	return ""
}

func (r Reader) dispute(d Dispute) string {
	twice := "Do not refund as well: if the dispute is lost, the customer gets " + r.Money(d.Amount, d.Currency) + " twice."
	if d.Status == processor.DisputeChallenged {
		return "Wait: you challenged the dispute, and the bank decides. " + twice
	}
	by := "soon (the processor names no deadline)"
	if d.ChallengeRequiredBy != nil {
		by = "by " + d.ChallengeRequiredBy.UTC().Format("2 Jan 2006 15:04") + " UTC"
	}
	answer := "Answer the dispute " + by + ", in the processor's own dashboard: "
	if d.Type == processor.Retrieval {
		return answer + "the customer's bank asks for information. No money has moved yet."
	}
	return answer + "challenge or accept it. " + twice
}
