package reconcile

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// sample is a payment at ADYEN with an operation of every sort, after a try at STRIPE.
func sample() payment.State {
	at := func(name processor.Name) payment.Target {
		return payment.Target{Processor: name, MerchantID: "m-" + string(name)}
	}
	op := func(revision uint64, kind processor.Kind, state payment.OperationState, amount int64) payment.Operation {
		o := payment.Operation{Revision: revision, Kind: kind, State: state, Target: at("ADYEN"), RequestedAt: noon, Amount: domain.Amount(amount), Parent: 2}
		if state != payment.StateUnknown {
			o.TransactionID = fmt.Sprint("tx-", revision)
		}
		return o
	}
	elsewhere := op(1, processor.Authorize, payment.StateFailed, 1000)
	elsewhere.Target = at("STRIPE")
	fenced := op(5, processor.Capture, payment.StateFailed, 50)
	fenced.Answers = []payment.OperationAnswer{{State: payment.StateFailed, Code: processor.CodeFenced}}
	refused := op(6, processor.Capture, payment.StateFailed, 5000)
	refused.Refused = true
	found := op(7, processor.Refund, payment.StateSucceeded, 100)
	found.OutOfBandID = "op-7"
	return payment.State{ID: "01p", Currency: "EUR", Amount: 1000, Operations: []payment.Operation{
		elsewhere, op(2, processor.Authorize, payment.StateSucceeded, 1000), op(3, processor.Capture, payment.StateSucceeded, 400),
		op(4, processor.Capture, payment.StatePending, 100), fenced, refused, found, op(8, processor.Void, payment.StateUnknown, 0),
	}}
}

// booksOf are the books that agree with the sample.
func booksOf(p payment.State) (list []processor.Record) {
	for _, op := range p.Operations {
		if op.Refused || op.State == payment.StateUnknown || op.Revision == 5 || op.Target.Processor != "ADYEN" {
			continue
		}
		r := processor.Record{
			ID: "op-" + string(rune('0'+op.Revision)), Processor: "ADYEN", MerchantID: "m-ADYEN", Reference: p.ID, Kind: op.Kind,
			Key: p.OperationKey(op.Revision), Amount: op.Amount, Currency: "EUR", State: processor.State(op.State), CreatedAt: noon, UpdatedAt: noon,
			Answer: processor.Answer{ProcessorTransactionID: op.TransactionID},
		}
		if op.OutOfBandID != "" {
			r.Key = "sim.7"
		}
		list = append(list, r)
	}
	return list
}

// listed returns the differences as "KIND key or id", and "KIND key id" for the second operation of
// a key.
func listed(p payment.State, records []processor.Record) (list []string) {
	say := func(d Difference) {
		name := string(d.Key)
		if name == "" {
			name = d.ID
		}
		if strings.HasSuffix(d.ID, "-again") {
			name += " " + d.ID
		}
		list = append(list, string(d.Kind)+" "+name)
	}
	for _, d := range append(missingThere(p, "ADYEN", records), repeated(p, records)...) {
		say(d)
	}
	for _, r := range records {
		for _, d := range judged(p, r, records, true) {
			say(d)
		}
	}
	slices.Sort(list)
	return list
}

