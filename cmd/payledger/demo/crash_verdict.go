package demo

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"payledger/cmd/payledger/terminal"
	"payledger/domain/processor"
	"payledger/httpapi/client"
	"payledger/processorsim/protocol"
	"payledger/projections/history"
)

// facts are the readings of the story: from the log, the API, the processor's books and the
// merchant's endpoint.
type facts struct {
	name        processor.Name // of the processor
	payment     string
	findings    []*finding // one for each kill
	log         []audited  // the payment's log at the end
	books       []protocol.Line
	payments    int       // in the account
	webhooks    []webhook // that the merchant received and verified, in their order
	unverified  int       // webhooks that the merchant could not verify
	deliveries  int       // webhooks to the merchant in the service's own record
	compared    comparison
	differences []error // from the expected results, in the story
}

// claim is a sentence of the verdict. fault is nil if the facts support it.
type claim struct {
	title, text string
	fault       error
}

// verdict prints the claims. Its error names the first claim that the facts do not support.
func (f facts) verdict(out *printer) (wrong error) {
	out.line("\nVerdict, from the log, the API, the processor's books and the webhooks that the merchant received\n")
	for _, claim := range f.claims() {
		out.claim(claim)
		if claim.fault != nil && wrong == nil {
			wrong = fmt.Errorf("%s: %w", claim.title, claim.fault)
		}
	}
	return wrong
}

func (f facts) claims() []claim {
	n, counts := len(f.findings), f.compared.Compared
	all := []claim{
		{"Nothing was guessed", fmt.Sprintf("%s stayed open until %s itself said what became of %s.",
			terminal.Count(n, "operation"), f.name, those(n)), f.guessed()},
		{"Nothing was lost", fmt.Sprintf("Every event that was on the disk after a kill is in the log of %s, unchanged, and so is every outcome of %s's books.",
			terminal.Count(len(f.log), "event"), f.name), f.lost()},
		{"Nothing was doubled", fmt.Sprintf("%s and %s made %s, %s and %s.",
			terminal.Count(n, "request"), terminal.Count(f.repeats(), "repeat"), terminal.Count(f.payments, "payment"), f.booked(),
			terminal.Count(len(f.webhooks), "webhook")), f.doubled()},
		{"The books agree", fmt.Sprintf("The ledger has %s of %s, %s has %d: %s.",
			terminal.Count(counts.Operations, "operation"), terminal.Count(counts.Payments, "payment"), f.name, counts.Records,
			terminal.Count(len(f.compared.Differences), "difference")), f.disagreement()},
	}
	if len(f.differences) > 0 {
		all = append(all, claim{title: "Everything went as expected", fault: f.differences[0]})
	}
	return all
}

func those(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}

func (f facts) booked() string {
	lines := make([]string, len(f.books))
	for i, line := range f.books {
		lines[i] = fmt.Sprintf("1 %s of %s", noun(line.Operation), euros(int64(line.Amount)))
	}
	return strings.Join(lines, ", ")
}

// repeats returns the number of repeats that were refused with the payment.
func (f facts) repeats() (n int) {
	for _, one := range f.findings {
		if one.repeated(f.payment) == nil {
			n++
		}
	}
	return n
}

func (f facts) received(kind hook) (n int) {
	for _, h := range f.webhooks {
		if h.hook() == kind && h.Payment.ID == f.payment {
			n++
		}
	}
	return n
}

// guessed returns an error if an outcome was on the disk before it was known, if the service acted
// before it asked, or if the books differ.
func (f facts) guessed() error {
	if len(f.findings) == 0 {
		return errors.New("the service was not killed")
	}
	for _, one := range f.findings {
		if err := cmp.Or(one.onDisk(), one.isOpen(), one.questions(f.name), one.outcomeIn(f.log, f)); err != nil {
			return err
		}
	}
	return nil
}

