package reconcile

import (
	"cmp"
	"slices"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/process"
	"payledger/domain/processor"
)

// Kind is the kind of a difference.
type Kind string

const (
	MissingHere   Kind = "MISSING_HERE"  // in the processor's books, not in the ledger
	MissingThere  Kind = "MISSING_THERE" // in the ledger, not in the processor's books
	OtherAmount   Kind = "OTHER_AMOUNT"  // or another currency
	OtherState    Kind = "OTHER_STATE"
	OtherMerchant Kind = "OTHER_MERCHANT" // under another merchant account at the processor
	// OtherTransaction is a different processorTransactionId: the next operation would affect
	// another transaction.
	OtherTransaction Kind = "OTHER_TRANSACTION"
	// UnfitAnswer is an answer in the books about another payment, operation, currency or amount:
	// the ledger takes it for none.
	UnfitAnswer Kind = "UNFIT_ANSWER"
	// Unreadable is a payment whose operations in the books cannot all be read. It stands once for
	// the payment, without an operation; with the operation dispute it is a payment with a
	// notification that cannot be read.
	Unreadable Kind = "UNREADABLE"
)

// Side is one side's record of an operation, or of a notification about a dispute. Amount is in
// minor units.
type Side struct {
	At         time.Time       `json:"at"` // requested here, created there
	Amount     domain.Amount   `json:"amount"`
	Currency   domain.Currency `json:"currencyCode"`
	State      string          `json:"state"` // of a dispute its type and status
	MerchantID string          `json:"processorMerchantId"`

	TransactionID string `json:"processorTransactionId,omitempty"`
}

// Difference is one operation, or notification about a dispute, on which the ledger and the books
// disagree.
type Difference struct {
	Kind          Kind                `json:"difference"`
	Payment       domain.PaymentID    `json:"paymentId"`
	Operation     processor.Kind      `json:"operation"`                      // empty for Unreadable
	Key           domain.OperationKey `json:"idempotencyKey"`                 // empty for out-of-band operations and disputes
	ID            string              `json:"processorOperationId,omitempty"` // absent if missing there; the notification's id for disputes
	Dispute       string              `json:"processorDisputeId,omitempty"`
	TransactionID string              `json:"processorTransactionId,omitempty"`
	Here          *Side               `json:"here,omitempty"`
	There         *Side               `json:"there,omitempty"`

	requestedAt time.Time // here
	since       time.Time // when the processor recorded a result that may be on its way here; zero: none
}

// missingThere returns the operations of a payment that the books should have and do not. records
// are all that they have.
func missingThere(p payment.State, name processor.Name, records []processor.Record) (list []Difference) {
	for _, op := range p.Operations {
		if op.Target.Processor != name || !expected(op) {
			continue
		}
		if !slices.ContainsFunc(records, func(r processor.Record) bool { return is(p, op, r) }) {
			d := Difference{
				Kind: MissingThere, Payment: p.ID, Operation: op.Kind, ID: op.OutOfBandID, TransactionID: op.TransactionID,
				Here: here(p, op), requestedAt: op.RequestedAt,
			}
			if op.OutOfBandID == "" {
				d.Key = p.OperationKey(op.Revision)
			}
			list = append(list, d)
		}
	}
	return list
}

// repeated returns further records of a key, or id, that agree with the ledger. judged finds those
// that do not.
func repeated(p payment.State, records []processor.Record) (list []Difference) {
	for _, r := range records {
		if op, known := find(p, r); known && own(p, op, records).ID != r.ID && len(differences(p, r)) == 0 {
			d := of(r)
			d.Kind, d.requestedAt = MissingHere, op.RequestedAt
			list = append(list, d)
		}
	}
	return list
}

// judged compares one operation in the books with the payment. looked reports that the ledger's
// pass has reported a repeated operation.
func judged(p payment.State, r processor.Record, records []processor.Record, looked bool) []Difference {
	list := differences(p, r)
	op, known := find(p, r)
	if !known || own(p, op, records).ID == r.ID || looked && len(list) == 0 {
		return list
	}
	d := of(r)
	d.Kind = MissingHere
	return []Difference{d}
}

// own returns the record of an operation: of several under its key the record of its transaction,
// else the first.
func own(p payment.State, op payment.Operation, records []processor.Record) (first processor.Record) {
	for _, r := range records {
		switch {
		case !is(p, op, r):
		case op.TransactionID != "" && r.Answer.ProcessorTransactionID == op.TransactionID:
			return r
		case first.ID == "":
			first = r
		}
	}
	return first
}

func of(r processor.Record) Difference {
	transaction := r.Answer.ProcessorTransactionID
	return Difference{
		Payment: r.Reference, Operation: r.Kind, Key: r.Key, ID: r.ID, TransactionID: transaction,
		There: &Side{
			At: r.CreatedAt, Amount: r.Amount, Currency: r.Currency, State: string(r.State), MerchantID: r.MerchantID, TransactionID: transaction,
		},
	}
}

