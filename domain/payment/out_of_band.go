package payment

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
)

// RecordOutOfBand is the command to record an operation from the processor's records (§6.3).
type RecordOutOfBand struct {
	At      time.Time
	EventID string // UUID of the new event and of its transaction event (D6)
	Record  processor.Record
	// Overtaken marks an adjustment that the processor made before a recorded one. It does not
	// change the authorized total (State.GivesTotal).
	Overtaken bool
}

// ErrForeign means that an operation in the processor's records names the payment, and cannot be an
// out-of-band operation of it.
var ErrForeign = errors.New("the operation cannot be one of the payment")

// DecideOutOfBand records the operation once by the processor's id, whatever the payment's status
// and open operations (D7). It ignores operations that did not succeed, authorizations and
// completions.
func DecideOutOfBand(s State, c RecordOutOfBand) (Event, error) {
	r := c.Record
	if !s.Exists() {
		return nil, ErrNoSuchOperation
	}
	if _, requested := s.RequestOf(r); requested || r.ID == "" || s.hasOutOfBand(r.ID) {
		return nil, ErrAlreadyAnswered
	}
	if r.State != processor.Succeeded || r.Kind == processor.Authorize || r.Kind == processor.Complete {
		return nil, nil
	}
	if why := s.foreign(r); why != "" {
		return nil, fmt.Errorf("%w: %s", ErrForeign, why)
	}
	fact := OutOfBand{
		At: c.At, EventID: c.EventID, ID: r.ID, Amount: r.Amount, TransactionID: r.Answer.ProcessorTransactionID,
		ParentID: r.ParentID, ProcessorEventID: r.Answer.ProcessorEventID, DoneAt: r.CreatedAt,
	}
	switch r.Kind {
	case processor.Capture:
		return CapturedOutOfBand{fact, r.Final}, nil
	case processor.Void:
		return VoidedOutOfBand{fact}, nil
	case processor.Refund:
		return RefundedOutOfBand{fact, s.captureByTransaction(r.ParentID)}, nil
	case processor.Adjust:
		return AdjustedOutOfBand{fact, c.Overtaken}, nil
	default:
		return nil, nil
	}
}

// foreign returns the reason why a record cannot be of an out-of-band operation of the payment; "":
// it can. A void may have no currency.
func (s State) foreign(r processor.Record) string {
	switch {
	case s.newestAuthorization().Target != Target{r.Processor, r.MerchantID}:
		return "it has another merchant account"
	case r.Currency != s.Currency && (r.Kind != processor.Void || r.Currency != ""):
		return "it has another currency"
	case (r.Kind == processor.Capture || r.Kind == processor.Refund) && s.hasRequested(r.Answer.ProcessorTransactionID):
		return "it has the transaction of an operation that was requested"
	case r.Amount < 0 || r.Amount > domain.MaxAmount-s.moved(r.Kind):
		return "its amount, with those of its kind, is above the largest amount"
	}
	return r.Contradiction()
}

// moved returns the amount that was captured or refunded, or may be: the sum of an operation's
// kind. Other kinds have none.
func (s State) moved(kind processor.Kind) domain.Amount {
	switch kind {
	case processor.Capture:
		return s.Captured() + s.sum(kind, open)
	case processor.Refund:
		return s.Refunded() + s.sum(kind, open)
	default:
		return 0
	}
}

// hasRequested reports whether a capture or a refund that was requested has the transaction: each
// has one of its own.
func (s State) hasRequested(transaction string) bool { return s.hasTransaction(transaction, false) }

// foundTransaction reports whether an out-of-band capture or refund has the transaction.
func (s State) foundTransaction(transaction string) bool { return s.hasTransaction(transaction, true) }

func (s State) hasTransaction(transaction string, outOfBand bool) bool {
	return transaction != "" && s.some(func(op *Operation) bool {
		return (op.Kind == processor.Capture || op.Kind == processor.Refund) && (op.OutOfBandID != "") == outOfBand && op.TransactionID == transaction
	})
}

// RequestOf returns the operation that was requested under the record's key; false if none of the
// record's kind was. After a restore from a back-up the processor knows operations under keys of
// events that this log does not have, or has with other contents.
func (s State) RequestOf(r processor.Record) (Operation, bool) {
	revision, ours := s.RevisionOf(r.Key)
	op, found := s.Operation(revision)
	return op, ours && found && op.Kind == r.Kind && op.OutOfBandID == "" && !op.Refused
}

// GivesTotal reports whether a record is a successful adjustment that the payment already has. Its
// amount is then the authorized total: an adjustment that the processor made earlier, and that is
// recorded later, does not change it.
func (s State) GivesTotal(r processor.Record) bool {
	_, requested := s.RequestOf(r)
	return r.Kind == processor.Adjust && r.State == processor.Succeeded && (requested || s.hasOutOfBand(r.ID))
}

// RevisionOf returns the revision in an operation key of this payment; false for any other key.
func (s State) RevisionOf(key domain.OperationKey) (uint64, bool) {
	text, ours := strings.CutPrefix(string(key), string(s.ID)+".")
	revision, err := strconv.ParseUint(text, 10, 64)
	return revision, ours && err == nil
}

func (s State) hasOutOfBand(id string) bool {
	return s.some(func(op *Operation) bool { return op.OutOfBandID == id })
}

// captureByTransaction returns the revision of the newest capture with a transaction id; 0 for
// none.
func (s State) captureByTransaction(transaction string) (newest uint64) {
	for op := range s.Each {
		if op.Kind == processor.Capture && op.TransactionID == transaction && transaction != "" {
			newest = max(newest, op.Revision)
		}
	}
	return newest
}

// addOutOfBand adds the succeeded operation. Parent 0 stands for the authorization.
func (s State) addOutOfBand(kind processor.Kind, e OutOfBand, final bool, parent uint64) State {
	if parent == 0 {
		parent = s.newestAuthorization().Revision
	}
	return s.request(Operation{
		Kind: kind, Amount: e.Amount, Final: final, Parent: parent, RequestedAt: e.DoneAt, State: StateSucceeded,
		TransactionID: e.TransactionID, OutOfBandID: e.ID, Answers: []OperationAnswer{{
			EventID: e.EventID, At: e.At, State: StateSucceeded, ProcessorEventID: e.ProcessorEventID,
		}},
	})
}

func (s State) evolveOutOfBand(e Event) State {
	switch e := e.(type) {
	case CapturedOutOfBand:
		return s.addOutOfBand(processor.Capture, e.OutOfBand, e.Final, 0).at(e.At)
	case VoidedOutOfBand:
		return s.addOutOfBand(processor.Void, e.OutOfBand, false, 0).released().at(e.At)
	case RefundedOutOfBand:
		return s.addOutOfBand(processor.Refund, e.OutOfBand, false, e.Capture).at(e.At)
	case AdjustedOutOfBand:
		s = s.addOutOfBand(processor.Adjust, e.OutOfBand, false, 0)
		if e.Overtaken {
			return s.withOperation(s.Revision, func(op *Operation) { op.Overtaken = true }).at(e.At)
		}
		return s.adjusted(s.Revision).at(e.At)
	}
	return s
}

// overtaken reports whether an out-of-band operation recorded after op, or a late success, may have
// used the money of op.
func (s State) overtaken(op Operation) bool {
	return op.State.unconfirmed() && s.some(func(other *Operation) bool {
		return other.OutOfBandID != "" && other.Revision > op.Revision || other.succeededAfterFence()
	})
}
