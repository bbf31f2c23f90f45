package api_test

import (
	"errors"
	"strings"
	"testing"

	"payledger/deploy/connectors/stripe/double"
	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/connector"
)

// TestFacts: an approved authorization has what Stripe says about card and checks.
func TestFacts(t *testing.T) {
	r := newRig(t)
	a := r.send(authorization("4242424242424242")).Answer
	want := processor.BinData{Network: domain.NetworkVisa, IssuerCountryCode: "US", AccountFundingType: "CREDIT", AccountNumberType: "PRIMARY_ACCOUNT_NUMBER"}
	if a.Bin == nil || *a.Bin != want {
		t.Errorf("%+v", a.Bin)
	}
	if risk := (processor.Risk{FraudSource: "STRIPE_RADAR", FraudPost: "ACCEPT", CVVSource: "STRIPE", CVVResult: "MATCHED"}); a.Risk == nil || *a.Risk != risk {
		t.Errorf("%+v", a.Risk)
	}
	if a.AuthorizationCode != "123456" || a.ProcessorEventID == "" || a.At.IsZero() {
		t.Errorf("%+v", a)
	}
}

// TestChecks: the results of the checks of the security code and of the address, each with its
// source, in a payment and in a verification.
func TestChecks(t *testing.T) {
	results := map[string]any{"cvc_check": "fail", "address_line1_check": "pass", "address_postal_code_check": "unchecked"}
	want := processor.Risk{
		CVVSource: "STRIPE", CVVResult: "NOT_MATCHED", AVSSource: "STRIPE", AVSStreet: "MATCHED", AVSPostalCode: "NOT_VERIFIED",
	}
	for path, inside := range map[string]string{intentsPath: "latest_charge", "/v1/setup_intents": "latest_attempt"} {
		r := newRig(t)
		r.double.Order(&double.Fault{Mode: double.Changed, Path: path, Change: func(body any) any {
			details := body.(map[string]any)[inside].(map[string]any)["payment_method_details"].(map[string]any)
			details["card"].(map[string]any)["checks"] = results
			return body
		}})
		o := authorization("4242424242424242")
		if inside == "latest_attempt" {
			o.Amount = 0
		}
		a := r.send(o).Answer
		if a.Risk == nil {
			t.Fatalf("%s: %+v", inside, a)
		}
		if a.Risk.FraudSource, a.Risk.FraudPost = "", ""; *a.Risk != want {
			t.Errorf("%s: %+v", inside, a.Risk)
		}
	}
}

// TestDeclined: the cards that Stripe publishes for tests decline with the issuer's code; Stripe's
// own refusal is FAILED.
func TestDeclined(t *testing.T) {
	r := newRig(t)
	for number, want := range map[string]processor.Answer{
		"4000000000000002": {State: processor.Declined, Code: "05"},
		"4000000000009995": {State: processor.Declined, Code: "51"},
		"4000000000009987": {State: processor.Declined, Code: "41"},
		"4000000000009979": {State: processor.Declined, Code: "43"},
		"4000000000000069": {State: processor.Declined, Code: "54"},
		"4000000000000127": {State: processor.Declined, Code: "N7"},
		"4000000000000119": {State: processor.Declined, Code: "19", Retryable: true},
		"4242424242424241": {State: processor.Declined, Code: "14"}, // a wrong check digit
		"4100000000000019": {State: processor.Failed, Code: processor.CodeRejected},
	} {
		o := authorization(number)
		got := r.send(o).Answer
		if got.State != want.State || got.Code != want.Code || got.Retryable != want.Retryable {
			t.Errorf("%s is %+v, want %+v", number, got, want)
		}
		if found := must[connector.Finding](t)(r.vendor.Find(t.Context(), o)); found.Result != nil && found.Result.Answer.Code != want.Code {
			t.Errorf("%s is found as %+v", number, found.Result.Answer)
		}
	}
}

