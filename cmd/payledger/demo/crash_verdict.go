package demo

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"payledger/domain/processor"
	"payledger/processorsim/protocol"
	"payledger/projections/history"
)

// facts are what the story found out: in the log, at the API and in the processor's books.
type facts struct {
	name       processor.Name // of the processor
	payment    string
	operations []operation // of the merchant's requests that got no answer, in their order
	disks      [][]audited // the payment's log on the disk after each kill
	repeats    int         // requests that the merchant repeated, and that were answered with the payment
	log        []audited   // the payment's log at the end
	books      []protocol.Line
	payments   int // in the account
	webhooks   int // about the payment
	compared   comparison
}

// claim is a sentence of the verdict. fault is nil if the facts support it.
type claim struct {
	title, text string
	fault       error
}

// verdict prints the claims. Its error names the first claim that the facts do not support.
func (f facts) verdict(out *printer) (wrong error) {
	out.line("\nVerdict, from the log, the API and the processor's books\n")
	for _, claim := range f.claims() {
		out.claim(claim)
		if claim.fault != nil && wrong == nil {
			wrong = fmt.Errorf("%s: %w", claim.title, claim.fault)
		}
	}
	return wrong
}

// claims returns the claims about the facts.
func (f facts) claims() []claim {
	n, counts := len(f.operations), f.compared.Compared
	return []claim{
		{"Nothing was guessed", fmt.Sprintf("%s stayed open until %s itself said what became of %s.", count(n, "operation"), f.name, those(n)), f.guessed()},
		{"Nothing was lost", fmt.Sprintf("Every event that was on the disk after a kill is in the log of %s, unchanged, and so is every outcome of %s's books.", count(len(f.log), "event"), f.name), f.lost()},
		{"Nothing was doubled", fmt.Sprintf("%s and %s made %s, %s and %s.",
			count(n, "request"), count(f.repeats, "repeat"), count(f.payments, "payment"), f.booked(), count(f.webhooks, "webhook")), f.doubled()},
		{"The books agree", fmt.Sprintf("The ledger has %s of %s, %s has %d: %s.",
			count(counts.Operations, "operation"), count(counts.Payments, "payment"), f.name, counts.Records, count(len(f.compared.Differences), "difference")), f.disagreement()},
	}
}

func those(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}

// booked returns the operations of the books in words.
func (f facts) booked() string {
	lines := make([]string, len(f.books))
	for i, line := range f.books {
		lines[i] = fmt.Sprintf("1 %s of %s", noun(line.Operation), euros(int64(line.Amount)))
	}
	return strings.Join(lines, ", ")
}

// guessed returns an error if a log on the disk has an outcome of the operation that was under way, or if an outcome in the log is not
// that of the processor's books.
func (f facts) guessed() error {
	if len(f.operations) == 0 || len(f.disks) != len(f.operations) {
		return fmt.Errorf("the service was killed %d times in %d operations", len(f.disks), len(f.operations))
	}
	for i, op := range f.operations {
		if a, _ := answerTo(f.disks[i], op); a != nil {
			return fmt.Errorf("the disk has an outcome of %s before it was known", op.key)
		}
		a, by := answerTo(f.log, op)
		if a == nil {
			return fmt.Errorf("%s has no outcome", op.key)
		}
		said := slices.IndexFunc(f.books, func(l protocol.Line) bool { return l.IdempotencyKey == op.key })
		if said < 0 || f.books[said].ProcessorTransactionID != a.TransactionID || by != "processor:"+string(f.name) {
			return fmt.Errorf("the outcome of %s is by %s with the transaction %q, which the books do not have", op.key, by, a.TransactionID)
		}
	}
	return nil
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

// lost returns an error if an event of a log on the disk is not in the log, or an operation of the books is not.
func (f facts) lost() error {
	for i, disk := range f.disks {
		for n, e := range disk {
			if n >= len(f.log) || f.log[n].Hash != e.Hash || f.log[n].Revision != e.Revision {
				return fmt.Errorf("event %s, on the disk after kill %d, is not in the log", e, i+1)
			}
		}
	}
	for _, line := range f.books {
		if a, _ := answerTo(f.log, operation{key: line.IdempotencyKey}); a == nil {
			return fmt.Errorf("the log does not have the %s %s of the books", line.Operation, line.IdempotencyKey)
		}
	}
	return nil
}

// doubled returns an error if the books do not have each operation once with its amount, or if there is not one payment.
func (f facts) doubled() error {
	for _, op := range f.operations {
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
			return fmt.Errorf("the books have %d operations %s, expected 1", n, op.kind)
		}
	}
	switch n := len(f.operations); {
	case len(f.books) != n:
		return fmt.Errorf("the books have %d operations, expected %d", len(f.books), n)
	case f.repeats != n:
		return fmt.Errorf("%d of %d repeats were answered with the payment", f.repeats, n)
	case f.payments != 1:
		return fmt.Errorf("the account has %d payments, expected 1", f.payments)
	case f.webhooks != n:
		return fmt.Errorf("the merchant got %d webhooks, expected %d", f.webhooks, n)
	case len(f.log) != 2*n:
		return fmt.Errorf("the log has %d events, expected a request and an outcome for each of %d operations", len(f.log), n)
	}
	return nil
}

// disagreement returns an error if the comparison has a difference or did not compare every operation.
func (f facts) disagreement() error {
	counts, n := f.compared.Compared, len(f.operations)
	switch {
	case len(f.compared.Differences) > 0:
		d := f.compared.Differences[0]
		return fmt.Errorf("%s of the %s %s", d.Kind, d.Operation, d.Key)
	case counts.Payments != 1 || counts.Operations != n || counts.Records != n:
		return fmt.Errorf("compared were %d operations of %d payments with %d of the books, expected %d", counts.Operations, counts.Payments, counts.Records, n)
	case counts.Open > 0 || counts.Fresh > 0:
		return errors.New("some operations have no answer yet, or are too fresh to judge")
	}
	return nil
}