// lost returns an error if the log lacks an event of the disk or an operation of the books, or if
// the merchant does not know an outcome.
func (f facts) lost() error {
	for i, one := range f.findings {
		for n, e := range one.disk {
			if n >= len(f.log) || f.log[n].Hash != e.Hash || f.log[n].Revision != e.Revision {
				return fmt.Errorf("event %s, on the disk after kill %d, is not in the log", e, i+1)
			}
		}
		if err := one.ended(); err != nil {
			return err
		}
		if f.received(one.hook) == 0 {
			return fmt.Errorf("the merchant did not receive the webhook %s", one.hook)
		}
	}
	for _, line := range f.books {
		if a, _ := answerTo(f.log, operation{key: line.IdempotencyKey}); a == nil {
			return fmt.Errorf("the log does not have the %s %s of the books", line.Operation, line.IdempotencyKey)
		}
	}
	switch {
	case f.unverified > 0:
		return fmt.Errorf("the merchant received %s without a right signature", terminal.Count(f.unverified, "webhook"))
	case f.deliveries > len(f.webhooks):
		return fmt.Errorf("the service has a record of %s, the merchant received %d", terminal.Count(f.deliveries, "webhook"), len(f.webhooks))
	}
	return nil
}

// doubled returns an error unless the books have each operation once, the payment one request and
// one outcome of each, and nothing is too many.
func (f facts) doubled() error {
	for _, op := range f.findings {
		n := 0
		for _, line := range f.books {
			if line.Operation != op.kind {
				continue
			}
			if n++; line.IdempotencyKey != op.key || int64(line.Amount) != op.amount || line.State != processor.Succeeded || string(line.Reference) != f.payment {
				return fmt.Errorf("the books have the %s %s of %s, %s, expected %s of %s", op.kind, line.IdempotencyKey, euros(int64(line.Amount)), line.State, op.key, euros(op.amount))
			}
		}
		if n != 1 {
			return fmt.Errorf("the books have %s %s, expected 1", terminal.Count(n, "operation"), op.kind)
		}
		if err := op.repeated(f.payment); err != nil {
			return err
		}
	}
	switch n := len(f.findings); {
	case len(f.books) != n:
		return fmt.Errorf("the books have %s, expected %d", terminal.Count(len(f.books), "operation"), n)
	case f.payments != 1:
		return fmt.Errorf("the account has %s, expected 1", terminal.Count(f.payments, "payment"))
	case len(f.webhooks) > n:
		return fmt.Errorf("the merchant received %s, expected %d: %v", terminal.Count(len(f.webhooks), "webhook"), n, f.webhooks)
	}
	return f.events()
}

// events returns an error if the log is not a request and an outcome for each operation.
func (f facts) events() error {
	expected := make([]string, 0, 2*len(f.findings))
	for _, one := range f.findings {
		expected = append(expected, one.requested, one.outcome)
	}
	if len(f.log) != len(expected) {
		return fmt.Errorf("the log has %v, expected %v", f.log, expected)
	}
	for i, e := range f.log {
		if e.Type != expected[i] {
			return fmt.Errorf("event %s is in the log, expected %s", e, expected[i])
		}
	}
	return nil
}

// disagreement returns an error if the comparison has a difference or did not compare every
// operation.
func (f facts) disagreement() error {
	counts, n := f.compared.Compared, len(f.findings)
	switch {
	case len(f.compared.Differences) > 0:
		d := f.compared.Differences[0]
		return fmt.Errorf("%s of the %s %s: it is %s in the ledger and %s in the books", d.Kind, noun(d.Operation), d.Key, stateOf(d.Here), stateOf(d.There))
	case counts.Payments != 1 || counts.Operations != n || counts.Records != n:
		return fmt.Errorf("compared were %s of %s with %d of the books, expected %d", terminal.Count(counts.Operations, "operation"),
			terminal.Count(counts.Payments, "payment"), counts.Records, n)
	case counts.Open > 0 || counts.Fresh > 0:
		return errors.New("some operations have no answer yet, or are too fresh to judge")
	}
	return nil
}

// finding is the story's readings about one interrupted request, beside the expectation that is
// compared with them.
type finding struct {
	expectation
	disk   []audited     // the payment's log on the disk after the kill
	open   int           // operations without an answer there, by reconcile
	repeat *client.Error // the answer to the merchant's repeat; of an answer that is no error only the status
	calls  []call        // of the service about the operation, after its start
	after  string        // the payment's status when the outcome was known
}

