package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/eventstore/commands/reconcile"
	"payledger/httpapi/client"
	"payledger/processorsim/protocol"
	"payledger/projections/history"
)

// logged returns an event of the log.
func logged(revision uint64, actor, hash string, call history.Call) audited {
	return audited{Entry: history.Entry{Revision: revision, Actor: actor, Hash: hash, Beside: history.Beside{Processor: []history.Call{call}}}}
}

// authorizedOnce returns the facts of an authorization that a kill interrupted, and that came out
// well.
func authorizedOnce() facts {
	op := operation{kind: processor.Authorize, amount: 2500, key: "01p.1"}
	requested := logged(1, "api_key:k", "a1", history.Call{Step: history.CallRequested, Key: op.key})
	requested.Type, requested.Payment.Status, requested.Waiting = "payment.created", "PENDING", []history.Waiting{{Key: op.key}}
	answered := logged(2, "processor:ADYEN", "b2", history.Call{
		Step: history.CallAnswered, Key: op.key, Answer: &history.CallAnswer{TransactionID: "adyen_1"},
	})
	answered.Type, answered.Payment.Status = "payment.authorized", "AUTHORIZED"
	authorized := hook{"PAYMENT.STATUS", "AUTHORIZED"}
	return facts{
		name: processor.Adyen, payment: "01p", payments: 1, webhooks: []webhook{about("01p", authorized)}, deliveries: 1,
		findings: []*finding{{
			expectation: expectation{
				operation: op, requested: "payment.created", outcome: "payment.authorized", before: "PENDING", status: "AUTHORIZED",
				hook: authorized, known: processor.Known,
			},
			disk: []audited{requested}, open: 1, after: "AUTHORIZED",
			repeat: &client.Error{Status: http.StatusConflict, ErrorID: client.IdempotencyKeyAlreadyExists, PaymentID: "01p"},
			calls:  []call{{key: op.key, answer: processor.Lookup{State: processor.Known}}},
		}},
		log:      []audited{requested, answered},
		books:    []protocol.Line{booked("01p.1", "adyen_1")},
		compared: comparison{Compared: reconcile.Counts{Payments: 1, Operations: 1, Records: 1}},
	}
}

