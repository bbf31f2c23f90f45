package api_test

import (
	"testing"

	"payledger/deploy/connectors/stripe/double"
	"payledger/domain/processor"
	"payledger/processorsim/connector"
	"payledger/processorsim/protocol"
)

// TestVerify: an authorization of nothing asks the issuer, holds nothing, and is found again.
func TestVerify(t *testing.T) {
	for number, want := range map[string]processor.Answer{
		"4242424242424242": {State: processor.Succeeded},
		"4000000000009987": {State: processor.Declined, Code: "41"},
		"4000000000003220": {State: processor.Declined, Code: "1A"}, // nobody waits
	} {
		for _, mode := range []double.Mode{"", double.LostBefore, double.LostAfter, double.Late} {
			r := newRig(t)
			o := authorization(number)
			o.Amount = 0
			if mode != "" {
				r.double.Order(&double.Fault{Mode: mode, Path: "/v1/setup_intents", Method: "POST"})
				if result, err := r.vendor.Send(t.Context(), o); err == nil {
					t.Fatalf("%+v", result)
				}
				found := must[connector.Finding](t)(r.vendor.Find(t.Context(), o))
				r.double.Flush()
				if arrived := mode == double.LostAfter; found.Nothing == arrived || (found.Result != nil) != arrived || arrived && found.Result.Answer.Code != want.Code {
					t.Errorf("%s %s: %+v", number, mode, found)
				}
				continue
			}
			result := r.send(o)
			if a := result.Answer; a.State != want.State || a.Code != want.Code || result.Amount != 0 || result.Currency != "EUR" {
				t.Errorf("%s: %+v", number, result)
			}
			if want.State != processor.Succeeded {
				continue
			}
			if void := r.send(upon(o, result, processor.Void)); void.Answer.State != processor.Succeeded {
				t.Errorf("%+v", void)
			}
			for _, kind := range []processor.Kind{processor.Capture, processor.Refund, processor.Adjust} {
				if done := r.send(upon(o, result, kind)); done.Answer.State != processor.Failed {
					t.Errorf("%s: %+v", kind, done)
				}
			}
		}
	}
}

// TestVerifyWithCheck: a verification whose customer is there can need the customer's check, as a
// payment can. Stripe's word counts.
func TestVerifyWithCheck(t *testing.T) {
	for _, row := range []struct {
		name      string
		passes    bool // at Stripe
		early     bool // the customer has not finished when the browser is back
		says      processor.Outcome
		want      processor.State
		code, tds string
	}{
		{"passed", true, false, processor.Authenticated, processor.Succeeded, "", "AUTH_SUCCESS"},
		{"passed, and the browser denies it", true, false, processor.AuthenticationFailed, processor.Succeeded, "", "AUTH_SUCCESS"},
		{"failed", false, false, processor.Authenticated, processor.Declined, "1A", "AUTH_FAILED"},
		{"gave up", true, true, processor.AuthenticationFailed, processor.Declined, "1A", "AUTH_FAILED"},
		{"later", true, true, processor.Authenticated, processor.Pending, "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := newRig(t)
			o := tokenized("4000000000003220")
			o.Amount, o.ReturnURL = 0, "https://shop.example/back"
			waits := r.send(o)
			a := waits.Answer
			if a.State != processor.ActionRequired || a.ActionToken != a.ProcessorTransactionID || a.ActionURL == "" || a.ThreeDS != "CHALLENGE" || a.CardToken != "" {
				t.Fatalf("%+v", a)
			}
			if back := r.double.ReturnURL(a.ProcessorTransactionID); back != o.ReturnURL {
				t.Errorf("the customer comes back to %q", back)
			}
			if !row.early {
				r.double.Act(a.ProcessorTransactionID, row.passes)
			}
			complete := upon(o, waits, processor.Complete)
			complete.Amount, complete.Outcome = 0, row.says
			done := r.send(complete)
			if a := done.Answer; a.State != row.want || a.Code != row.code || a.ThreeDS != row.tds || (a.CardToken != "") != (row.want == processor.Succeeded) {
				t.Errorf("%+v", a)
			}
			if row.want == processor.Succeeded && (done.Answer.Risk == nil || done.Answer.Risk.CVVResult != "MATCHED" || done.Answer.Bin.Network != "VISA") {
				t.Errorf("%+v", done.Answer)
			}
			r.double.Act(a.ProcessorTransactionID, true) // late
			for what, asked := range map[string]connector.Order{"authorization": o, "completion": complete} {
				asked.Card, asked.Answer = nil, &processor.Answer{State: processor.Pending, ProcessorTransactionID: a.ProcessorTransactionID}
				want := row.want
				if want == processor.Pending {
					want = processor.Succeeded
				}
				if found := must[connector.Finding](t)(r.vendor.Find(t.Context(), asked)); found.Result == nil || found.Result.Answer.State != want {
					t.Errorf("%s: %+v", what, found)
				}
			}
		})
	}
}

// TestVerifyVoided: a void of a verification that waits for its customer ends it at Stripe.
func TestVerifyVoided(t *testing.T) {
	r := newRig(t)
	o := authorization("4000000000003220")
	o.Amount, o.ReturnURL = 0, "https://shop.example/back"
	waits := r.send(o)
	if void := r.send(upon(o, waits, processor.Void)).Answer; void.State != processor.Succeeded {
		t.Errorf("%+v", void)
	}
	r.double.Act("", true)
	asked := o
	asked.Card, asked.Answer = nil, &waits.Answer
	if found := must[connector.Finding](t)(r.vendor.Find(t.Context(), asked)); found.Result == nil || found.Result.Answer.State != processor.Declined {
		t.Errorf("%+v", found)
	}
}

// TestVerifyUnattended: nobody waits in a payment that the merchant initiates.
func TestVerifyUnattended(t *testing.T) {
	r := newRig(t)
	o := authorization("4000000000003220")
	o.Amount, o.ReturnURL, o.PaymentType = 0, "https://shop.example/back", "UNSCHEDULED"
	if a := r.send(o).Answer; a.State != processor.Declined || a.Code != "1A" {
		t.Errorf("%+v", a)
	}
}

// TestVerifyEvents: an event ends a verification whose customer does not come back.
func TestVerifyEvents(t *testing.T) {
	for _, passes := range []bool{true, false} {
		r := newRig(t)
		op := authorization("4000000000003220").Operation
		op.Amount, op.ReturnURL = 0, "https://shop.example/back"
		if a, err := r.kit.Send(t.Context(), op); err != nil || a.State != processor.ActionRequired {
			t.Fatalf("%+v %v", a, err)
		}
		r.double.Act("", passes)
		for _, status := range r.deliver() {
			if status != 200 {
				t.Errorf("an event: %d", status)
			}
		}
		want := map[bool]processor.State{true: processor.Succeeded, false: processor.Declined}[passes]
		before := len(r.double.Calls())
		l, err := r.kit.Lookup(t.Context(), processor.Stripe, op.Key)
		if err != nil || l.State != processor.Known || l.Answer.State != want || len(r.double.Calls()) != before {
			t.Errorf("%+v %v", l.Answer, err)
		}
	}
}

// TestVerifyListed: the list of a payment that is a verification has it.
func TestVerifyListed(t *testing.T) {
	r := newRig(t)
	op := authorization("4242424242424242").Operation
	op.Amount = 0
	a := r.do(op)
	list, err := r.list(protocol.Filter{Reference: reference})
	if err != nil || len(list) != 1 || list[0].IdempotencyKey != op.Key || list[0].ProcessorTransactionID != a.ProcessorTransactionID {
		t.Errorf("%+v %v", list, err)
	}
}
