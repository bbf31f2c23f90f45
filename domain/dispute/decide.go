package dispute

import (
	"fmt"
	"time"

	"payledger/domain"
)

const (
	// maxFacts bounds the state: beyond it, only changes of the dispute are recorded.
	maxFacts = 200
	// maxAhead bounds the lead of a processor's clock. A fact of a later time would override all
	// facts before that time.
	maxAhead = 24 * time.Hour
)

// Record is the command to record a fact from a processor.
type Record Opened

// DecideRecord records a fact once. The event is nil if the fact is recorded already, or if it
// changes nothing and the list is full.
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

func (s State) classify(c Record) Event {
	f := c.Fact
	if !f.Place().Known() {
		return s.rejected(c, "A %s cannot be %s.", f.Type, f.Status)
	}
	if f.At.After(c.At.Add(maxAhead)) {
		return s.rejected(c, "The processor's time, %s, is more than 24 hours in the future.", f.At.Format(time.RFC3339))
	}
	if !s.Exists() {
		return Opened(c)
	}
	if c.Subject.Payment != s.Subject.Payment {
		return s.rejected(c, "The dispute belongs to payment %s, not to %s.", s.Subject.Payment, c.Subject.Payment)
	}
	way := s.way()
	i := placeFor(way, f)
	if i > 0 && !way[i-1].Place().LeadsTo(f.Place()) {
		return s.rejected(c, "A dispute that was %s cannot be %s after it.", way[i-1].Place(), f.Place())
	}
	if i < len(way) && !f.Place().LeadsTo(way[i].Place()) {
		return s.rejected(c, "A dispute that is %s cannot have been %s before it.", way[i].Place(), f.Place())
	}
	if i == len(way) && f.Place() != s.Current.Place() {
		return Changed{c.At, f}
	}
	return Noted{c.At, f}
}

// rejected returns the event for an impossible fact. It names the dispute if no earlier event does.
func (s State) rejected(c Record, format string, args ...any) Event {
	e := Rejected{At: c.At, Refusal: fmt.Sprintf(format, args...), Fact: c.Fact}
	if !s.Exists() {
		e.ID, e.Account, e.Subject = c.ID, c.Account, &c.Subject
	}
	return e
}

// NotFound returns the error for a dispute that does not exist (D3).
func NotFound() *domain.Error {
	return domain.Refuse(domain.KindNotFound, domain.ReasonEntityNotFound, "The dispute cannot be found.")
}
