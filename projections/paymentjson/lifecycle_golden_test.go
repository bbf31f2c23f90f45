package paymentjson

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
)

// TestLifecycles compares the Payment JSON of whole lives with reviewed files (D6, D7, D10, D15).
func TestLifecycles(t *testing.T) {
	for name, lead := range lifecycles {
		t.Run(name, func(t *testing.T) {
			state := lead(t, nil).state
			shown := struct {
				Status         payment.Status    `json:"status"`
				StatusReason   *StatusReason     `json:"statusReason,omitempty"`
				RequiredAction *RequiredAction   `json:"requiredAction,omitempty"`
				Amount         domain.Amount     `json:"amount"`
				Processor      *PaymentProcessor `json:"processor"`
				Transactions   []Transaction     `json:"transactions"`
			}{}
			whole, err := json.Marshal(Render(state, customer, Options{Events: true, ActionToken: "TOKEN"}))
			if err == nil {
				err = json.Unmarshal(whole, &shown)
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.MarshalIndent(shown, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden(t, filepath.Join("testdata", "life_"+name+".json"), append(got, '\n'))
		})
	}
}

// TestTransactionsAgree checks that at every moment of every life the JSON agrees with itself and
// with the domain: one SALE per try, the newest with the payment's status; one REFUND per refund
// that was sent to a processor; confirmed amounts are those of the events; each event appears once,
// in the order of time.
func TestTransactionsAgree(t *testing.T) {
	for name, lead := range lifecycles {
		t.Run(name, func(t *testing.T) {
			lead(t, func(s payment.State) {
				p := Render(s, customer, Options{Events: true})
				for _, fault := range append(transactionFaults(s, p), eventFaults(p)...) {
					t.Errorf("revision %d: %s", s.Revision, fault)
				}
			})
		})
	}
}

func transactionFaults(s payment.State, p Payment) (faults []string) {
	kinds, asked := map[string]int{}, map[string]int{}
	var sale Transaction
	for _, tx := range p.Transactions {
		kinds[tx.Type]++
		if tx.Type == transactionSale {
			sale = tx
		}
		if tx.Type != tx.TransactionType || tx.CurrencyCode != s.Currency || tx.OrderID == "" || tx.Events == nil {
			faults = append(faults, fmt.Sprintf("a transaction is %+v", tx))
		}
	}
	for _, op := range s.Operations {
		switch {
		case op.Kind == processor.Authorize:
			asked[transactionSale]++
		case op.Kind == processor.Refund && !op.Refused:
			asked[transactionRefund]++
		}
	}
	if !maps.Equal(kinds, asked) {
		faults = append(faults, fmt.Sprintf("there are %v of %v", kinds, asked))
	}
	if sale.ProcessorStatus != s.Status() || sale.Amount != s.Amount || p.Status != s.Status() {
		faults = append(faults, fmt.Sprintf("the payment is %s, %d, its sale %s, %d", s.Status(), s.Amount, sale.ProcessorStatus, sale.Amount))
	}
	if !slices.IsSortedFunc(p.Transactions, func(a, b Transaction) int { return a.Date.Compare(b.Date.Time) }) {
		faults = append(faults, "the oldest transaction does not come first")
	}
	return faults
}

func eventFaults(p Payment) (faults []string) {
	sums, ids := map[string]domain.Amount{}, map[string]bool{}
	for _, tx := range p.Transactions {
		for _, e := range tx.Events {
			sums[e.Type] += e.Amount
			if ids[e.ID] || e.ID == "" || e.Date.IsZero() {
				faults = append(faults, fmt.Sprintf("an event is %+v", e))
			}
			ids[e.ID] = true
			failed := strings.HasSuffix(e.Type, "_FAILED") || strings.HasSuffix(e.Type, "_DECLINED")
			if failed != (e.StatusReason != nil) || failed != (e.Reason != "") {
				faults = append(faults, fmt.Sprintf("%s has the reason %q %+v", e.Type, e.Reason, e.StatusReason))
			}
			if capture := strings.HasPrefix(e.Type, "CAPTURE_"); capture != (e.Final != nil) {
				faults = append(faults, e.Type+" and final do not fit")
			}
			if refund := strings.HasPrefix(e.Type, "REFUND_"); refund != (tx.Type == transactionRefund) && e.Type != "REFUND_FAILED" {
				faults = append(faults, e.Type+" is on a "+tx.Type)
			}
		}
		if !slices.IsSortedFunc(tx.Events, func(a, b TransactionEvent) int { return a.Date.Compare(b.Date.Time) }) {
			faults = append(faults, "events are not in the order of time")
		}
	}
	if c := p.Processor; c.AmountCaptured != sums["CAPTURE_SUCCEEDED"] || c.AmountRefunded != sums["REFUND_SUCCEEDED"] {
		faults = append(faults, fmt.Sprintf("amounts %+v, events %v", c, sums))
	}
	return faults
}

// TestEventTypes: the lives show every type of transaction event that D6 knows, and no other.
func TestEventTypes(t *testing.T) {
	shown := map[string]bool{}
	for _, lead := range lifecycles {
		lead(t, func(s payment.State) {
			for _, tx := range Render(s, customer, Options{Events: true}).Transactions {
				for _, e := range tx.Events {
					shown[e.Type] = true
				}
			}
		})
	}
	want := []string{
		"ACTION_COMPLETED", "ACTION_REQUIRED", "AUTHORIZATION_ADJUSTMENT_FAILED", "AUTHORIZATION_ADJUSTMENT_SUCCEEDED",
		"AUTHORIZATION_DECLINED", "AUTHORIZATION_FAILED", "AUTHORIZATION_PENDING", "AUTHORIZATION_SUCCEEDED",
		"CANCELLATION_FAILED", "CANCELLATION_PENDING", "CANCELLATION_SUCCEEDED", "CAPTURE_FAILED", "CAPTURE_PENDING",
		"CAPTURE_SUCCEEDED", "REFUND_FAILED", "REFUND_PENDING", "REFUND_SUCCEEDED",
	}
	if got := slices.Sorted(maps.Keys(shown)); !slices.Equal(got, want) {
		t.Errorf("shown are\n%v, want\n%v", got, want)
	}
}

// TestRefusedRefund: a refund that our books refuse is an event of the sale and no refund (D7).
func TestRefusedRefund(t *testing.T) {
	l := born(t, nil, nil).authorize().capture(1000, true).ok().refund(1001, "", "")
	p := Render(l.state, customer, Options{Events: true})
	events := p.Transactions[0].Events
	newest := events[len(events)-1]
	if len(p.Transactions) != 1 || newest.Type != "REFUND_FAILED" || newest.Amount != 1001 || newest.StatusReason == nil || newest.Reason == "" {
		t.Errorf("%+v", p.Transactions)
	}
	if p.Status != payment.StatusSettled || p.Processor.AmountRefunded != 0 {
		t.Errorf("the payment is %s, refunded %d", p.Status, p.Processor.AmountRefunded)
	}
}

// TestRequiredAction: it is there only while the customer is waited for, with the token that the
// caller gave, and never in a webhook (D6, D17).
func TestRequiredAction(t *testing.T) {
	action := func(s payment.State, o Options) *RequiredAction {
		return Render(s, customer, o).RequiredAction
	}
	options := Options{ActionToken: "TOKEN"}
	l := born(t, nil, nil)
	if a := action(l.state, options); a != nil {
		t.Errorf("before: %+v", a)
	}
	l.act()
	if a := action(l.state, options); a == nil || a.Name != "3DS_AUTHENTICATION" || a.ClientToken != "TOKEN" || a.Description == "" {
		t.Errorf("required: %+v", a)
	}
	if a := action(l.state, Options{Webhook: true, ActionToken: "TOKEN"}); a != nil {
		t.Errorf("in a webhook: %+v", a)
	}
	if text, err := json.Marshal(action(l.state, Options{})); err != nil || strings.Contains(string(text), "clientToken") {
		t.Errorf("without a token: %s, %v", text, err)
	}
	l.resume(processor.Authenticated)
	if a := action(l.state, options); a != nil {
		t.Errorf("resumed: %+v", a)
	}
	l.answer(processor.Answer{State: processor.Failed, Retryable: true, Code: "technical"})
	if a := action(l.state, options); a == nil {
		t.Error("it is required again when the completion did not happen")
	}
	l.cancel("")
	if a := action(l.state, options); a != nil {
		t.Errorf("while it is cancelled: %+v", a)
	}
}
