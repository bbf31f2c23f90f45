package books

import (
	"encoding/json"
	"strconv"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
	"payledger/processorsim/protocol/plainjson"
)

// Operation is one operation as the books keep it. Amount and Currency are as they were requested.
type Operation struct {
	ID         string              `json:"id"`
	Processor  processor.Name      `json:"processor"`
	MerchantID string              `json:"processorMerchantId"`
	Reference  domain.PaymentID    `json:"reference"`
	Kind       processor.Kind      `json:"operation"`
	Key        domain.OperationKey `json:"key"`
	Amount     domain.Amount       `json:"amount"`
	Currency   domain.Currency     `json:"currency,omitempty"`
	ParentID   string              `json:"parentId,omitempty"`
	Final      bool                `json:"final,omitempty"`
	Card       string              `json:"card,omitempty"` // the name of the card's row, never its number
	NotifyURL  string              `json:"notifyUrl,omitempty"`
	CreatedAt  time.Time           `json:"createdAt"`
	UpdatedAt  time.Time           `json:"-"`
	Due        time.Time           `json:"due,omitzero"` // while PENDING: when it ends
	Answer     processor.Answer    `json:"answer"`
	Outcome    processor.Outcome   `json:"outcome,omitempty"` // of a completion

	line  processor.State   // in the books (D14.16): an authorization that waits for its customer is PENDING
	ended *processor.Answer // the result of an authorization that waited for its customer; look-ups return it

	finished, notified bool // the first answer was PENDING; the result is delivered or given up
}

type recordType string

const (
	accepted recordType = "accepted"
	finished recordType = "finished"
	notified recordType = "notified"
	fenced   recordType = "fenced"

	disputedRecord recordType = "disputed"
)

type record struct {
	Type      recordType          `json:"type"`
	At        time.Time           `json:"at"`
	Operation *Operation          `json:"operation,omitempty"`
	ID        string              `json:"id,omitempty"`
	Answer    *processor.Answer   `json:"answer,omitempty"`
	Processor processor.Name      `json:"processor,omitempty"`
	Key       domain.OperationKey `json:"key,omitempty"`
	Report    *DisputeReport      `json:"telling,omitempty"`
}

// line returns r as a line of the file. Accepted operations, which are most records, are written
// without reflection.
func (r record) line() ([]byte, error) {
	if r.Type != accepted || r.ID != "" || r.Answer != nil || r.Processor != "" || r.Key != "" || r.Report != nil {
		return json.Marshal(r)
	}
	b := plainjson.AppendTime(append(make([]byte, 0, lineSize), `{"type":"accepted","at":`...), r.At)
	return append(r.Operation.append(append(b, `,"operation":`...)), '}'), nil
}

const lineSize = 1536

func (o *Operation) append(b []byte) []byte {
	b = plainjson.AppendText(append(b, `{"id":`...), o.ID)
	b = plainjson.AppendText(append(b, `,"processor":`...), o.Processor)
	b = plainjson.AppendText(append(b, `,"processorMerchantId":`...), o.MerchantID)
	b = plainjson.AppendText(append(b, `,"reference":`...), o.Reference)
	b = plainjson.AppendText(append(b, `,"operation":`...), o.Kind)
	b = plainjson.AppendText(append(b, `,"key":`...), o.Key)
	b = strconv.AppendInt(append(b, `,"amount":`...), int64(o.Amount), 10)
	b = plainjson.AppendField(b, "currency", o.Currency)
	b = plainjson.AppendField(b, "parentId", o.ParentID)
	b = plainjson.AppendTruth(b, "final", o.Final)
	b = plainjson.AppendField(b, "card", o.Card)
	b = plainjson.AppendField(b, "notifyUrl", o.NotifyURL)
	b = plainjson.AppendTime(append(b, `,"createdAt":`...), o.CreatedAt)
	if !o.Due.IsZero() {
		b = plainjson.AppendTime(append(b, `,"due":`...), o.Due)
	}
	b = plainjson.AppendAnswer(append(b, `,"answer":`...), o.Answer)
	return append(plainjson.AppendField(b, "outcome", o.Outcome), '}')
}

// same reports whether a repeat has the contents of o (D14.2).
func (o *Operation) same(op processor.Operation) bool {
	return o.Kind == op.Kind && o.Reference == op.Reference && o.ParentID == op.ParentID &&
		o.Amount == op.Amount && (op.Currency == o.Currency || op.Currency == "") && o.Final == op.Final && o.Outcome == op.Outcome
}

// newest returns the newest answer under the key of o, with what it is about. An answer with which
// nothing moves states no amount; a completion and a void concern the whole authorization.
func (o *Operation) newest() processor.Answer {
	if o.ended != nil {
		return o.about(*o.ended)
	}
	return o.about(o.Answer)
}

func (o *Operation) about(a processor.Answer) processor.Answer {
	a.Kind, a.Reference = o.Kind, o.Reference
	if moves(o.Kind) && a.State != processor.Failed && a.State != processor.Declined {
		a.Amount, a.Currency = &o.Amount, o.Currency
	} else {
		a.Amount, a.Currency = nil, ""
	}
	return a
}

// answered returns o with its own answer as the processor gives it.
func (o *Operation) answered() Operation {
	given := *o
	given.Answer = o.about(o.Answer)
	return given
}

// Line is o as the control API shows it.
func (o *Operation) Line() protocol.Line {
	return protocol.Line{
		ID: o.ID, Processor: o.Processor, ProcessorMerchantID: o.MerchantID, Reference: o.Reference,
		Operation: o.Kind, IdempotencyKey: o.Key, Amount: o.Amount, Currency: o.Currency, State: o.line,
		CreatedAt: o.CreatedAt, UpdatedAt: o.UpdatedAt,
		ProcessorTransactionID: o.Answer.ProcessorTransactionID, ParentID: o.ParentID,
	}
}

// lineState maps the state of an answer to that of a line: the books know no ACTION_REQUIRED
// (D14.16).
func lineState(s processor.State) processor.State {
	if s == processor.ActionRequired {
		return processor.Pending
	}
	return s
}
