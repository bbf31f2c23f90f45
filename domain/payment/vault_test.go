package payment_test

import (
	"testing"

	"payledger/domain/payment"
	"payledger/domain/processor"
)

// TestVaults checks when the facts of a payment vault its method (D5).
func TestVaults(t *testing.T) {
	authorized := []payment.Operation{{Revision: 1, Kind: processor.Authorize, State: payment.StateSucceeded}}
	passed := append(authorized, payment.Operation{Revision: 3, Kind: processor.Complete, Parent: 1, Outcome: processor.Authenticated, State: payment.StateSucceeded})
	failed := append(authorized, payment.Operation{Revision: 3, Kind: processor.Complete, Parent: 1, Outcome: processor.AuthenticationFailed, State: payment.StateSucceeded})
	challenged := []payment.Operation{{Revision: 1, Kind: processor.Authorize, State: payment.StateSucceeded, Answers: []payment.OperationAnswer{
		{State: payment.StateAction}, {State: payment.StateSucceeded},
	}}}
	declined := []payment.Operation{{Revision: 1, Kind: processor.Authorize, State: payment.StateDeclined}}
	agreement := func(reason string) payment.Method {
		return payment.Method{VaultOnAgreement: true, FirstPaymentReason: reason}
	}
	for _, row := range []struct {
		name       string
		customer   string
		method     payment.Method
		operations []payment.Operation
		want       bool
	}{
		{"on success", "c", payment.Method{VaultOnSuccess: true}, authorized, true},
		{"without a customer", "", payment.Method{VaultOnSuccess: true}, authorized, false},
		{"declined", "c", payment.Method{VaultOnSuccess: true}, declined, false},
		{"before there is anything", "c", payment.Method{VaultOnSuccess: true}, nil, false},
		{"not asked", "c", payment.Method{}, authorized, false},
		{"challenge passed", "c", payment.Method{VaultOn3DS: true}, passed, true},
		{"challenge failed", "c", payment.Method{VaultOn3DS: true}, failed, false},
		{"challenge passed, as the processor reported", "c", payment.Method{VaultOn3DS: true}, challenged, true},
		{"no challenge", "c", payment.Method{VaultOn3DS: true}, authorized, false},
		{"recurring", "c", agreement("Recurring"), authorized, true},
		{"unscheduled", "c", agreement("Unscheduled"), authorized, true},
		{"card on file", "c", agreement("CardOnFile"), authorized, false},
	} {
		s := payment.State{CustomerID: row.customer, Method: row.method, Operations: row.operations}
		if got := s.Vaults(); got != row.want {
			t.Errorf("%s: %t", row.name, got)
		}
		if n := len(row.operations); n > 1 { // the completion left the state
			s.Operations, s.Past = row.operations[:n-1], s.Past.Then(9, payment.Finished{Operations: row.operations[n-1:]})
			if got := s.Vaults(); got != row.want {
				t.Errorf("%s, and left: %t", row.name, got)
			}
		}
	}
}

// TestCardTokenType: an authorization was made with what the processor says, else with the number,
// or with the token that is all the ledger knows (§2.1). A refund has that of its authorization.
func TestCardTokenType(t *testing.T) {
	first := payment.Operation{Revision: 1, Kind: processor.Authorize, State: payment.StateFailed, CardTokenType: processor.ProcessorToken}
	second := payment.Operation{Revision: 2, Kind: processor.Authorize, State: payment.StateSucceeded}
	refund := payment.Operation{Revision: 4, Kind: processor.Refund}
	number := payment.State{Revision: 4, Operations: []payment.Operation{first, second, refund}}
	token := number
	token.Method.Processor = processor.Stripe
	for _, row := range []struct {
		s    payment.State
		op   payment.Operation
		want processor.CardTokenType
	}{
		{number, first, processor.ProcessorToken}, {number, second, processor.CardPAN}, {number, refund, processor.CardPAN},
		{number, payment.Operation{}, processor.CardPAN}, {token, second, processor.ProcessorToken}, {token, refund, processor.ProcessorToken},
	} {
		if got := row.s.CardTokenType(row.op); got != row.want {
			t.Errorf("%+v: %s, want %s", row.op, got, row.want)
		}
	}
	for _, m := range []payment.Method{{Vaulted: true}, {VaultOnSuccess: true}, {VaultOn3DS: true}, {VaultOnAgreement: true}} {
		if s := (payment.State{CustomerID: "c", Method: m}); !s.Stores() {
			t.Errorf("%+v is stored for nobody", m)
		}
		if s := (payment.State{Method: m}); s.Stores() {
			t.Errorf("%+v is stored without a customer", m)
		}
	}
	if (payment.State{CustomerID: "c"}).Stores() {
		t.Error("a card that pays once is stored")
	}
}