// TestCompare: each kind of difference is reported as its kind, and nothing else is.
func TestCompare(t *testing.T) {
	const other = 1
	for _, c := range []struct {
		name   string
		change func(p *payment.State, books *[]processor.Record)
		want   []string
	}{
		{"the same", func(*payment.State, *[]processor.Record) {}, nil},
		{"another amount", func(_ *payment.State, b *[]processor.Record) { (*b)[other].Amount = 401 }, []string{"OTHER_AMOUNT 01p.3"}},
		{"another currency", func(_ *payment.State, b *[]processor.Record) { (*b)[other].Currency = "JPY" }, []string{"OTHER_AMOUNT 01p.3"}},
		{"another state", func(_ *payment.State, b *[]processor.Record) { (*b)[other].State = processor.Failed }, []string{"OTHER_STATE 01p.3"}},
		{"decided there", func(_ *payment.State, b *[]processor.Record) { (*b)[2].State = processor.Succeeded }, []string{"OTHER_STATE 01p.4"}},
		{"another transaction", func(_ *payment.State, b *[]processor.Record) { (*b)[other].Answer.ProcessorTransactionID = "tx-x" }, []string{"OTHER_TRANSACTION 01p.3"}},
		{"no transaction reported", func(_ *payment.State, b *[]processor.Record) { (*b)[other].Answer.ProcessorTransactionID = "" }, nil},
		{"done twice under one key", again(func(r *processor.Record) { r.Answer.ProcessorTransactionID = "tx-x" }), []string{"MISSING_HERE 01p.3 op-3-again"}},
		{"done twice, the other first", func(p *payment.State, b *[]processor.Record) {
			again(func(r *processor.Record) { r.Answer.ProcessorTransactionID = "tx-x" })(p, b)
			slices.Reverse(*b)
		}, []string{"MISSING_HERE 01p.3 op-3-again"}},
		{"done twice, in all the same", again(func(*processor.Record) {}), []string{"MISSING_HERE 01p.3 op-3-again"}},
		{"done twice, failed once", again(func(r *processor.Record) { r.State = processor.Failed }), []string{"MISSING_HERE 01p.3 op-3-again"}},
		{"another merchant", func(_ *payment.State, b *[]processor.Record) { (*b)[other].MerchantID = "m" }, []string{"OTHER_MERCHANT 01p.3"}},
		{"all of these", func(_ *payment.State, b *[]processor.Record) {
			(*b)[other].Amount, (*b)[other].State, (*b)[other].MerchantID = 1, processor.Declined, ""
		}, []string{"OTHER_AMOUNT 01p.3", "OTHER_MERCHANT 01p.3", "OTHER_STATE 01p.3"}},
		{"an answer about another amount", func(_ *payment.State, b *[]processor.Record) {
			(*b)[other].Answer.State, (*b)[other].Answer.Amount = processor.Succeeded, new(domain.Amount(401))
		}, []string{"UNFIT_ANSWER 01p.3"}},
		{"an answer about another payment, of another state", func(_ *payment.State, b *[]processor.Record) {
			(*b)[2].Answer.Reference, (*b)[2].State = "01x", processor.Succeeded
		}, []string{"UNFIT_ANSWER 01p.4"}},
		{"an answer about another currency, and another merchant", func(_ *payment.State, b *[]processor.Record) {
			(*b)[other].Answer.State, (*b)[other].Answer.Currency, (*b)[other].MerchantID = processor.Succeeded, "JPY", "m"
		}, []string{"OTHER_MERCHANT 01p.3", "UNFIT_ANSWER 01p.3"}},
		{"another kind", func(_ *payment.State, b *[]processor.Record) { (*b)[other].Kind = processor.Refund }, []string{"MISSING_HERE 01p.3", "MISSING_THERE 01p.3"}},
		{"missing there", func(_ *payment.State, b *[]processor.Record) { *b = slices.Delete(*b, 1, 2) }, []string{"MISSING_THERE 01p.3"}},
		{"found, and gone", func(_ *payment.State, b *[]processor.Record) { *b = slices.Delete(*b, 3, 4) }, []string{"MISSING_THERE op-7"}},
		{"failed here, left out there", func(p *payment.State, b *[]processor.Record) {
			p.Operations[3].State, p.Operations[3].Answers = payment.StateFailed, []payment.OperationAnswer{{State: payment.StateFailed, Code: "technical_error"}}
			*b = slices.Delete(*b, 2, 3)
		}, nil},
		{"failed here, done there", func(p *payment.State, b *[]processor.Record) {
			p.Operations[3].State, (*b)[2].State = payment.StateFailed, processor.Succeeded
		}, []string{"OTHER_STATE 01p.4"}},
		{"voided here, left out there", func(p *payment.State, b *[]processor.Record) {
			p.Operations[1].State, *b = payment.StateVoided, slices.Delete(*b, 0, 1)
		}, nil},
		{"declined here, left out there", func(p *payment.State, b *[]processor.Record) {
			p.Operations[1].State, *b = payment.StateDeclined, slices.Delete(*b, 0, 1)
		}, []string{"MISSING_THERE 01p.2"}},
		{"missing here", func(p *payment.State, _ *[]processor.Record) { p.Operations = slices.Delete(p.Operations, 2, 3) }, []string{"MISSING_HERE 01p.3"}},
		{"no such payment", func(p *payment.State, _ *[]processor.Record) { *p = payment.State{} }, []string{"MISSING_HERE 01p.2", "MISSING_HERE 01p.3", "MISSING_HERE 01p.4", "MISSING_HERE sim.7"}},
		{"not found yet", func(_ *payment.State, b *[]processor.Record) {
			*b = append(*b, processor.Record{ID: "op-9", Processor: "ADYEN", Kind: processor.Capture, Key: "sim.9", Reference: "01p", State: processor.Succeeded})
		}, []string{"MISSING_HERE sim.9"}},
		{"somebody else's failure", func(_ *payment.State, b *[]processor.Record) {
			*b = append(*b, processor.Record{ID: "op-9", Processor: "ADYEN", Kind: processor.Capture, Key: "sim.9", Reference: "01p", State: processor.Failed})
		}, nil},
		{"refused here, and there", func(_ *payment.State, b *[]processor.Record) {
			*b = append(*b, processor.Record{
				ID: "op-6", Processor: "ADYEN", MerchantID: "m-ADYEN", Kind: processor.Capture, Key: "01p.6", Reference: "01p",
				Amount: 5000, Currency: "EUR", State: processor.Succeeded,
			})
		}, []string{"OTHER_STATE 01p.6"}},
		{"unknown here, failed there", func(_ *payment.State, b *[]processor.Record) {
			*b = append(*b, processor.Record{
				ID: "op-8", Processor: "ADYEN", MerchantID: "m-ADYEN", Kind: processor.Void, Key: "01p.8", Reference: "01p", State: processor.Failed,
			})
		}, []string{"OTHER_STATE 01p.8"}},
		{"unknown here, pending there", func(_ *payment.State, b *[]processor.Record) {
			*b = append(*b, processor.Record{
				ID: "op-8", Processor: "ADYEN", MerchantID: "m-ADYEN", Kind: processor.Void, Key: "01p.8", Reference: "01p", State: processor.Pending,
			})
		}, nil},
	} {
		p := sample()
		books := booksOf(p)
		c.change(&p, &books)
		if got := listed(p, books); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, not %v", c.name, got, c.want)
		}
	}
}

