package conformance

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"payledger/domain"
	"payledger/domain/exactjson"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

// Card data of requests without a declared card: a well-known test number that no account has.
const (
	plainNumber   = "4242424242424242"
	dividedNumber = "4242 4242 4242 4242"
	plainCVV      = "739"
)

// probe runs one check. Its methods end the check if the connector breaks a general promise: an
// answer that must come and does not come, or that is no fact.
type probe struct {
	*suite
	ctx       context.Context
	reference domain.PaymentID
	keys      int
	log       exchanges
}

// newReference returns a new payment id.
func newReference() domain.PaymentID { return domain.PaymentID("pc" + strings.ToLower(rand.Text())) }

func (p *probe) key() domain.OperationKey {
	p.keys++
	return domain.OperationKey(fmt.Sprintf("%s.%d", p.reference, p.keys))
}

// authorize is an authorization with a test card, ready to send.
func (p *probe) authorize(card protocol.TestCase, amount domain.Amount) processor.Operation {
	number := p.declared.TestCards[card]
	if number == "" {
		number = plainNumber
	}
	return processor.Operation{
		Kind: processor.Authorize, Key: p.key(), Processor: p.Processor, MerchantID: p.Merchant, Reference: p.reference,
		Amount: amount, Currency: "EUR", NotifyURL: p.receiver.URL,
		Card: &processor.Card{Number: number, CVV: plainCVV, ExpirationMonth: "12", ExpirationYear: "2035", CardholderName: "Ada Lovelace"},
	}
}

// on is an operation upon the transaction of an answer, ready to send.
func (p *probe) on(parent processor.Answer, kind processor.Kind, amount domain.Amount) processor.Operation {
	return processor.Operation{
		Kind: kind, Key: p.key(), Processor: p.Processor, MerchantID: p.Merchant, Reference: p.reference,
		ParentID: parent.ProcessorTransactionID, Amount: amount, Currency: "EUR", NotifyURL: p.receiver.URL,
	}
}

// final is on for a final capture.
func (p *probe) final(parent processor.Answer, amount domain.Amount) processor.Operation {
	op := p.on(parent, processor.Capture, amount)
	op.Final = true
	return op
}

// try sends an operation. An answer that is no fact is an error.
func (p *probe) try(op processor.Operation) (processor.Answer, error) {
	answer, err := p.client.Send(p.ctx, op)
	if err == nil {
		p.remember(op, answer)
	}
	answer.RawAnswer = nil
	return answer, err
}

func (p *probe) remember(op processor.Operation, answer processor.Answer) {
	if answer.Code == processor.CodeFenced || slices.ContainsFunc(p.done, func(d done) bool { return d.op.Key == op.Key }) {
		return
	}
	op.Card = nil
	p.suite.done = append(p.suite.done, done{op, answer})
}

// send sends an operation whose answer must be a fact. A connector that answers 503 or 504 does not
// know the outcome, which is no broken promise: send goes on as the ledger does, with look-ups, and
// a repeat of a key that was never seen.
func (p *probe) send(op processor.Operation) processor.Answer {
	answer, err := p.try(op)
	if err != nil && p.unsure() {
		p.until("an answer that is a fact", func() bool {
			found := p.lookup(op)
			if found.State == processor.Known {
				answer, err = *found.Answer, nil
				p.remember(op, answer)
			} else if found.State == processor.Unseen {
				answer, err = p.try(op)
			}
			return err == nil
		})
	}
	if err != nil {
		p.broken("%s has no answer that is a fact: %v", op.Kind, err)
	}
	return answer
}

// unsure reports whether the newest answer says that the connector does not know the outcome yet.
func (p *probe) unsure() bool {
	last := p.log.last()
	return len(last) > 0 && (last[len(last)-1].Status == http.StatusServiceUnavailable || last[len(last)-1].Status == http.StatusGatewayTimeout)
}

// succeeds sends an operation that must succeed, perhaps after it was pending.
func (p *probe) succeeds(op processor.Operation) processor.Answer {
	answer := p.ended(op)
	if answer.State != processor.Succeeded {
		p.broken("%s of %d %s is %s %s, want SUCCEEDED", op.Kind, op.Amount, op.Currency, answer.State, answer.Code)
	}
	return answer
}

// refused sends an operation that the processor must refuse: FAILED, perhaps after it was pending.
// A code of "" is any.
func (p *probe) refused(op processor.Operation, why string) processor.Answer {
	answer := p.ended(op)
	if answer.State != processor.Failed {
		p.broken("%s of %d %s %s is %s, want FAILED", op.Kind, op.Amount, op.Currency, why, answer.State)
	}
	return answer
}

