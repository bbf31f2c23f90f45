package demo

import (
	"strings"
	"testing"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/eventstore/reconcile"
	"payledger/processorsim/protocol"
	"payledger/projections/history"
)

// logged returns an event of the log.
func logged(revision uint64, actor, hash string, call history.Call) audited {
	return audited{Entry: history.Entry{Revision: revision, Actor: actor, Hash: hash, Beside: history.Beside{Processor: []history.Call{call}}}}
}

// authorizedOnce returns the facts of an authorization that a kill interrupted, and that came out well.
func authorizedOnce() facts {
	op := operation{kind: processor.Authorize, amount: 2500, key: "01p.1"}
	requested := logged(1, "api_key:k", "a1", history.Call{Step: history.CallRequested, Key: op.key})
	answered := logged(2, "processor:ADYEN", "b2", history.Call{
		Step: history.CallAnswered, Key: op.key, Answer: &history.CallAnswer{TransactionID: "adyen_1"},
	})
	return facts{
		name: processor.Adyen, payment: "01p", operations: []operation{op}, repeats: 1, payments: 1, webhooks: 1,
		disks: [][]audited{{requested}}, log: []audited{requested, answered},
		books:    []protocol.Line{booked("01p.1", "adyen_1")},
		compared: comparison{Compared: reconcile.Counts{Payments: 1, Operations: 1, Records: 1}},
	}
}

func booked(key domain.OperationKey, transaction string) protocol.Line {
	return protocol.Line{
		Processor: processor.Adyen, Reference: "01p", Operation: processor.Authorize, IdempotencyKey: key, Amount: 2500, Currency: "EUR",
		State: processor.Succeeded, ProcessorTransactionID: transaction,
	}
}

// TestVerdict: each claim of the story of crashes fails if the facts are against it.
func TestVerdict(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*facts)
		fails  string // titles of the claims that fail
	}{
		{"all well", func(*facts) {}, ""},
		{"a second authorization", func(f *facts) { f.books = append(f.books, booked("01p.3", "adyen_2")) }, "Nothing was lost, Nothing was doubled"},
		{"the same key twice", func(f *facts) { f.books = append(f.books, booked("01p.1", "adyen_1")) }, "Nothing was doubled"},
		{"another amount", func(f *facts) { f.books[0].Amount = 5000 }, "Nothing was doubled"},
		{"a second payment", func(f *facts) { f.payments = 2 }, "Nothing was doubled"},
		{"a second webhook", func(f *facts) { f.webhooks = 2 }, "Nothing was doubled"},
		{"a repeat without the payment", func(f *facts) { f.repeats = 0 }, "Nothing was doubled"},
		{"a second outcome", func(f *facts) { f.log = append(f.log, f.log[1]) }, "Nothing was doubled"},
		{"a lost event", func(f *facts) { f.log = f.log[1:] }, "Nothing was lost, Nothing was doubled"},
		{"a changed event", func(f *facts) { f.log[0].Hash = "c3" }, "Nothing was lost"},
		{"an outcome before it was known", func(f *facts) { f.disks[0] = f.log }, "Nothing was guessed"},
		{"no outcome", func(f *facts) { f.log = f.log[:1] }, "Nothing was guessed, Nothing was lost, Nothing was doubled"},
		{"an outcome that the processor never gave", func(f *facts) { f.books[0].ProcessorTransactionID = "adyen_9" }, "Nothing was guessed"},
		{"an outcome by the service itself", func(f *facts) { f.log[1].Actor = "process:recovery" }, "Nothing was guessed"},
		{"no kill", func(f *facts) { f.disks = nil }, "Nothing was guessed"},
		{"a difference", func(f *facts) { f.compared.Differences = make([]reconcile.Difference, 1) }, "The books agree"},
		{"an entry more in the books", func(f *facts) { f.compared.Compared.Records = 2 }, "The books agree"},
		{"an open operation", func(f *facts) { f.compared.Compared.Open = 1 }, "The books agree"},
	} {
		f := authorizedOnce()
		c.change(&f)
		var failed []string
		for _, claim := range f.claims() {
			if claim.fault != nil {
				failed = append(failed, claim.title)
			}
		}
		if got := strings.Join(failed, ", "); got != c.fails {
			t.Errorf("%s: these claims fail: %q, expected %q", c.name, got, c.fails)
		}
	}
}

// TestFailedVerdict: a claim that fails is printed with its reason and is the error of the story.
func TestFailedVerdict(t *testing.T) {
	t.Parallel()
	f := authorizedOnce()
	f.books = append(f.books, booked("01p.1", "adyen_1"))
	var out strings.Builder
	err := f.verdict(&printer{&out})
	if err == nil || !strings.Contains(err.Error(), "Nothing was doubled: the books have 2 operations authorize") {
		t.Errorf("the error of the story is %v", err)
	}
	if text := out.String(); strings.Count(text, "✓") != 3 || !strings.Contains(text, "✗ Nothing was doubled") {
		t.Errorf("the verdict is printed as\n%s", text)
	}
}