func about(payment string, h hook) (w webhook) {
	w.EventType, w.Payment.ID, w.Payment.Status = h.eventType, payment, h.status
	return w
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
		{"a second webhook", func(f *facts) { f.webhooks = append(f.webhooks, f.webhooks[0]) }, "Nothing was doubled"},
		{"a webhook about another payment", func(f *facts) { f.webhooks = append(f.webhooks, about("01q", f.findings[0].hook)) }, "Nothing was doubled"},
		{"only a webhook about another payment", func(f *facts) { f.webhooks[0].Payment.ID = "01q" }, "Nothing was lost"},
		{"another webhook", func(f *facts) { f.webhooks[0].Payment.Status = "SETTLED" }, "Nothing was lost"},
		{"no webhook", func(f *facts) { f.webhooks = nil }, "Nothing was lost"},
		{"a webhook without a right signature", func(f *facts) { f.unverified = 1 }, "Nothing was lost"},
		{"a webhook that only the service knows", func(f *facts) { f.deliveries = 2 }, "Nothing was lost"},
		{"no repeat", func(f *facts) { f.findings[0].repeat = nil }, "Nothing was doubled"},
		{"a repeat that was done", func(f *facts) { f.findings[0].repeat = &client.Error{Status: 200} }, "Nothing was doubled"},
		{"a repeat with another refusal", func(f *facts) { f.findings[0].repeat.ErrorID = "PaymentError" }, "Nothing was doubled"},
		{"a repeat without the payment", func(f *facts) { f.findings[0].repeat.PaymentID = "" }, "Nothing was doubled"},
		{"a second outcome", func(f *facts) { f.log = append(f.log, f.log[1]) }, "Nothing was doubled"},
		{"a lost event", func(f *facts) { f.log = f.log[1:] }, "Nothing was lost, Nothing was doubled"},
		{"a changed event", func(f *facts) { f.log[0].Hash = "c3" }, "Nothing was lost"},
		{"an outcome before it was known", func(f *facts) { f.findings[0].disk = f.log }, "Nothing was guessed"},
		{"no outcome", func(f *facts) { f.log = f.log[:1] }, "Nothing was guessed, Nothing was lost, Nothing was doubled"},
		{"an outcome that the processor never gave", func(f *facts) { f.books[0].ProcessorTransactionID = "adyen_9" }, "Nothing was guessed"},
		{"an outcome by the service itself", func(f *facts) { f.log[1].Actor = "process:recovery" }, "Nothing was guessed"},
		{"no kill", func(f *facts) { f.findings = nil }, "Nothing was guessed, Nothing was doubled, The books agree"},
		{"nothing on the disk", func(f *facts) { f.findings[0].disk = nil }, "Nothing was guessed"},
		{"another status on the disk", func(f *facts) { f.findings[0].disk[0].Payment.Status = "AUTHORIZED" }, "Nothing was guessed"},
		{"another event on the disk", func(f *facts) { f.findings[0].disk[0].Type = "payment.declined" }, "Nothing was guessed"},
		{"nothing open on the disk", func(f *facts) { f.findings[0].disk[0].Waiting = nil }, "Nothing was guessed"},
		{"another operation open on the disk", func(f *facts) { f.findings[0].disk[0].Waiting[0].Key = "01p.9" }, "Nothing was guessed"},
		{"nothing open for reconcile", func(f *facts) { f.findings[0].open = 0 }, "Nothing was guessed"},
		{"no question", func(f *facts) { f.findings[0].calls = nil }, "Nothing was guessed"},
		{"an act before the question", func(f *facts) { f.findings[0].calls[0].send = true }, "Nothing was guessed"},
		{"an act after the answer", func(f *facts) { f.findings[0].calls = append(f.findings[0].calls, call{send: true}) }, "Nothing was guessed"},
		{"another answer", func(f *facts) { f.findings[0].calls[0].answer.State = processor.Unseen }, "Nothing was guessed"},
		{"no act although it was never seen", func(f *facts) {
			f.findings[0].known, f.findings[0].calls[0].answer.State = processor.Unseen, processor.Unseen
		}, "Nothing was guessed"},
		{"another status at the end", func(f *facts) { f.findings[0].after = "PENDING" }, "Nothing was lost"},
		{"another event in the log", func(f *facts) { f.log[1].Type = "payment.declined" }, "Nothing was doubled"},
		{"a difference", func(f *facts) { f.compared.Differences = make([]reconcile.Difference, 1) }, "The books agree"},
		{"an entry more in the books", func(f *facts) { f.compared.Compared.Records = 2 }, "The books agree"},
		{"an open operation", func(f *facts) { f.compared.Compared.Open = 1 }, "The books agree"},
		{"a difference in the story", func(f *facts) { f.differences = []error{errors.New("late")} }, "Everything went as expected"},
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

// TestDifferencesReachTheVerdict: a difference from the expected does not end the story; a chapter
// that breaks off ends all but the last one. An interruption, and a story without a processor, end
// it at once.
func TestDifferencesReachTheVerdict(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	plays := func(name string, of processor.Name, err, differs error) chapter[*Crashes] {
		return chapter[*Crashes]{name, func(c *Crashes, _ context.Context) error {
			c.facts.name = of
			c.expect(differs)
			if err == nil && name == "interrupted" {
				interrupt()
				return ctx.Err()
			}
			return err
		}}
	}
	late, lost := errors.New("late"), errors.New("lost")
	first, last := plays("first", "", nil, nil), plays("last", processor.Adyen, nil, nil)
	for _, c := range []struct {
		name       string
		chapters   []chapter[*Crashes]
		passed     string
		fails      string // the story's error before the verdict
		difference string // the difference in the verdict
	}{
		{"all well", []chapter[*Crashes]{first, plays("a", processor.Adyen, nil, nil), last}, "first a last", "", ""},
		{"a difference", []chapter[*Crashes]{first, plays("a", processor.Adyen, nil, late), plays("b", processor.Adyen, nil, nil), last}, "first b last", "", "late"},
		{"a broken chapter", []chapter[*Crashes]{first, plays("a", processor.Adyen, lost, nil), plays("b", processor.Adyen, nil, nil), last}, "first last", "", "chapter 2 broke off: lost"},
		{"broken without a processor", []chapter[*Crashes]{first, plays("a", "", lost, nil), last}, "first", "chapter 2: lost", ""},
		{"a broken end", []chapter[*Crashes]{first, plays("a", processor.Adyen, late, nil), plays("last", processor.Adyen, lost, nil)}, "first", "chapter 2 broke off: late\nchapter 3: lost", ""},
		{"interrupted", []chapter[*Crashes]{first, plays("interrupted", processor.Adyen, nil, nil), last}, "first", "chapter 2: context canceled", ""},
	} {
		var out strings.Builder
		story := &Crashes{story: &story{merchant: &merchant{out: &printer{&out}}}, facts: authorizedOnce()}
		err := story.perform(ctx, c.chapters)
		var passed []string
		for part := range strings.SplitSeq(out.String(), "\n\n   ✓ as expected") {
			passed = append(passed, part[strings.LastIndex(part, " ")+1:])
		}
		if got := strings.TrimSpace(strings.Join(passed[:len(passed)-1], " ")); got != c.passed {
			t.Errorf("%s: the chapters %q passed, expected %q", c.name, got, c.passed)
		}
		if got := fmt.Sprint(err); got != cmp.Or(c.fails, "<nil>") {
			t.Errorf("%s: the story fails with %q, expected %q", c.name, got, c.fails)
		}
		if c.fails != "" {
			continue
		}
		want := "<nil>"
		if c.difference != "" {
			want = "Everything went as expected: " + c.difference
		}
		if got := fmt.Sprint(story.facts.verdict(&printer{io.Discard})); got != want {
			t.Errorf("%s: the verdict is %q, expected %q", c.name, got, want)
		}
	}
}
