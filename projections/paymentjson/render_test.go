package paymentjson

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
)

// customer is a person with all fields set.
var customer = domain.Personal{
	CardholderName: "Ada Byron",
	Customer: &domain.Customer{
		Email: "ada@example.com", MobileNumber: "+441234567890", FirstName: "Ada", LastName: "Byron",
		BillingAddress: &domain.Address{AddressLine1: "1 Main Street", City: "London", CountryCode: "GB", PostalCode: "W1A 1AA"},
	},
}

func testOrder() *domain.Order {
	two := int64(2)
	return &domain.Order{CountryCode: "GB", LineItems: []domain.LineItem{{ItemID: "book-1", Name: "A book", Amount: 500, Quantity: &two, ProductType: "PHYSICAL"}}}
}

// whole is a payment with every optional field, right after its creation.
func whole(t *testing.T) payment.State {
	t.Helper()
	c := createCommand(start, 1)
	c.Order = testOrder()
	c.Method.PaymentType, c.Method.FirstPaymentReason = "ECOMMERCE", "CardOnFile"
	e, err := payment.DecideCreate(payment.State{}, c)
	if err != nil {
		t.Fatal(err)
	}
	return payment.Evolve(payment.State{}, e)
}

func answered(t *testing.T, s payment.State, a processor.Answer) payment.State {
	t.Helper()
	e, err := payment.DecideAnswer(s, payment.RecordAnswer{
		At: start.Add(250_000_000), EventID: "33333333-0000-4000-8000-000000000001", Request: s.Authorization().Revision, Answer: a,
	})
	if err != nil {
		t.Fatal(err)
	}
	return payment.Evolve(s, e)
}

// TestPaymentJSON compares every shape of the Payment JSON of this build with a reviewed file
// (§2.1–§2.4, D6, D17).
func TestPaymentJSON(t *testing.T) {
	created := whole(t)
	bare := created
	bare.Past, bare.CustomerID, bare.Metadata, bare.Method.Descriptor, bare.Method.PaymentType = nil, "", nil, "", ""
	bare.Method.FirstPaymentReason, bare.Method.AnalyticsID = "", ""
	authorized := answered(t, created, func() processor.Answer { a := approved(); a.ThreeDS = "AUTH_SUCCESS"; return a }())
	declined := answered(t, created, processor.Answer{State: processor.Declined, ProcessorTransactionID: "ptx-2", ProcessorEventID: "pev-2", Code: "51", Message: "Insufficient funds"})
	expanded := Options{Events: true}
	for _, c := range []struct {
		name     string
		state    payment.State
		personal domain.Personal
		options  Options
	}{
		{"requested", created, customer, Options{}},
		{"requested_expanded", created, customer, expanded},
		{"bare", bare, domain.Personal{}, Options{}},
		{"authorized", authorized, customer, Options{}},
		{"authorized_expanded_first6", authorized, customer, Options{Events: true, First6Digits: true}},
		{"authorized_webhook", authorized, customer, Options{Webhook: true}},
		{"authorized_erased", authorized, domain.Personal{}, Options{}},
		{"declined", declined, customer, expanded},
		{"declined_webhook", declined, customer, Options{Webhook: true}},
		{"rejected", answered(t, created, processor.Answer{State: processor.Failed, Code: processor.CodeRejected, Message: "blocked by a risk rule"}), customer, expanded},
		{"failed", answered(t, created, processor.Answer{State: processor.Failed, Code: processor.CodeFenced, Message: "not received in time"}), customer, expanded},
		{"timed_out", payment.Evolve(created, payment.AuthorizationTimedOut{NoAnswer: payment.NoAnswer{At: start.Add(90e9), Request: 1}}), customer, expanded},
		{"processor_pending", answered(t, created, processor.Answer{State: processor.Pending, ProcessorTransactionID: "ptx-4", ProcessorEventID: "pev-4"}), customer, expanded},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := json.MarshalIndent(Render(c.state, c.personal, c.options), "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden(t, filepath.Join("testdata", "payment_"+c.name+".json"), append(got, '\n'))
		})
	}
}

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; got\n%s", path, got)
	}
}

// TestRenderChangesNothing: the same state renders the same, and stays as it was.
func TestRenderChangesNothing(t *testing.T) {
	s := answered(t, whole(t), approved())
	before, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	first := Render(s, customer, Options{Events: true, First6Digits: true})
	first.PaymentMethod.PaymentMethodData.BinData.Network = "OTHER"
	*first.PaymentMethod.PaymentMethodData.First6Digits = "000000"
	first.Transactions[0].Amount = 0
	if after, err := json.Marshal(s); err != nil || !bytes.Equal(before, after) {
		t.Errorf("rendering changed the state (%v)\n%s\n%s", err, before, after)
	}
}

// TestTime checks that dates are written in UTC with six digits, whatever their original form (D1).
func TestTime(t *testing.T) {
	for in, want := range map[string]string{
		`"2026-03-14T10:26:53+01:00"`:      `"2026-03-14T09:26:53.000000Z"`,
		`"2026-03-14T09:26:53.123456789Z"`: `"2026-03-14T09:26:53.123456Z"`,
		`"2026-03-14T09:26:53.100000Z"`:    `"2026-03-14T09:26:53.100000Z"`,
	} {
		var at Time
		if err := json.Unmarshal([]byte(in), &at); err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal(at); err != nil || string(got) != want {
			t.Errorf("%s became %s (%v), want %s", in, got, err, want)
		}
	}
	var at Time
	if err := json.Unmarshal([]byte(`"yesterday"`), &at); err == nil || !strings.Contains(err.Error(), "yesterday") {
		t.Errorf("yesterday is read as %v, %v", at, err)
	}
}

// TestCardTokenType: the payment shows with what its newest authorization was made, and each try
// its own (§2.1, §2.3).
func TestCardTokenType(t *testing.T) {
	of := func(kind processor.CardTokenType) processor.Answer {
		a := approved()
		a.CardTokenType = kind
		return a
	}
	for _, row := range []struct {
		answer    processor.Answer
		want      processor.CardTokenType
		tokenized bool
	}{
		{of(""), processor.CardPAN, false},
		{of(processor.ProcessorToken), processor.ProcessorToken, false},
		{of(processor.NetworkToken), processor.NetworkToken, true},
	} {
		p := Render(answered(t, whole(t), row.answer), customer, Options{})
		if p.CardTokenType != row.want || p.Transactions[0].CardTokenType != row.want || p.PaymentMethod.PaymentMethodData.IsNetworkTokenized != row.tokenized {
			t.Errorf("%s, %s, %v, want %s", p.CardTokenType, p.Transactions[0].CardTokenType, p.PaymentMethod.PaymentMethodData.IsNetworkTokenized, row.want)
		}
	}
}
