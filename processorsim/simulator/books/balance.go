package books

import (
	"fmt"

	"payledger/domain"
	"payledger/domain/processor"
)

type phase int

const (
	awaiting phase = iota // asynchronous: no result yet
	action                // the customer must act
	approved              // money is held
	refused               // declined, failed, or its challenge was
	voided                // released before anything was captured
)

// sale is the balance of one authorization, in its currency; captured + capturing ≤ authorized,
// refunded ≤ captured.
type sale struct {
	op         *Operation // the authorize
	card       *card
	phase      phase
	authorized domain.Amount
	captured   domain.Amount // confirmed
	capturing  domain.Amount // pending
	refunded   domain.Amount // confirmed and pending
	closed     bool          // the rest was released, by a final capture or by a void
	disputed   bool          // its settlement has led to a dispute, or will (D13)
}

func (s *sale) rest() domain.Amount {
	if s.closed || s.phase != approved {
		return 0
	}
	return s.authorized - s.captured - s.capturing
}

func (s *sale) used() bool { return s.captured+s.capturing > 0 }

type capture struct {
	op       *Operation
	sale     *sale
	state    processor.State
	refunded domain.Amount // of this capture alone, confirmed and pending
}

// saleOf finds the sale that op acts upon: its parent, at the same processor and for the same
// reference.
func (b *Books) saleOf(op processor.Operation) (*sale, bool) {
	s, ok := b.sales[op.ParentID]
	if !ok || s.op.Processor != op.Processor || s.op.Reference != op.Reference {
		return nil, false
	}
	return s, true
}

// parent is saleOf for the fold, where a missing parent is damage.
func (b *Books) parent(o *Operation) (*sale, error) {
	s, ok := b.sales[o.ParentID]
	if !ok {
		return nil, fmt.Errorf("operation %s acts upon %q, which is not there", o.ID, o.ParentID)
	}
	return s, nil
}
