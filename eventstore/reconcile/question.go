package reconcile

import (
	"errors"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
)

// Question says what is compared.
type Question struct {
	Account   domain.AccountID
	Processor processor.Name
	From, To  time.Time // both included; the zero time is no limit
}

// ErrReversed is the error of a question whose time ends before it begins: nothing could differ in it.
var ErrReversed = errors.New("the time begins after its end")

// Check refuses a question that asks for nothing.
func (q Question) Check() error {
	if !q.From.IsZero() && !q.To.IsZero() && q.From.After(q.To) {
		return ErrReversed
	}
	return nil
}

// covers tells whether a time is within the question's.
func (q Question) covers(at time.Time) bool {
	return (q.From.IsZero() || !at.Before(q.From)) && (q.To.IsZero() || !at.After(q.To))
}
