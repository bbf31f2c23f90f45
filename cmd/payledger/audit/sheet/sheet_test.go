package sheet

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"payledger/cmd/payledger/terminal"
	"payledger/domain/processor"
	"payledger/eventstore/commands/reconcile"
)

// TestSheetKeepsNothing: every difference is in the output as soon as it is known, and the whole
// output is one object.
func TestSheetKeepsNothing(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	s := &sheet{out: &out, q: reconcile.Scope{Processor: "ADYEN", To: time.Unix(0, 0)}, json: true}
	for i := range 3 {
		written := out.Len()
		if err := s.add(reconcile.Difference{Kind: reconcile.MissingHere, ID: "op"}); err != nil || out.Len() == written {
			t.Errorf("difference %d waits: %v", i, err)
		}
	}
	if err := s.end(reconcile.Counts{Differences: 3}); err != nil || !json.Valid([]byte(out.String())) {
		t.Errorf("%v: %s", err, out.String())
	}
}

// TestOneProgress: the comparisons with all processors have one progress, from nothing to the
// whole. It never goes back, has one total, and names the processor whose turn it is.
func TestOneProgress(t *testing.T) {
	t.Parallel()
	s, last := &Sheets{Of: 3}, uint64(0)
	for _, processor := range []processor.Name{processor.Adyen, processor.Stripe, processor.Worldpay} {
		s.begun++
		for _, p := range []reconcile.Progress{
			{Counts: reconcile.Counts{Payments: 4}, Total: 10}, {Counts: reconcile.Counts{Payments: 10}, Total: 10}, {Counts: reconcile.Counts{Payments: 10, Records: 7, Disputes: 1}, Books: true},
		} {
			now := s.progress(reconcile.Scope{Processor: processor}, p)
			if now.done < last || now.of != 30 || !strings.HasPrefix(now.text, string(processor)) || strings.Contains(now.text, "8 entries of its books") != p.Books {
				t.Errorf("%+v after %d", now, last)
			}
			last = now.done
		}
	}
	if last != 30 {
		t.Errorf("it ends at %d of 30", last)
	}
}

// TestIncompleteSheets: the output is whole JSON, also if comparisons end early. The objects of
// these have the error.
func TestIncompleteSheets(t *testing.T) {
	t.Parallel()
	broken := errors.New("the books are \"closed\"")
	ends := func(differences int, err error) Comparison {
		return func(_ context.Context, _ reconcile.Scope, report func(reconcile.Difference) error, _ func(reconcile.Progress)) (reconcile.Counts, error) {
			for range differences {
				if err := report(reconcile.Difference{Kind: reconcile.MissingHere, ID: "op"}); err != nil {
					return reconcile.Counts{}, err
				}
			}
			return reconcile.Counts{Differences: differences}, err
		}
	}
	type object struct {
		Differences []any
		Compared    *reconcile.Counts
		Error       string
	}
	comparisons := []Comparison{ends(0, broken), ends(2, broken), ends(0, nil), ends(1, nil)}
	for _, list := range []bool{true, false} {
		for first := range comparisons {
			rest := comparisons[first:]
			if !list {
				rest = rest[:1]
			}
			var out strings.Builder
			s := &Sheets{Out: &out, JSON: true, List: list, Of: len(rest), Bar: terminal.NewBar(io.Discard)}
			for _, compare := range rest {
				if err := s.Compare(t.Context(), reconcile.Scope{Processor: "ADYEN"}, compare); err != nil && !errors.Is(err, broken) {
					t.Fatal(err)
				}
			}
			err := s.End()
			text := out.String()
			if !list {
				text = "[" + text + "]"
			}
			var all []object
			if err = errors.Join(err, json.Unmarshal([]byte(text), &all)); err != nil || len(all) != len(rest) {
				t.Fatalf("%v: %s", err, text)
			}
			for i, one := range all {
				incomplete := first+i < 2
				if (one.Error == broken.Error()) != incomplete || (one.Compared == nil) != incomplete || len(one.Differences) != []int{0, 2, 0, 1}[first+i] {
					t.Errorf("comparison %d is %+v", first+i, one)
				}
			}
		}
	}
}

// TestHarmlessSheet: no text of a processor changes the table on a terminal.
func TestHarmlessSheet(t *testing.T) {
	t.Parallel()
	const nasty = "op\r\n\u202e\x1b[2J\t1"
	var out strings.Builder
	s := &sheet{out: &out}
	side := &reconcile.Side{MerchantID: nasty, TransactionID: nasty, State: nasty, Currency: nasty}
	for _, kind := range []reconcile.Kind{reconcile.MissingHere, reconcile.MissingThere, reconcile.OtherMerchant, reconcile.OtherTransaction, reconcile.Unreadable} {
		d := reconcile.Difference{Kind: kind, Payment: nasty, Operation: "dispute", Key: nasty, ID: nasty, Dispute: nasty, Here: side, There: side}
		if err := s.add(d); err != nil {
			t.Fatal(err)
		}
	}
	if text := out.String(); strings.ContainsAny(text, "\r\u202e\x1b\t") || strings.Count(text, "\n") != 1+2*5 {
		t.Errorf("%q", text)
	}
}