func differences(p payment.State, r processor.Record) (list []Difference) {
	d := of(r)
	add := func(kind Kind) { d.Kind = kind; list = append(list, d) }
	p.ID = r.Reference // also if there is no such payment: its keys begin with it
	op, known := find(p, r)
	if !known {
		if _, ours := p.RevisionOf(r.Key); ours || r.State == processor.Succeeded {
			add(MissingHere)
		}
		return list
	}
	d.Here = here(p, op)
	misfit := op.OutOfBandID == "" && process.Operation(p, op).Unfit(r.Answer) != ""
	other := op.Amount != r.Amount || r.Currency != p.Currency && (r.Currency != "" || moves(r.Kind))
	switch {
	case other && !(misfit && op.State.Open()): // the books have it with another amount, whatever its answer states
		add(OtherAmount)
	case misfit:
		list = append(list, unfit(d, r.Answer))
	}
	if op.Target.MerchantID != r.MerchantID {
		add(OtherMerchant)
	}
	if otherTransaction(d.Here, d.There) {
		add(OtherTransaction)
	}
	if !misfit && !endedBefore(op, r) && !sameState(op, r.State) {
		if r.State != processor.Pending && (op.State.Open() || op.State == payment.StateAction) {
			d.since = r.UpdatedAt
		}
		add(OtherState)
	}
	return list
}

// unfit returns the difference about an answer that does not fit its operation, with what the
// answer states.
func unfit(d Difference, a processor.Answer) Difference {
	there := *d.There
	there.Currency = cmp.Or(a.Currency, there.Currency)
	if a.Amount != nil {
		there.Amount = *a.Amount
	}
	d.Kind, d.There = UnfitAnswer, &there
	return d
}

// otherTransaction compares the transactions of both sides, if both name one: failures and
// completions may have none.
func otherTransaction(here, there *Side) bool {
	return here.TransactionID != "" && there.TransactionID != "" && here.TransactionID != there.TransactionID
}

// moves reports whether an operation must name its currency.
func moves(kind processor.Kind) bool { return kind != processor.Complete && kind != processor.Void }

// is reports whether two records are of the same operation.
func is(p payment.State, op payment.Operation, r processor.Record) bool {
	if op.Kind != r.Kind || op.Target.Processor != r.Processor {
		return false
	}
	if op.OutOfBandID != "" {
		return op.OutOfBandID == r.ID
	}
	return p.OperationKey(op.Revision) == r.Key
}

func find(p payment.State, r processor.Record) (op payment.Operation, known bool) {
	if i := slices.IndexFunc(p.Operations, func(op payment.Operation) bool { return is(p, op, r) }); i >= 0 {
		return p.Operations[i], true
	}
	return op, false
}

func here(p payment.State, op payment.Operation) *Side {
	return &Side{
		At: op.RequestedAt, Amount: op.Amount, Currency: p.Currency, State: string(op.State), MerchantID: op.Target.MerchantID,
		TransactionID: op.TransactionID,
	}
}

// unanswered reports whether only the request is known here (D8).
func unanswered(op payment.Operation) bool {
	return op.State == payment.StateRequested || op.State == payment.StateUnknown
}

// expected reports whether the processor must have an operation. The processor may lack an
// operation that our own rules refused (D7), that has no answer yet, or that failed: its key was
// fenced before it arrived (D14.1), or the processor refused it, and PROTOCOL.md lets its list
// leave that out. An authorization that was voided here before it had a result may be such a
// failure there. A declined authorization must be there. It may lack a completion: if a message had
// the result of the authorization first, the completion ended here without being sent. The
// authorization is compared by itself.
func expected(op payment.Operation) bool {
	failed := op.State == payment.StateFailed || op.State == payment.StateVoided
	return !op.Refused && !unanswered(op) && op.Kind != processor.Complete && !failed
}

// endedBefore reports whether the processor refused a completion because the customer's action had
// ended before, and changed nothing. The completion has the state of its authorization here.
func endedBefore(op payment.Operation, r processor.Record) bool {
	return op.Kind == processor.Complete && !op.State.Open() && r.State == processor.Failed && r.Answer.Code == processor.CodeNoAction
}

// sameState compares the states. An operation without a result here has none there: a result that
// the processor has is on its way or lost, which its age decides (Reconciler.Grace). The books know
// no required action, and an authorization that was voided before its result was known here may
// have had one.
func sameState(op payment.Operation, there processor.State) bool {
	switch op.State {
	case payment.StateRequested, payment.StateUnknown, payment.StateAction:
		return there == processor.Pending
	case payment.StateVoided:
		return there == processor.Failed || there == processor.Succeeded
	default:
		return string(op.State) == string(there)
	}
}
