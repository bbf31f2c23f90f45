package payment

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
)

// RecordOutOfBand brings an operation that stands in the processor's books and that nobody here asked for (§6.3).
type RecordOutOfBand struct {
	At      time.Time
	EventID string // UUID of the event to be, and of the transaction event it is (D6)
	Record  processor.Record
}

// ErrForeign means that an operation in the processor's books names the payment and cannot be one of it: it is of
// another merchant account, or of another currency.
var ErrForeign = errors.New("the operation is of another merchant account or currency")

// DecideOutOfBand records it as the fact it is, once by the processor's own id, whatever the payment's status and
// whatever is under way (D7). What moved nothing is no fact, nor is an authorization of somebody else's.
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
		return RefundedOutOfBand{fact, s.captureAs(r.ParentID)}, nil
	case processor.Adjust:
		return AdjustedOutOfBand{fact}, nil
	default:
		return nil, nil
	}
}

// mayBeOf tells whether an operation acts where the payment is authorized, and in its currency. A void has an amount
// only perhaps, and then perhaps no currency.
func (s State) mayBeOf(r processor.Record) bool {
	same := r.Currency == s.Currency || r.Kind == processor.Void && r.Currency == ""
	return same && s.held().Target == Target{r.Processor, r.MerchantID}
}

// RevisionOf takes the revision out of an operation key of this payment; false for a key that is not ours.
func (s State) RevisionOf(key domain.OperationKey) (uint64, bool) {
	text, ours := strings.CutPrefix(string(key), string(s.ID)+".")
	revision, err := strconv.ParseUint(text, 10, 64)
	return revision, ours && err == nil
}

// hasOutOfBand tells whether the operation that the processor calls id was found before.
func (s State) hasOutOfBand(id string) bool {
	for op := range s.Each {
		if op.OutOfBandID == id {
			return true
		}
	}
	return false
}

// captureAs finds the newest capture with a transaction at the processor, and returns its revision; 0 for none.
func (s State) captureAs(transaction string) (newest uint64) {
	for op := range s.Each {
		if op.Kind == processor.Capture && op.TransactionID == transaction && transaction != "" {
			newest = max(newest, op.Revision)
		}
	}
	return newest
}

// addOutOfBand adds the operation, which has its outcome. It acts upon the authorization, a refund perhaps upon one capture.
func (s State) addOutOfBand(kind processor.Kind, e OutOfBand, final bool, parent uint64) State {
	if parent == 0 {
		parent = s.held().Revision
	}
	return s.request(Operation{
		Kind: kind, Amount: e.Amount, Final: final, Parent: parent, RequestedAt: e.DoneAt, State: StateSucceeded,
		TransactionID: e.TransactionID, OutOfBandID: e.ID, Answers: []OperationAnswer{{
			EventID: e.EventID, At: e.At, State: StateSucceeded, ProcessorEventID: e.ProcessorEventID,
		}},
	})
}

// capture is the capture that the refund is of; 0: of none that is known. An event of schema 3 names it by its
// transaction only.
func (e RefundedOutOfBand) capture(s State) uint64 {
	if e.Capture != 0 {
		return e.Capture
	}
	return s.captureAs(e.ParentID)
}

// evolveOutOfBand folds what was found at a processor.
func (s State) evolveOutOfBand(e Event) State {
	switch e := e.(type) {
	case CapturedOutOfBand:
		return s.addOutOfBand(processor.Capture, e.OutOfBand, e.Final, 0).at(e.At)
	case VoidedOutOfBand:
		return s.addOutOfBand(processor.Void, e.OutOfBand, false, 0).released().at(e.At)
	case RefundedOutOfBand:
		return s.addOutOfBand(processor.Refund, e.OutOfBand, false, e.capture(s)).at(e.At)
	case AdjustedOutOfBand:
		s = s.addOutOfBand(processor.Adjust, e.OutOfBand, false, 0)
		return s.adjusted(s.Revision).at(e.At)
	}
	return s
}

// overtaken tells an operation without an answer that something found came after, or something late came to light: the
// processor, which did that before, may have no room for it.
func (s State) overtaken(op Operation) bool {
	for other := range s.Each {
		if other.OutOfBandID != "" && other.Revision > op.Revision || other.cameLate() {
			return op.State.running()
		}
	}
	return false
}
