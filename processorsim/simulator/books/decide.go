package books

import (
	"encoding/base32"
	"fmt"
	"io"
	"strings"
	"time"

	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

const asyncDelay = 2 * time.Second // how long an asynchronous operation stays PENDING (D13)

var idEncoding = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

type draft struct {
	id string // the part that all its ids share
	at time.Time
}

// newDraft draws the ids of an operation, under mu.
func (b *Books) newDraft() (draft, error) {
	var random [16]byte
	if _, err := io.ReadFull(b.random, random[:]); err != nil {
		return draft{}, fmt.Errorf("books: random: %w", err)
	}
	return draft{id: idEncoding.EncodeToString(random[:]), at: b.now().UTC()}, nil
}

func (d draft) transaction(name processor.Name) string {
	return strings.ToLower(string(name)) + "_" + d.id
}

func refuse(code protocol.Code, message string) processor.Answer {
	return processor.Answer{State: processor.Failed, Code: code, Message: message}
}

func (d draft) operation() string { return "op_" + d.id }

// decide returns the answer to op, without time and event id, and the row of the card concerned.
func (b *Books) decide(op processor.Operation, d draft) (processor.Answer, *card) {
	switch op.Kind {
	case processor.Authorize:
		return b.decideAuthorize(op, d)
	case processor.Refund:
		return b.decideRefund(op, d)
	}
	s, ok := b.saleOf(op)
	switch {
	case !ok:
		return refuse(protocol.CodeParentNotFound, "no such authorization"), nil
	case op.Currency != s.op.Currency && moves(op.Kind):
		return refuse(protocol.CodeCurrencyMismatch, "not the currency of the authorization"), s.card
	}
	switch op.Kind {
	case processor.Complete:
		return decideComplete(op, s), s.card
	case processor.Capture:
		return decideCapture(op, s, d), s.card
	case processor.Void:
		return decideVoid(s), s.card
	default:
		return decideAdjust(op, s), s.card
	}
}

// moves reports whether an operation's amount means anything: complete and void concern all of it.
func moves(k processor.Kind) bool { return k != processor.Complete && k != processor.Void }

// result is the answer that ends a pending operation (D13), without time and event id.
func (b *Books) result(o *Operation) processor.Answer {
	answer := o.Answer
	answer.State, answer.Code, answer.Message = processor.Succeeded, "", ""
	row := cardsByName[o.Card]
	switch {
	case o.Kind == processor.Authorize:
		answer = row.approve(o.Processor, answer)
	case o.Kind == processor.Capture && row.behaviour == captureFails:
		answer = refuse(protocol.CodeCaptureFailed, "the capture was rejected")
		answer.ProcessorTransactionID = o.Answer.ProcessorTransactionID
	case o.Kind == processor.Refund && row.behaviour == refundFails:
		answer = refuse(protocol.CodeRefundFailed, "the refund was rejected")
		answer.ProcessorTransactionID = o.Answer.ProcessorTransactionID
	}
	return answer
}
