package books

import (
	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

// Admission is the result of Admit.
type Admission struct {
	Admitted bool             // new: Perform must follow, and until then it is running
	Answer   processor.Answer // otherwise: the answer under its key
}

// Admit admits op, or returns the answer of the first operation with its key. It fails with
// protocol.ErrInProgress and protocol.ErrKeyReused.
func (b *Books) Admit(op processor.Operation) (Admission, error) {
	s := slot{op.Processor, op.Key}
	b.mu.Lock()
	if _, fenced := b.fences[s]; fenced {
		answer := refuse(protocol.CodeFenced, "the key was fenced")
		answer.At = b.now().UTC()
		last := b.last
		b.mu.Unlock()
		return Admission{Answer: answer}, last.Wait()
	}
	if o, seen := b.bySlot[s]; seen {
		answer, same, last := o.about(o.Answer), o.same(op), b.last
		b.mu.Unlock()
		if !same {
			return Admission{}, protocol.ErrKeyReused
		}
		return Admission{Answer: answer}, last.Wait()
	}
	defer b.mu.Unlock()
	if _, running := b.running[s]; running {
		return Admission{}, protocol.ErrInProgress
	}
	b.running[s] = struct{}{}
	return Admission{Admitted: true}, nil
}

// Performed is an operation after its decision.
type Performed struct {
	Operation Operation
	Token     string // of the card, which the answer gives; "": none
	Silent    bool   // D13: this card's processor commits and never answers
}

// Perform decides an admitted operation and returns when the decision is durable. technical makes
// the processor do nothing and answer so (D14.13, fault mode error). After an error the outcome is
// unknown until the books are read again.
func (b *Books) Perform(op processor.Operation, technical bool) (p Performed, err error) {
	err = b.durably(func() error {
		delete(b.running, slot{op.Processor, op.Key})
		o, row, err := b.perform(op, technical)
		if err != nil {
			return err
		}
		p.Operation, p.Token = o.answered(), given(op, row, o.Answer)
		p.Silent = row != nil && row.behaviour == neverAnswers && op.Kind == processor.Authorize &&
			o.Answer.State == processor.Succeeded
		return nil
	})
	return p, err
}

// perform decides, folds and writes op, under mu.
func (b *Books) perform(op processor.Operation, technical bool) (*Operation, *card, error) {
	d, err := b.newDraft()
	if err != nil {
		return nil, nil, err
	}
	if s, ok := b.saleOf(op); ok && op.Currency == "" {
		op.Currency = s.op.Currency
	}
	var answer processor.Answer
	var row *card
	if technical {
		answer = refuse(protocol.CodeTechnicalError, "technical error")
		answer.Retryable = true
	} else {
		answer, row = b.decide(op, d)
	}
	o := b.operation(op, d, answer)
	if row != nil {
		o.Card = row.name
	}
	return o, row, b.write(record{Type: accepted, At: d.at, Operation: o})
}

func (b *Books) operation(op processor.Operation, d draft, answer processor.Answer) *Operation {
	answer.At, answer.ProcessorEventID = d.at, "ev_"+d.id
	o := &Operation{
		ID: d.operation(), Processor: op.Processor, MerchantID: op.MerchantID, Reference: op.Reference,
		Kind: op.Kind, Key: op.Key, Amount: op.Amount, Currency: op.Currency, ParentID: op.ParentID,
		Final: op.Final, Outcome: op.Outcome, CreatedAt: d.at, Answer: answer,
	}
	if answer.State == processor.Pending {
		o.Due, o.NotifyURL = d.at.Add(asyncDelay), op.NotifyURL
	}
	if op.Kind == processor.Authorize || op.Kind == processor.Capture {
		o.NotifyURL = op.NotifyURL // for its dispute, if one opens
	}
	return o
}

// Lookup returns the state of the operation with the key.
func (b *Books) Lookup(name processor.Name, key domain.OperationKey) (l processor.Lookup, err error) {
	err = b.durably(func() error {
		l = b.lookup(slot{name, key})
		return nil
	})
	return l, err
}

// Fence refuses the key from now on. If the key was seen before, Fence is Lookup.
func (b *Books) Fence(name processor.Name, key domain.OperationKey) (l processor.Lookup, err error) {
	err = b.durably(func() error {
		if l = b.lookup(slot{name, key}); l.State != processor.Unseen {
			return nil
		}
		l.State = processor.Fenced
		return b.write(record{Type: fenced, At: b.now().UTC(), Processor: name, Key: key})
	})
	return l, err
}

func (b *Books) lookup(s slot) processor.Lookup {
	if o, seen := b.bySlot[s]; seen {
		answer := o.newest()
		return processor.Lookup{State: processor.Known, Answer: &answer}
	}
	if _, running := b.running[s]; running {
		return processor.Lookup{State: processor.Running}
	}
	if _, fenced := b.fences[s]; fenced {
		return processor.Lookup{State: processor.Fenced}
	}
	return processor.Lookup{State: processor.Unseen}
}