// onDisk returns an error if the log on the disk does not end with the request, whose outcome is
// open.
func (f *finding) onDisk() error {
	if len(f.disk) == 0 {
		return fmt.Errorf("the disk has no event of the payment after the kill during the %s", noun(f.kind))
	}
	if a, _ := answerTo(f.disk, f.operation); a != nil {
		return fmt.Errorf("the disk has an outcome of %s before it was known", f.key)
	}
	last := f.disk[len(f.disk)-1]
	switch waiting := last.Waiting; {
	case last.Type != f.requested:
		return fmt.Errorf("the newest event on the disk is %s, expected %s", last, f.requested)
	case string(last.Payment.Status) != f.before:
		return fmt.Errorf("the payment on the disk is %s, expected %s", last.Payment.Status, f.before)
	case len(waiting) != 1 || waiting[0].Key != f.key:
		return fmt.Errorf("on the disk the payment waits for %+v, expected %s", waiting, f.key)
	}
	return nil
}

// isOpen returns an error if reconcile did not find the operation without an answer on the disk.
func (f *finding) isOpen() error {
	if f.open != 1 {
		return fmt.Errorf("%d operations had no answer after the kill, expected the %s", f.open, noun(f.kind))
	}
	return nil
}

// repeated returns an error if the repeat of the request was not refused with the payment (D9).
func (f *finding) repeated(payment string) error {
	switch r := f.repeat; {
	case r == nil:
		return fmt.Errorf("the %s was not repeated", noun(f.kind))
	case r.Status != http.StatusConflict || r.ErrorID != client.IdempotencyKeyAlreadyExists:
		return fmt.Errorf("the repeat of the %s was answered %d %s, expected 409 %s", noun(f.kind), r.Status, r.ErrorID, client.IdempotencyKeyAlreadyExists)
	case r.PaymentID != payment:
		return fmt.Errorf("the repeat of the %s was answered with payment %q, expected %s", noun(f.kind), r.PaymentID, payment)
	}
	return nil
}

// questions returns an error if the service, after its start, acted before it asked, or sent an
// operation that the processor had seen.
func (f *finding) questions(name processor.Name) error {
	sends, expected := 0, 0
	for _, call := range f.calls {
		if call.send {
			sends++
		}
	}
	if f.known == processor.Unseen {
		expected = 1
	}
	switch {
	case len(f.calls) == 0:
		return fmt.Errorf("after its start the service did not ask %s about %s", name, f.key)
	case f.calls[0].send:
		return fmt.Errorf("after its start the service sent %s to %s before it asked", f.key, name)
	case f.calls[0].answer.State != f.known:
		return fmt.Errorf("%s answered the first question about %s with %s, expected %s", name, f.key, f.calls[0].answer.State, f.known)
	case sends != expected:
		return fmt.Errorf("after its start the service sent %s to %s %d times, expected %d", f.key, name, sends, expected)
	}
	return nil
}

// ended returns an error if the payment does not have the status that the outcome leads to.
func (f *finding) ended() error {
	if f.after != f.status {
		return fmt.Errorf("after the %s the payment is %q, expected %s", noun(f.kind), f.after, f.status)
	}
	return nil
}

// outcomeIn returns an error if the outcome in a log is not that of the processor's books.
func (f *finding) outcomeIn(log []audited, of facts) error {
	a, by := answerTo(log, f.operation)
	if a == nil {
		return fmt.Errorf("%s has no outcome", f.key)
	}
	for _, line := range of.books {
		if line.IdempotencyKey == f.key && line.ProcessorTransactionID == a.TransactionID && by == "processor:"+string(of.name) {
			return nil
		}
	}
	return fmt.Errorf("the outcome of %s is by %s with the transaction %q, which the books do not have", f.key, by, a.TransactionID)
}

// answerTo returns the answer to an operation in a log, and the actor of its event.
func answerTo(log []audited, op operation) (answer *history.CallAnswer, actor string) {
	for _, e := range log {
		for _, call := range e.Processor {
			if call.Key == op.key && call.Step == history.CallAnswered {
				answer, actor = call.Answer, e.Actor
			}
		}
	}
	return answer, actor
}