// sheetTable is the printed table with a row of every kind.
const sheetTable = `
DIFFERENCE         PAYMENT                         OPERATION  KEY OR ID                           HERE                        THERE
MISSING_HERE       01payment                       capture    01payment.3                         -                           SUCCEEDED 25.00 EUR
  → Somebody acted at the processor without this service. Find out who, and do not repeat it here: the service records it when its next own operation on the payment does not succeed.
MISSING_THERE      01payment                       refund     01payment.4                         SUCCEEDED 1250 JPY          -
  → Do not rely on this refund yet: the processor has no record of it. Ask the processor about 01payment.4, with the output of ` + "`" + `payledger history 01payment --raw` + "`" + ` as evidence.
OTHER_AMOUNT       01payment                       adjust     01payment.5                         SUCCEEDED 25.00 EUR         SUCCEEDED 1250 JPY
  → Ask the processor about the amount of 01payment.5 that really moved. If the processor is right, correct the rest with a refund or a further capture.
OTHER_STATE        01payment                       dispute    dp_1                                DISPUTE OPEN 25.00 EUR      DISPUTE LOST 25.00 EUR
  → Read dispute dp_1 at the processor now, for its deadline. The service asks for lost notifications every --dispute-lookup; if the difference stays, read the service's log for the payment.
OTHER_TRANSACTION  01payment                       refund     op_7                                tx_1                        tx_2
  → Do not capture, refund or cancel payment 01payment until the processor has named the right transaction: the next operation would affect the other one.
OTHER_MERCHANT     01payment                       void       01payment.8                         m_1                         m_2
  → The money is at another merchant account. Ask the processor to move it, and compare the processorMerchantId at GET /management/processors.
UNFIT_ANSWER       01payment                       capture    01payment.9                         SUCCEEDED 25.00 EUR         SUCCEEDED 1250 JPY
  → The ledger takes no answer about another payment, operation, currency or amount, so the outcome of 01payment.9 stays as it is here. Ask the processor what really moved, and have its connector mended: the service looks the outcome up again by itself.
UNREADABLE         01payment                                                                      -                           -
  → The processor's list of the operations of this payment has an entry that breaks the protocol, so the payment is not compared. Have the processor's connector mended (GET …/operations?reference=01payment shows the entry), then compare again.
UNREADABLE         01payment                       dispute                                        -                           -
  → The processor's list of disputes has a notification about this payment that breaks the protocol, so its disputes are not compared. Have the processor's connector mended (GET …/disputes?reference=01payment shows the notification), then compare again. Read the dispute at the processor now, for its deadline.
9 differences. Compared with STRIPE: 7 payments of the ledger with 6 operations there, 5 entries of its books, and 4 notifications about disputes; 3 have no answer yet, 2 were too fresh to judge.
`

// TestSheetTable: each kind of difference shows the compared values of both sides, with the decimal
// places of the currency.
func TestSheetTable(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	s := &sheet{out: &out, q: reconcile.Scope{Processor: "STRIPE"}, json: false}
	euros := &reconcile.Side{Amount: 2500, Currency: "EUR", State: "SUCCEEDED", MerchantID: "m_1", TransactionID: "tx_1"}
	yen := &reconcile.Side{Amount: 1250, Currency: "JPY", State: "SUCCEEDED", MerchantID: "m_2", TransactionID: "tx_2"}
	place := func(state string) *reconcile.Side {
		return &reconcile.Side{Amount: 2500, Currency: "EUR", State: state}
	}
	for _, d := range []reconcile.Difference{
		{Kind: reconcile.MissingHere, Operation: "capture", Key: "01payment.3", ID: "op_3", There: euros},
		{Kind: reconcile.MissingThere, Operation: "refund", Key: "01payment.4", Here: yen},
		{Kind: reconcile.OtherAmount, Operation: "adjust", Key: "01payment.5", ID: "op_5", Here: euros, There: yen},
		{Kind: reconcile.OtherState, Operation: "dispute", ID: "nt_6", Dispute: "dp_1", Here: place("DISPUTE OPEN"), There: place("DISPUTE LOST")},
		{Kind: reconcile.OtherTransaction, Operation: "refund", ID: "op_7", Here: euros, There: yen},
		{Kind: reconcile.OtherMerchant, Operation: "void", Key: "01payment.8", ID: "op_8", Here: euros, There: yen},
		{Kind: reconcile.UnfitAnswer, Operation: "capture", Key: "01payment.9", ID: "op_9", Here: euros, There: yen},
		{Kind: reconcile.Unreadable},
		{Kind: reconcile.Unreadable, Operation: "dispute"},
	} {
		d.Payment = "01payment"
		if err := s.add(d); err != nil {
			t.Fatal(err)
		}
	}
	err := s.end(reconcile.Counts{Payments: 7, Operations: 6, Records: 5, Disputes: 4, Open: 3, Fresh: 2, Differences: 9})
	if got := "\n" + out.String(); err != nil || got != sheetTable {
		t.Errorf("%v%s\nwant%s", err, got, sheetTable)
	}
}
