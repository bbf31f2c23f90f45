package books

import (
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

// Filter chooses lines; zero values choose all. From and To are inclusive and concern createdAt.
type Filter struct {
	Reference domain.PaymentID
	Processor processor.Name
	From, To  time.Time
}

func (f Filter) matches(o *Operation) bool {
	return (f.Processor == "" || o.Processor == f.Processor) &&
		(f.Reference == "" || o.Reference == f.Reference) &&
		(f.From.IsZero() || !o.CreatedAt.Before(f.From)) &&
		(f.To.IsZero() || !o.CreatedAt.After(f.To))
}

// chunk is how many operations Entries looks at under one lock.
const chunk = 512

// Entries hands every operation that f chooses to yield, in order of creation, until yield returns an
// error. What was written before the call is durable when yield sees it. yield runs without a lock.
func (b *Books) Entries(f Filter, yield func(protocol.Entry) error) error {
	b.mu.Lock()
	all, last := b.order, b.last
	if f.Reference != "" {
		all = b.byReference[f.Reference]
	}
	b.mu.Unlock()
	if err := wait(last); err != nil {
		return err
	}
	entries := make([]protocol.Entry, 0, min(chunk, len(all)))
	for start := 0; start < len(all); start += chunk {
		entries = entries[:0]
		b.mu.Lock()
		for _, o := range all[start:min(start+chunk, len(all))] {
			if f.matches(o) {
				entries = append(entries, protocol.Entry{Line: o.Line(), Final: o.Final, Answer: o.Answer})
			}
		}
		b.mu.Unlock()
		for _, e := range entries {
			if err := yield(e); err != nil {
				return err
			}
		}
	}
	return nil
}