// TestUnfit: an answer about another payment, key, amount, currency or mode is no result: the kit
// keeps the operation unknown.
func TestUnfit(t *testing.T) {
	set := func(path string, value any) func(any) any {
		return func(body any) any {
			at := body.(map[string]any)
			names := strings.Split(path, ".")
			for _, name := range names[:len(names)-1] {
				at = at[name].(map[string]any)
			}
			at[names[len(names)-1]] = value
			return body
		}
	}
	for name, change := range map[string]func(any) any{
		"reference": set("metadata.payledger_reference", "01other"), "key": set("metadata.payledger_key", "01other.1"), "no metadata": set("metadata", map[string]any{}),
		"amount above": set("amount", 100000), "amount below": set("amount", 10), "negative": set("amount", -1000), "currency": set("currency", "usd"),
		"no currency": set("currency", "eurodollar"), "no id": set("id", ""), "status": set("status", "on_the_moon"), "live": set("livemode", true),
		"text for a number": set("amount", "1000"), "null": func(any) any { return nil }, "list": func(any) any { return []any{} }, "empty": func(any) any { return map[string]any{} },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.double.Order(&double.Fault{Mode: double.Changed, Path: intentsPath, Change: func(body any) any {
				if name == "status" {
					delete(body.(map[string]any), "latest_charge")
				}
				return change(body)
			}})
			o := authorization("4242424242424242")
			op := o.Operation
			answer, err := r.kit.Send(t.Context(), op)
			if err == nil {
				t.Errorf("%+v", answer)
			}
			op.Card = nil
			found, err := r.kit.Lookup(t.Context(), processor.Stripe, op.Key) // Stripe's list is in order
			if err != nil || found.State != processor.Known || found.Answer.State != processor.Succeeded {
				t.Errorf("%+v %v", found, err)
			}
		})
	}
}

// TestUnfitCapture: a capture of another amount is no result.
func TestUnfitCapture(t *testing.T) {
	for _, name := range []string{"amount_received", "metadata", "id"} {
		r := newRig(t)
		o := authorization("4242424242424242")
		capture := upon(o, r.send(o), processor.Capture)
		capture.Final = true
		r.double.Order(&double.Fault{Mode: double.Changed, Path: "/capture", Change: func(body any) any {
			body.(map[string]any)[name] = map[string]any{"amount_received": 1, "metadata": map[string]any{}, "id": "pi_other"}[name]
			return body
		}})
		if result, err := r.vendor.Send(t.Context(), capture); err == nil || errors.Is(err, connector.ErrNothing) {
			t.Errorf("%s: %+v %v", name, result, err)
		}
	}
}

// TestIncrement: Stripe raises an authorization of an estimated amount; the authorization's own
// answer stays. It lowers none.
func TestIncrement(t *testing.T) {
	r := newRig(t)
	o := authorization("4242424242424242")
	o.AuthorizationType = "ESTIMATED"
	approved := r.send(o)
	adjust := func(amount domain.Amount) connector.Order {
		a := upon(o, approved, processor.Adjust)
		a.Amount = amount
		return a
	}
	first := adjust(1500)
	if raised := r.send(first); raised.Answer.State != processor.Succeeded || raised.Amount != 1500 {
		t.Errorf("%+v", raised)
	}
	r.send(adjust(1800))
	if raised := r.send(first); raised.Amount != 1500 {
		t.Errorf("a repeat: %+v", raised)
	}
	if found := must[connector.Finding](t)(r.vendor.Find(t.Context(), first)); found.Result == nil || found.Result.Amount != 1500 {
		t.Errorf("%+v", found)
	}
	if found := must[connector.Finding](t)(r.vendor.Find(t.Context(), o)); found.Result == nil || found.Result.Amount != 1000 {
		t.Errorf("%+v", found)
	}
	for _, amount := range []domain.Amount{999, 1000, 1700} {
		if lowered := r.send(adjust(amount)); lowered.Answer.State != processor.Failed {
			t.Errorf("%d: %+v", amount, lowered)
		}
	}
	plain := authorization("4242424242424242")
	refused := upon(plain, r.send(plain), processor.Adjust)
	refused.Amount = 2000
	if result := r.send(refused); result.Answer.State != processor.Failed {
		t.Errorf("%+v", result)
	}
}
