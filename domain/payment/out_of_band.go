package payment

import (
	"errors"
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
}

// ErrForeign means that an operation in the processor's records names the payment, with another
// merchant account or currency.
var ErrForeign = errors.New("the operation has another merchant account or currency than the payment")

// DecideOutOfBand records the operation once by the processor's id, whatever the payment's status
// and open operations (D7). It ignores operations that did not succeed, authorizations and
// completions.
func DecideOutOfBand(s State, c RecordOutOfBand) (Event, error) {
	r := c.Record
	if !s.Exists() {
		return nil, ErrNoSuchOperation
	}
	if _, ours := s.RevisionOf(r.Key); ours || r.ID == "" || s.hasOutOfBand(r.ID) {
		return nil, ErrAlreadyAnswered
	}
	if r.State != processor.Succeeded || r.Kind == processor.Authorize || r.Kind == processor.Complete {
		return nil, nil
	}
	if !s.mayBeOf(r) {
		return nil, ErrForeign
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
		return AdjustedOutOfBand{fact}, nil
	default:
		return nil, nil
	}
}

// mayBeOf reports whether the operation's merchant account and currency are the payment's. A void
// may have no currency.
func (s State) mayBeOf(r processor.Record) bool {
	same := r.Currency == s.Currency || r.Kind == processor.Void && r.Currency == ""
	return same && s.newestAuthorization().Target == Target{r.Processor, r.MerchantID}
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
