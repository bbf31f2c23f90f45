package condition_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/domain/workflow"
	"payledger/eventstore/commands/workflows/condition"
	"payledger/projections/paymentjson"
)

type event struct {
	Type     string `json:"type"`
	Sequence uint64 `json:"sequence"`
}

func compiler(t testing.TB) *condition.Compiler {
	t.Helper()
	variables := map[string]reflect.Type{"payment": reflect.TypeFor[paymentjson.Payment](), "event": reflect.TypeFor[event]()}
	c, err := condition.NewCompiler(variables, []string{"payment.customer", "payment.paymentMethod.paymentMethodData.cardholderName"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func compile(t testing.TB, text string) *condition.Condition {
	t.Helper()
	made, faults := compiler(t).Compile(text)
	if faults != nil {
		t.Fatalf("%s: %v", text, faults)
	}
	return made
}

// sample is an authorized payment of 25.00 EUR.
func sample() condition.Values {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	p := paymentjson.Payment{
		ID: "01sample", Date: paymentjson.Time{Time: at}, DateUpdated: paymentjson.Time{Time: at}, Status: payment.StatusAuthorized,
		OrderID: "order-1", CurrencyCode: "EUR", Amount: 2500,
		PaymentMethod: paymentjson.PaymentMethod{PaymentMethodType: "PAYMENT_CARD", PaymentMethodData: paymentjson.CardData{
			Last4Digits: "1111", Network: "VISA", CardholderName: "Ada Lovelace", BinData: processor.BinData{IssuerCountryCode: "FR"},
		}},
		Transactions: []paymentjson.Transaction{{TransactionType: "SALE", Amount: 2500, ProcessorName: processor.Adyen}},
		Customer:     &paymentjson.Customer{Email: "ada@example.com", FirstName: "Ada"},
		Metadata:     domain.Metadata{"vip": true, "tier": int64(3), "note": "gift"},
		RiskData:     &paymentjson.RiskData{CVVCheck: &paymentjson.CVVCheck{Result: "NOT_MATCHED"}},
	}
	return condition.Values{"payment": &p, "event": event{"PAYMENT.STATUS", 2}}
}

// TestHolds checks that conditions read the values of the payment's JSON.
func TestHolds(t *testing.T) {
	for text, want := range map[string]bool{
		`true`: true,
		`payment.amount > 2000 && payment.amount <= 2500`:                                          true,
		`payment.currencyCode == "EUR"`:                                                            true,
		`payment.status in ["SETTLED", "SETTLING"]`:                                                false,
		`payment.riskData.cvvCheck.result == "NOT_MATCHED"`:                                        true,
		`has(payment.riskData.avsCheck)`:                                                           false,
		`has(payment.riskData) && has(payment.customer.email)`:                                     true,
		`payment.transactions.exists(t, t.processorName == "ADYEN" && t.amount == payment.amount)`: true,
		`payment.transactions[0].amount == 2500 && size(payment.transactions) == 1`:                true,
		`payment.metadata.vip && payment.metadata["tier"] > 2`:                                     true,
		`"vip" in payment.metadata && !("other" in payment.metadata)`:                              true,
		`payment.metadata.note.startsWith("g")`:                                                    true,
		`payment.paymentMethod.paymentMethodData.first6Digits == null`:                             true,
		`payment.paymentMethod.paymentMethodData.binData.issuerCountryCode != "DE"`:                true,
		`payment.customer.email.endsWith("@example.com")`:                                          true,
		`event.type == "PAYMENT.STATUS" && event.sequence == 2`:                                    true,
		`timestamp(payment.date) < timestamp("2026-03-02T00:00:00Z")`:                              true,
		`timestamp(payment.date).getHours() == 12`:                                                 true,
		`payment.orderId.matches("^order-[0-9]+$")`:                                                true,
	} {
		if got, err := compile(t, text).Holds(sample()); err != nil || got.Holds != want {
			t.Errorf("%s: %v %v", text, got.Holds, err)
		}
		if v, _ := compile(t, text).Evaluate(sample()); v.Holds != want || v.Error != "" {
			t.Errorf("%s: %+v", text, v)
		}
	}
}

// TestErrors: a condition that fails while it runs does not hold, and the error is reported (D19).
func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		`payment.statusReason.type == "ISSUER_DECLINED"`:                 "no such key: statusReason",
		`payment.metadata.missing == "x"`:                                "no such key: missing",
		`payment.metadata.note`:                                          "is not a boolean, but string",
		`payment.transactions[3].amount > 0`:                             "index out of bounds: 3",
		`payment.amount / (payment.amount - 2500) > 0`:                   "division by zero",
		`payment.metadata.note.missing == "x"`:                           "no such key: missing",
		`timestamp(payment.orderId) < timestamp("2026-01-01T00:00:00Z")`: "invalid RFC 3339 timestamp",
		`[0,1,2,3,4,5,6,7,8,9].all(a, [0,1,2,3,4,5,6,7,8,9].all(b, [0,1,2,3,4,5,6,7,8,9].all(c, [0,1,2,3,4,5,6,7,8,9].all(d, a+b+c+d >= 0))))`: "cost limit",
	} {
		v, _ := compile(t, text).Evaluate(sample())
		if v.Holds || !strings.Contains(v.Error, want) {
			t.Errorf("%s: %+v, want %q", text, v, want)
		}
	}
}

// TestFaults: a compile error is reported with its place (D19).
func TestFaults(t *testing.T) {
	for text, want := range map[string]condition.Fault{
		`payment.amout > 1`:                     {1, 8, "undefined field 'amout'"},
		"payment.amount > 1 &&\n  payment.nope": {2, 10, "undefined field 'nope'"},
		`payment.amount > "1"`:                  {1, 16, "no matching overload"},
		`payment.amount`:                        {1, 1, "must be a boolean, not int"},
		`payment.amount >`:                      {1, 17, "Syntax error"},
		`other == 1`:                            {1, 1, "undeclared reference to 'other'"},
		`dispute.type == "x"`:                   {1, 1, "undeclared reference to 'dispute'"},
		`payment == payment`:                    {1, 9, "only single values"},
		`payment.orderId.matches("[")`:          {1, 25, "invalid"},
		``:                                      {1, 1, ""},
	} {
		made, faults := compiler(t).Compile(text)
		if made != nil || len(faults) == 0 || faults[0].Line != want.Line || faults[0].Column != want.Column || !strings.Contains(faults[0].Message, want.Message) {
			t.Errorf("%q: %v, want %v", text, faults, want)
		}
	}
}

// TestSeen: the values that a condition read are reported, and personal data is not.
func TestSeen(t *testing.T) {
	v, _ := compile(t, `payment.amount > 1 && payment.metadata.tier == 3 && has(payment.riskData.cvvCheck) && `+
		`payment.customer.firstName != "" && payment.paymentMethod.paymentMethodData.cardholderName != payment.orderId`).Evaluate(sample())
	want := []workflow.Seen{
		{Path: "payment.amount", Value: "2500"}, {Path: `payment.metadata["tier"]`, Value: "3"},
		{Path: "payment.riskData.cvvCheck", Value: "(present)"}, {Path: "payment.customer.firstName", Value: "(personal)"},
		{Path: "payment.paymentMethod.paymentMethodData.cardholderName", Value: "(personal)"}, {Path: "payment.orderId", Value: "order-1"},
	}
	if !v.Holds || !slices.Equal(v.Seen, want) {
		t.Errorf("%+v", v)
	}
	leak, _ := compile(t, `{"a": true}[payment.customer.email]`).Evaluate(sample())
	if leak.Holds || leak.Error == "" || strings.Contains(leak.Error, "ada") {
		t.Errorf("an error tells %+v", leak)
	}
	long := sample()
	long["payment"].(*paymentjson.Payment).OrderID = strings.Repeat("ü", 500)
	if v, _ := compile(t, `payment.orderId == "x"`).Evaluate(long); len(v.Seen) != 1 || len(v.Seen[0].Value) > 130 {
		t.Errorf("%+v", v)
	}
}

// FuzzCompile checks that no text breaks the compiler or an evaluation, and that an evaluation
// always has the same outcome.
func FuzzCompile(f *testing.F) {
	for _, seed := range []string{
		`payment.amount > 2000`, `payment.transactions.exists(t, t.amount > 1)`, `payment.metadata.tier in [1, 3]`, `payment.amount ==`,
		`has(payment.riskData.cvvCheck) && payment.riskData.cvvCheck.result == "MATCHED"`, `"a" + payment.orderId == "b"`, `((((1))))`,
		`payment.orderId.matches("(a+)+$")`, `dyn(payment).customer`, `[payment, payment].map(p, p.amount)[0] == 1`, `{"a": payment}["a"].amount == 1`,
		`type(payment) == type(payment)`, `payment.paymentMethod.paymentMethodData.first6Digits == null`, `timestamp(payment.date) > timestamp("x")`,
	} {
		f.Add(seed)
	}
	c := compiler(f)
	f.Fuzz(func(t *testing.T, text string) {
		made, faults := c.Compile(text)
		if (made == nil) == (len(faults) == 0) {
			t.Fatalf("%q: neither compiled nor faulty: %v", text, faults)
		}
		for _, fault := range faults {
			if fault.Line < 1 || fault.Column < 1 || len(fault.Message) > 130 {
				t.Errorf("%q: %+v", text, fault)
			}
		}
		if made == nil {
			return
		}
		first, cost := made.Evaluate(sample())
		again, _ := made.Evaluate(sample())
		if cost > 2000 || strings.Contains(first.Error, "too long") {
			t.Errorf("%q costs %d: %+v", text, cost, first)
		}
		if !reflect.DeepEqual(first, again) {
			t.Errorf("%q: %+v, then %+v", text, first, again)
		}
		for _, seen := range append(first.Seen, workflow.Seen{Value: first.Error}) {
			if strings.Contains(seen.Value, "ada@example.com") || strings.Contains(seen.Value, "Lovelace") {
				t.Errorf("%q tells %+v", text, seen)
			}
		}
	})
}

// BenchmarkEvaluate is a condition of three comparisons, as simulation evaluates it.
func BenchmarkEvaluate(b *testing.B) {
	made := compile(b, `payment.amount > 2000 && payment.currencyCode == "EUR" && payment.riskData.cvvCheck.result == "NOT_MATCHED"`)
	values := sample()
	b.ReportAllocs()
	for b.Loop() {
		if got, err := made.Holds(values); !got.Holds || err != nil {
			b.Fatal(err)
		}
	}
}