// ended sends an operation and waits for its end.
func (p *probe) ended(op processor.Operation) processor.Answer {
	answer := p.send(op)
	if answer.State != processor.Pending {
		return answer
	}
	p.until("the end of a pending "+string(op.Kind), func() bool {
		answer = p.known(op)
		return answer.State != processor.Pending
	})
	return answer
}

func (p *probe) lookup(op processor.Operation) processor.Lookup {
	found, err := p.client.Lookup(p.ctx, p.Processor, op.Key)
	if err != nil {
		p.broken("the look-up of a key has no answer: %v", err)
	}
	if found.Answer != nil {
		found.Answer.RawAnswer = nil
	}
	return found
}

// known looks up an operation that must be known.
func (p *probe) known(op processor.Operation) processor.Answer {
	found := p.lookup(op)
	if found.State != processor.Known {
		p.broken("the look-up of a key that had an answer is %s, want KNOWN", found.State)
	}
	return *found.Answer
}

func (p *probe) fence(op processor.Operation) processor.Lookup {
	found, err := p.client.Fence(p.ctx, p.Processor, op.Key)
	if err != nil {
		p.broken("the fence of a key has no answer: %v", err)
	}
	if found.Answer != nil {
		found.Answer.RawAnswer = nil
	}
	return found
}

// listed returns the operations of the probe's payment.
func (p *probe) listed() []processor.Record { return p.listedOf(p.reference) }

func (p *probe) listedOf(reference domain.PaymentID) []processor.Record {
	found, err := p.client.ByReference(p.ctx, p.Processor, reference)
	if err != nil {
		p.broken("the list of a payment cannot be read: %v", err)
	}
	return found
}

// once returns the operation of a key in the list of the payment, which must have it once.
func (p *probe) once(key domain.OperationKey) processor.Record {
	found := byKey(p.listed(), key)
	if len(found) != 1 {
		p.broken("the list of the payment has %d operations of key %s, want 1", len(found), key)
	}
	return found[0]
}

func byKey(records []processor.Record, key domain.OperationKey) (found []processor.Record) {
	for _, r := range records {
		if r.Key == key {
			found = append(found, r)
		}
	}
	return found
}

// same ends the check if two answers of an operation differ. While it is PENDING, only the
// transaction is known.
func (p *probe) same(what string, got, want processor.Answer) {
	if got.State == processor.Pending || want.State == processor.Pending {
		got, want = processor.Answer{ProcessorTransactionID: got.ProcessorTransactionID}, processor.Answer{ProcessorTransactionID: want.ProcessorTransactionID}
	}
	if text, first := encoded(got), encoded(want); text != first {
		p.broken("%s is another answer: %s, first %s", what, text, first)
	}
}

func encoded(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// until waits until a condition is true, at most Config.Patience.
func (p *probe) until(what string, met func() bool) {
	end, pause := time.Now().Add(p.Patience), 20*time.Millisecond
	for arrived := p.receiver.Next(); !met(); arrived = p.receiver.Next() {
		if time.Now().After(end) {
			p.broken("%s did not come within %s", what, p.Patience)
		}
		if p.Elapse != nil {
			p.Elapse(time.Second)
		} else {
			pause = min(2*pause, time.Second)
		}
		timer := time.NewTimer(pause)
		select {
		case <-arrived:
		case <-timer.C:
		case <-p.ctx.Done():
			timer.Stop()
			p.broken("the run ended early")
		}
		timer.Stop()
	}
}

// raw sends any request and returns the exchange.
func (p *probe) raw(ctx context.Context, method, path, body string, header ...string) Exchange {
	var log exchanges
	r, err := http.NewRequestWithContext(withLog(ctx, &log), method, p.URL+path, bytes.NewBufferString(body))
	if err != nil {
		p.broken("%s %s: %v", method, path, err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := p.recorder.client().Do(r)
	if err == nil {
		_, err = io.Copy(io.Discard, answer.Body)
		err = errors.Join(err, answer.Body.Close())
	}
	for _, e := range log.all {
		p.log.add(e)
	}
	if err != nil {
		p.broken("%s %s has no answer: %v", method, path, err)
	}
	return *log.all[0]
}

// error checks that an exchange is a refused request, with one of the statuses and a body of the
// protocol, and returns its code.
func (p *probe) error(e Exchange, statuses ...int) protocol.Code {
	if !slices.Contains(statuses, e.Status) {
		p.brokenAt(e, "%s %s is answered with %d, want %v", e.Method, e.Path, e.Status, statuses)
	}
	var body protocol.ErrorBody
	if err := exactjson.Unmarshal(e.raw, &body); err != nil || body.Error.Code == "" || body.Error.Message == "" {
		p.brokenAt(e, "%s %s: the answer %d is no error body with a code and a message", e.Method, e.Path, e.Status)
	}
	return body.Error.Code
}