// again adds a second capture under the key of the first, other as change says.
func again(change func(*processor.Record)) func(*payment.State, *[]processor.Record) {
	return func(_ *payment.State, b *[]processor.Record) {
		second := (*b)[1]
		second.ID += "-again"
		change(&second)
		*b = append(*b, second)
	}
}

// TestOnItsWay checks that only an operation without a result here and with one there may be under
// way, counted from the processor's result.
func TestOnItsWay(t *testing.T) {
	decided := noon.Add(time.Minute)
	for here, may := range map[payment.OperationState]bool{
		payment.StateRequested: true, payment.StateUnknown: true, payment.StatePending: true, payment.StateAction: true,
		payment.StateSucceeded: false, payment.StateDeclined: false,
	} {
		p := sample()
		p.Operations[2].State = here
		r := booksOf(sample())[1]
		r.State, r.UpdatedAt = processor.Failed, decided
		list := differences(p, r)
		if len(list) != 1 || list[0].Kind != OtherState || list[0].since.Equal(decided) != may || list[0].since.IsZero() == may {
			t.Errorf("%s here: %+v", here, list)
		}
	}
}

// TestStates: which states of both sides go together.
func TestStates(t *testing.T) {
	there := []processor.State{processor.Pending, processor.Succeeded, processor.Failed, processor.Declined}
	for here, fits := range map[payment.OperationState][]processor.State{
		payment.StateRequested: there[:1], payment.StateUnknown: there[:1], payment.StatePending: there[:1], payment.StateAction: there[:1],
		payment.StateSucceeded: there[1:2], payment.StateFailed: there[2:3], payment.StateDeclined: there[3:], payment.StateVoided: there[1:3],
	} {
		for _, s := range there {
			if got := sameState(payment.Operation{State: here}, s); got != slices.Contains(fits, s) {
				t.Errorf("%s here and %s there: %v", here, s, got)
			}
		}
	}
}

// TestTime: both ends belong to the time.
func TestTime(t *testing.T) {
	q := Scope{From: noon, To: noon.Add(time.Hour)}
	for after, want := range map[time.Duration]bool{-1: false, 0: true, time.Minute: true, time.Hour: true, time.Hour + 1: false} {
		if q.covers(noon.Add(after)) != want {
			t.Errorf("%s after the beginning: %v", after, !want)
		}
	}
	if !(Scope{}).covers(time.Time{}) || !(Scope{From: noon}).covers(noon.Add(1000*time.Hour)) {
		t.Error("no limit limits")
	}
}

// TestCompletions: a completion that ended with its authorization, because a message had the result
// first, is no difference if the processor lacks it, or refused it because the action had ended.
// Another refusal is one.
func TestCompletions(t *testing.T) {
	p := sample()
	p.Operations = append(p.Operations, payment.Operation{
		Revision: 9, Kind: processor.Complete, State: payment.StateSucceeded, Parent: 2, RequestedAt: noon,
		Target: payment.Target{Processor: "ADYEN", MerchantID: "m-ADYEN"},
	})
	books := booksOf(p)
	last := len(books) - 1
	if list := listed(p, books[:last]); len(list) > 0 {
		t.Errorf("without the completion: %v", list)
	}
	books[last].State, books[last].Answer = processor.Failed, processor.Answer{State: processor.Failed, Code: processor.CodeNoAction}
	if list := listed(p, books); len(list) > 0 {
		t.Errorf("a completion that came too late: %v", list)
	}
	books[last].Answer.Code = processor.CodeRejected
	if list := listed(p, books); !slices.Equal(list, []string{"OTHER_STATE 01p.9"}) {
		t.Errorf("a refused completion: %v", list)
	}
}
