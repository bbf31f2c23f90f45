package books

import (
	"fmt"

	"payledger/domain/processor"
)

// fold applies r to the state. It fails, without a change, only for records that no decider of this
// package writes.
func (b *Books) fold(r record) error {
	switch r.Type {
	case accepted:
		if r.Operation == nil || r.Operation.ID == "" {
			return fmt.Errorf("accepted record without an operation")
		}
		return b.accept(r.Operation)
	case finished:
		o, ok := b.pending[r.ID]
		if !ok || r.Answer == nil {
			return fmt.Errorf("finished record of %q, which is not pending", r.ID)
		}
		b.finish(o, r)
	case notified:
		if t, ok := b.disputes.byID[r.ID]; ok {
			t.notified = true
			return nil
		}
		o, ok := b.byID[r.ID]
		if !ok {
			return fmt.Errorf("notified record of %q, which is not there", r.ID)
		}
		o.notified = true
	case disputedRecord:
		return b.foldDisputed(r.Report)
	case fenced:
		b.fences[slot{r.Processor, r.Key}] = struct{}{}
	default:
		return fmt.Errorf("record of unknown type %q", r.Type)
	}
	return nil
}

func (b *Books) accept(o *Operation) error {
	s := slot{o.Processor, o.Key}
	if _, used := b.bySlot[s]; used {
		return fmt.Errorf("operation %s uses a key twice", o.ID)
	}
	if _, known := cardsByName[o.Card]; o.Card != "" && !known {
		return fmt.Errorf("operation %s names card row %q, which is not in the table", o.ID, o.Card)
	}
	o.UpdatedAt, o.line = o.CreatedAt, lineState(o.Answer.State)
	if err := b.apply(o); err != nil {
		return err
	}
	b.order = append(b.order, o)
	b.byID[o.ID], b.bySlot[s] = o, o
	b.byReference[o.Reference] = append(b.byReference[o.Reference], o)
	if o.Answer.State == processor.Pending {
		b.pending[o.ID] = o
	}
	return nil
}

func (b *Books) apply(o *Operation) error {
	if o.Kind == processor.Authorize {
		return b.applyAuthorize(o)
	}
	declined := o.Kind == processor.Complete && o.Answer.State == processor.Declined
	if o.Answer.State != processor.Succeeded && o.Answer.State != processor.Pending && !declined {
		return nil // refused: nothing was done
	}
	if o.Kind == processor.Refund {
		return b.addRefund(o, o.Amount)
	}
	s, err := b.parent(o)
	if err != nil {
		return err
	}
	switch o.Kind {
	case processor.Complete:
		applyComplete(o, s)
	case processor.Capture:
		b.applyCapture(o, s)
	case processor.Void:
		b.applyVoid(o, s)
	case processor.Adjust:
		s.authorized = o.Amount
	default:
		return fmt.Errorf("operation of unknown kind %q", o.Kind)
	}
	return nil
}

func (b *Books) finish(o *Operation, r record) {
	delete(b.pending, o.ID)
	o.Answer, o.UpdatedAt, o.line, o.finished = *r.Answer, r.At, lineState(r.Answer.State), true
	switch o.Kind {
	case processor.Authorize:
		b.finishAuthorize(o)
	case processor.Capture:
		b.finishCapture(o)
	case processor.Refund:
		if o.Answer.State != processor.Succeeded {
			_ = b.addRefund(o, -o.Amount) // its parent is there
		}
	}
}
