package commandstest

import (
	"errors"
	"fmt"
	"slices"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

// Audit holds a payment of the ledger to the processors' books of it (D14.16): every operation that
// a processor saw stands there once under its key, as the ledger tells it; what somebody else did
// there is known here by its id (§6.3), and nothing else stands there; amounts and status are what
// the books add up to.
func Audit(p payment.State, lines []protocol.Line) error {
	errs := []error{p.Check()}
	p = p.Whole()
	fail := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("payment %s: %w", p.ID, fmt.Errorf(format, args...)))
	}
	byKey := map[domain.OperationKey]protocol.Line{}
	for _, l := range lines {
		if _, twice := byKey[l.IdempotencyKey]; twice {
			fail("the books hold %s twice", l.IdempotencyKey)
		}
		byKey[l.IdempotencyKey] = l
	}
	for _, op := range p.Operations {
		key := keyOf(p, op, lines)
		line, there := byKey[key]
		delete(byKey, key)
		switch {
		case op.Refused && there:
			fail("%s was refused here and stands in the books: %+v", key, line)
		case op.Refused:
		case !there && !neverSeen(p, op):
			fail("%s %s %s does not stand in the books", op.Kind, key, op.State)
		case there && !sameOperation(p, op, line):
			fail("the ledger has %+v and the books %+v", op, line)
		}
	}
	for key, line := range byKey {
		if _, ours := p.RevisionOf(key); !ours && (line.State != processor.Succeeded || line.Operation == processor.Complete) {
			continue // somebody else asked for it, and nothing moved, or the line of the authorization has it
		}
		fail("the books hold %s, which the ledger does not know: %+v", key, line)
	}
	b := balance(p, lines)
	if p.Captured() != b.captured || p.Refunded() != b.refunded || b.approved && p.Amount != b.authorized {
		fail("the ledger has %d authorized, %d captured, %d refunded; the books %+v", p.Amount, p.Captured(), p.Refunded(), b)
	}
	if p.Status() != b.status {
		fail("the ledger says %s, the books add up to %s: %+v", p.Status(), b.status, lines)
	}
	return errors.Join(errs...)
}

// neverSeen tells an operation whose key was fenced, or that the ledger has only just requested.
func neverSeen(p payment.State, op payment.Operation) bool {
	answered := op
	if op.Kind == processor.Complete { // its answers stand with the authorization
		answered, _ = p.Operation(op.Parent)
	}
	return op.State == payment.StateFailed && fenced(answered) || op.State == payment.StateRequested || op.State == payment.StateUnknown
}

func fenced(op payment.Operation) bool {
	return slices.ContainsFunc(op.Answers, func(a payment.OperationAnswer) bool { return a.Code == processor.CodeFenced })
}

// sameOperation compares what both sides tell of one operation. The line of an authorization has
// the amount that was first asked for, its operation the one that is held now.
func sameOperation(p payment.State, op payment.Operation, l protocol.Line) bool {
	amount := op.Kind == processor.Authorize || op.Amount == l.Amount
	return amount && op.Kind == l.Operation && op.Target.Processor == l.Processor && op.Target.MerchantID == l.ProcessorMerchantID &&
		l.Reference == p.ID && l.Currency == p.Currency && sameState(op, l.State)
}

// sameState reports whether an operation has the state that the processor's books have. The books
// have no required action. An unknown outcome may be any, also that of an authorization that was
// voided before its result arrived.
func sameState(op payment.Operation, books processor.State) bool {
	switch op.State {
	case payment.StateAction:
		return books == processor.Pending
	case payment.StateVoided:
		return books == processor.Failed || books == processor.Succeeded
	case payment.StateRequested, payment.StateUnknown:
		return true
	default:
		return string(op.State) == string(books)
	}
}

// sums are what the books of one payment add up to.
type sums struct {
	approved                       bool
	authorized, captured, refunded domain.Amount
	pending                        domain.Amount // captures without a result
	final, released                bool
	status                         payment.Status
}

// balance adds up the processor's books. Only the ledger knows the final capture, and the amount of
// a payment that was never approved.
func balance(p payment.State, lines []protocol.Line) sums {
	var b sums
	newest := processor.Failed // of the authorizations: a fenced one has no line
	for _, l := range lines {
		done := l.State == processor.Succeeded
		switch {
		case l.Operation == processor.Authorize:
			newest = l.State
			if done {
				b.approved, b.authorized = true, l.Amount
			}
		case l.Operation == processor.Adjust && done:
			b.authorized = l.Amount
		case l.Operation == processor.Capture && done:
			b.captured += l.Amount
			b.final = b.final || operationOf(p, l).Final
		case l.Operation == processor.Capture && l.State == processor.Pending:
			b.pending += l.Amount
		case l.Operation == processor.Refund && done:
			b.refunded += l.Amount
		case l.Operation == processor.Void && done:
			b.released = true
		}
	}
	// The newest try never reached its processor.
	if held := p.Authorization(); held != nil && held.State == payment.StateFailed && fenced(*held) {
		newest = processor.Failed
	}
	b.status = b.add(newest)
	return b
}

// add gives the status (§3.1, D7).
func (b sums) add(newest processor.State) payment.Status {
	switch {
	case !b.approved && b.released:
		return payment.StatusCancelled
	case !b.approved && newest == processor.Pending:
		return payment.StatusPending
	case !b.approved && newest == processor.Declined:
		return payment.StatusDeclined
	case !b.approved:
		return payment.StatusFailed
	case b.pending > 0 && !b.final:
		return payment.StatusSettling
	case b.captured == 0 && b.released:
		return payment.StatusCancelled
	case b.captured == 0:
		return payment.StatusAuthorized
	case b.pending == 0 && (b.final || b.released || b.captured >= b.authorized):
		return payment.StatusSettled
	default:
		return payment.StatusPartiallySettled
	}
}

// keyOf gives the key under which an operation stands in the books: one that was found there has
// somebody else's.
func keyOf(p payment.State, op payment.Operation, lines []protocol.Line) domain.OperationKey {
	if op.OutOfBandID == "" {
		return p.OperationKey(op.Revision)
	}
	for _, l := range lines {
		if l.ID == op.OutOfBandID {
			return l.IdempotencyKey
		}
	}
	return ""
}

// operationOf finds what the ledger has of a line; the zero value when it has nothing.
func operationOf(p payment.State, l protocol.Line) payment.Operation {
	for _, op := range p.Operations {
		if op.OutOfBandID == l.ID || op.OutOfBandID == "" && p.OperationKey(op.Revision) == l.IdempotencyKey {
			return op
		}
	}
	return payment.Operation{}
}
