package payment_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
)

// fullCreate is a command with a value in every field.
func fullCreate() payment.Create {
	return payment.Create{
		At: at, ID: "01payment", Account: "acct", OrderID: "order-1", CustomerID: "customer-1", Currency: "EUR",
		Amount: new(domain.Amount(1250)), Order: &domain.Order{LineItems: []domain.LineItem{{Amount: 1250}}},
		Metadata: domain.Metadata{"k": "v"},
		Method: payment.Method{
			Token: "01token", Type: "PAYMENT_CARD", TokenizedAt: at.Add(-time.Minute), AuthorizationType: "FINAL",
			Card: domain.NewCard("4111111111111111", "12", "2030", true),
		},
		Preferences: &domain.Preferences{AllowedNetworks: []domain.Network{domain.NetworkVisa}, Options: `{"a":1}`},
		Personal:    &domain.Sealed{Key: "secret-1", Box: []byte{1}, EmailHash: "hash-1"}, Session: "session-1", IdempotencyKey: "key-1",
		Route:       []payment.Target{{Processor: processor.Adyen, MerchantID: "m-1"}, {Processor: processor.Stripe, MerchantID: "m-2"}},
		AutoCapture: true,
	}
}

func mustDecide(t *testing.T, e payment.Event, err error) payment.Event {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestCreateLosesNothing checks that event and state have all data of the command.
func TestCreateLosesNothing(t *testing.T) {
	c := fullCreate()
	for i, v := 0, reflect.ValueOf(c); i < v.NumField(); i++ {
		if v.Field(i).IsZero() {
			t.Fatalf("the example says nothing about %s", v.Type().Field(i).Name)
		}
	}
	event, err := payment.DecideCreate(payment.State{}, c)
	e := mustDecide(t, event, err)
	wantEvent := payment.Created{
		At: c.At, ID: c.ID, Account: c.Account, OrderID: c.OrderID, CustomerID: c.CustomerID, Currency: c.Currency,
		Amount: *c.Amount, Order: c.Order, Metadata: c.Metadata, Method: c.Method, Personal: c.Personal, Preferences: c.Preferences,
		Session: c.Session, KeyHash: domain.KeyHash("acct", "key-1"), Route: c.Route, AutoCapture: true,
	}
	if d := cmp.Diff(payment.Event(wantEvent), e); d != "" {
		t.Error(d)
	}
	want := payment.State{
		ID: c.ID, Account: c.Account, Revision: 1, CreatedAt: at, UpdatedAt: at, OrderID: c.OrderID,
		CustomerID: c.CustomerID, Currency: c.Currency, Amount: *c.Amount, Metadata: c.Metadata,
		Method: c.Method, EmailHash: c.Personal.EmailHash, Session: c.Session, KeyHashes: []string{wantEvent.KeyHash}, Route: c.Route,
		AutoCapture: true, Totals: payment.Totals{Details: true},
		Operations: []payment.Operation{{
			Revision: 1, Kind: processor.Authorize, Target: c.Route[0], Amount: *c.Amount, RequestedAt: at,
			State: payment.StateRequested,
		}},
	}
	got := payment.Evolve(payment.State{}, e)
	left, _ := got.NewestFinished()
	if d := cmp.Diff(payment.Finished{Details: &payment.Details{Order: c.Order, Personal: c.Personal, Preferences: c.Preferences}}, left); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(*left.Details, got.Details()); d != "" {
		t.Error(d)
	}
	if got.Past = nil; got.HasPast() || got.Details() != (payment.Details{}) {
		t.Error("the details are still in the state")
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}

	c.IdempotencyKey = ""
	event, err = payment.DecideCreate(payment.State{}, c)
	if s := payment.Evolve(payment.State{}, mustDecide(t, event, err)); s.KeyHashes != nil {
		t.Errorf("without a key, keys %v are remembered", s.KeyHashes)
	}
}

// TestAnswersAddUp checks that a value in an answer stays in the state if a later answer lacks it.
func TestAnswersAddUp(t *testing.T) {
	s := payment.Evolve(payment.State{}, mustCreate(t))
	s.AutoCapture = false
	bin, risk := &processor.BinData{Network: domain.NetworkVisa}, &processor.Risk{CVVResult: "MATCHED"}
	record := func(n int, a processor.Answer) {
		t.Helper()
		event, err := payment.DecideAnswer(s, payment.RecordAnswer{
			At: at.Add(time.Duration(n) * time.Second), EventID: string(rune('a' + n)), Request: 1, Answer: a,
		})
		s = payment.Evolve(s, mustDecide(t, event, err))
	}
	record(1, processor.Answer{
		State: processor.ActionRequired, ProcessorTransactionID: "t-1", ProcessorEventID: "p-1", Code: "c-1", Message: "wait",
		Bin: bin, Risk: risk, ThreeDS: "CHALLENGE",
	})
	record(2, processor.Answer{State: processor.Succeeded, ProcessorEventID: "p-2", Code: "00", AuthorizationCode: "A1"})
	want := payment.Operation{
		Revision: 1, Kind: processor.Authorize, Target: s.Route[0], Amount: 1250, RequestedAt: at,
		State: payment.StateSucceeded, TransactionID: "t-1", AuthorizationCode: "A1",
		Answers: []payment.OperationAnswer{
			{EventID: "b", At: at.Add(time.Second), State: payment.StateAction, ProcessorEventID: "p-1", Code: "c-1", Message: "wait"},
			{EventID: "c", At: at.Add(2 * time.Second), State: payment.StateSucceeded, ProcessorEventID: "p-2", Code: "00"},
		},
	}
	if d := cmp.Diff(want, *s.Authorization()); d != "" {
		t.Error(d)
	}
	if s.Bin != bin || s.Risk != risk || s.ThreeDS != "CHALLENGE" {
		t.Errorf("card data %v, risk %v, 3-D Secure %q", s.Bin, s.Risk, s.ThreeDS)
	}
}

func mustCreate(t *testing.T) payment.Event {
	t.Helper()
	event, err := payment.DecideCreate(payment.State{}, fullCreate())
	return mustDecide(t, event, err)
}

// TestAnswerNotUnderstood checks that only a stated failure is a failure; any other answer leaves
// the outcome unknown, and look-ups go on (D8).
func TestAnswerNotUnderstood(t *testing.T) {
	s := payment.Evolve(payment.State{}, mustCreate(t))
	for _, state := range []processor.State{"", "failed", "CANCELLED", "UNSEEN"} {
		event, err := payment.DecideAnswer(s, payment.RecordAnswer{At: at, Request: 1, Answer: processor.Answer{State: state}})
		if event != nil || !errors.Is(err, processor.ErrUnknown) {
			t.Errorf("an answer in state %q: %v, %v", state, event, err)
		}
	}
}

// TestStatusReasons is the truth table of StatusReason, row by row (D6, D8).
func TestStatusReasons(t *testing.T) {
	op := func(to payment.OperationState, answers ...payment.OperationAnswer) payment.State {
		o := authorize(1, to)
		o.Answers = answers
		return with(o)
	}
	answer := func(to payment.OperationState, code string, failure domain.Failure) payment.OperationAnswer {
		return payment.OperationAnswer{State: to, Code: code, Message: "in its words", Failure: failure}
	}
	failed := func(failure domain.Failure) payment.State {
		return op(payment.StateFailed, answer(payment.StatePending, "", ""), answer(payment.StateFailed, "x", failure))
	}
	because := func(failure domain.Failure) *payment.Reason {
		return &payment.Reason{Type: failure, ResultCode: "x", ResultMessage: "in its words"}
	}
	pending := answer(payment.StatePending, "wait", "")
	rows := []struct {
		name  string
		state payment.State
		want  *payment.Reason
	}{
		{"not created", payment.State{}, nil},
		{"requested", op(payment.StateRequested), nil},
		{"unknown", op(payment.StateUnknown), &payment.Reason{Type: domain.GatewayTimeout}},
		{"pending", op(payment.StatePending, pending), nil},
		{"its customer is needed", op(payment.StateAction, pending), nil},
		{"voided", op(payment.StateVoided, pending), nil},
		{"a later operation is unknown", with(authorize(1, payment.StateSucceeded), job(2, processor.Refund, 5, payment.StateUnknown)), &payment.Reason{Type: domain.GatewayTimeout}},
		{"succeeded", op(payment.StateSucceeded, pending, answer(payment.StateSucceeded, "00", "")), nil},
		{"declined", op(payment.StateDeclined, pending, answer(payment.StateDeclined, "51", "")), &payment.Reason{
			Type:       domain.IssuerDeclined,
			Decline:    processor.Decline{Type: "SOFT_DECLINE", Code: "INSUFFICIENT_FUNDS", AdvisedAction: "RETRY_LATER"},
			ResultCode: "51", ResultMessage: "in its words",
		}},
		{"rejected", failed(domain.GatewayRejected), because(domain.GatewayRejected)},
		{"fenced", failed(domain.GatewayTimeout), because(domain.GatewayTimeout)},
		{"could not", failed(domain.ApplicationError), because(domain.ApplicationError)},
	}
	for _, row := range rows {
		if d := cmp.Diff(row.want, row.state.StatusReason()); d != "" {
			t.Errorf("%s: %s", row.name, d)
		}
	}
}

// TestVaultingNeedsCustomer checks that vaulting needs a customer (D5).
func TestVaultingNeedsCustomer(t *testing.T) {
	for _, method := range []payment.Method{{VaultOnSuccess: true}, {VaultOn3DS: true}, {VaultOnAgreement: true}} {
		amount := domain.Amount(1)
		c := payment.Create{OrderID: "o", Currency: "EUR", Amount: &amount, Method: method, Route: []payment.Target{{}}}
		_, err := payment.DecideCreate(payment.State{}, c)
		if domain.ReasonOf(err) != domain.ReasonRequestValidation {
			t.Errorf("%+v without a customer: %v", method, err)
		}
		c.CustomerID = "customer"
		if _, err := payment.DecideCreate(payment.State{}, c); err != nil {
			t.Errorf("%+v with a customer: %v", method, err)
		}
	}
}

// TestAmountIsOne checks that a negative amount, one above MaxAmount and an unknown currency create
// no payment (§8).
func TestAmountIsOne(t *testing.T) {
	for _, c := range []struct {
		amount   domain.Amount
		currency domain.Currency
		made     bool
	}{
		{0, "EUR", true}, {domain.MaxAmount, "JPY", true},
		{-1, "EUR", false}, {domain.MaxAmount + 1, "EUR", false}, {1, "EURO", false},
	} {
		_, err := payment.DecideCreate(payment.State{}, payment.Create{
			OrderID: "o", Currency: c.currency, Amount: &c.amount, Route: []payment.Target{{}},
		})
		if (err == nil) != c.made {
			t.Errorf("%d %s: %v", c.amount, c.currency, err)
		}
	}
}
