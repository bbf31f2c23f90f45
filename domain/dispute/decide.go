package dispute

import (
	"fmt"
	"time"

	"payledger/domain"
)

const (
	// maxFacts bounds the state: past it only what changes the dispute is recorded.
	maxFacts = 200
	// maxAhead is how far a processor's clock may be ahead of ours. What is told of a later time would hold against all
	// that comes until then.
	maxAhead = 24 * time.Hour
)

// Record brings what a processor told.
type Record struct {
	At      time.Time
	ID      domain.DisputeID
	Account domain.AccountID
	Subject Subject
	Fact    Fact
}

// DecideRecord records a fact once; nil when it is recorded already, or when the list is full and the fact
// changes nothing.
func DecideRecord(s State, c Record) (Event, error) {
	if s.has(c.Fact.EventID) {
		return nil, nil
	}
	e := s.classify(c)
	_, changes := e.(Changed)
	if _, opens := e.(Opened); len(s.Facts) >= maxFacts && !changes && !opens {
		return nil, nil
	}
	return e, nil
}

// classify tells what a fact is.
func (s State) classify(c Record) Event {
	f := c.Fact
	if !f.Place().Known() {
		return Rejected{c.At, fmt.Sprintf("A %s cannot be %s.", f.Type, f.Status), f}
	}
	if f.At.After(c.At.Add(maxAhead)) {
		return Rejected{c.At, fmt.Sprintf("The processor's time of it, %s, has not come yet.", f.At.Format(time.RFC3339)), f}
	}
	if !s.Exists() {
		return Opened{At: c.At, ID: c.ID, Account: c.Account, Subject: c.Subject, Fact: f}
	}
	if c.Subject.Payment != s.Subject.Payment {
		return Rejected{c.At, fmt.Sprintf("The dispute is one of payment %s, not of %s.", s.Subject.Payment, c.Subject.Payment), f}
	}
	way := s.way()
	i := placeFor(way, f)
	if i > 0 && !way[i-1].Place().LeadsTo(f.Place()) {
		return Rejected{c.At, fmt.Sprintf("A dispute that was %s cannot be %s after it.", way[i-1].Place(), f.Place()), f}
	}
	if i < len(way) && !f.Place().LeadsTo(way[i].Place()) {
		return Rejected{c.At, fmt.Sprintf("A dispute that is %s cannot have been %s before it.", way[i].Place(), f.Place()), f}
	}
	if i == len(way) && f.Place() != s.Current.Place() {
		return Changed{c.At, f}
	}
	return Noted{c.At, f}
}

// Unknown refuses what is asked of a dispute that does not exist (D3).
func Unknown() *domain.Error {
	return domain.Refuse(domain.KindNotFound, domain.ReasonEntityNotFound, "The dispute cannot be found.")
}
