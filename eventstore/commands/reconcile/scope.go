package reconcile

import (
	"errors"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
)

// Scope selects the operations to compare.
type Scope struct {
	Account   domain.AccountID
	Processor processor.Name
	From, To  time.Time // both included; zero: no limit
}

// ErrReversed means that the scope's time ends before it begins.
var ErrReversed = errors.New("the time begins after its end")

// Check refuses an empty scope.
func (q Scope) Check() error {
	if !q.From.IsZero() && !q.To.IsZero() && q.From.After(q.To) {
		return ErrReversed
	}
	return nil
}

func (q Scope) covers(at time.Time) bool {
	return (q.From.IsZero() || !at.Before(q.From)) && (q.To.IsZero() || !at.After(q.To))
}
