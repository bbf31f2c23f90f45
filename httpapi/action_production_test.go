package httpapi_test

import (
	"testing"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/processor"
)

// atProcessor ends a customer's check where the customer takes it outside the sandbox: at the
// processor.
func (r *rig) atProcessor(id string, outcome processor.Outcome) {
	r.t.Helper()
	asked := r.books(id)[0]
	answer, err := r.sim.Send(r.t.Context(), processor.Operation{
		Kind: processor.Complete, Key: domain.OperationKey("issuer-" + id), Processor: asked.Processor, MerchantID: asked.ProcessorMerchantID,
		Reference: domain.PaymentID(id), ParentID: asked.ProcessorTransactionID, Outcome: outcome,
	})
	must(r.t, err)
	if answer.State != processor.Succeeded && answer.State != processor.Declined {
		r.t.Fatalf("%+v", answer)
	}
}

// challenge makes a payment in the browser that waits for its customer. It returns the client
// token, the payment's id, and the resume token of a browser that declares that the customer passed
// the check.
func (r *rig) challenge() (client, id, resumeToken string) {
	r.t.Helper()
	client = r.session(someSession)
	made := r.want(r.inBrowser(client, "POST", "/checkout/payments", payWith(r.tokenize(client, challengedCard))), 200, "")
	done := r.want(r.complete(made.text1("requiredAction", "clientToken"), "AUTHENTICATED"), 200, "")
	return client, made.text1("id"), done.text1("resumeToken")
}

// TestActionInProduction: outside the sandbox the outcome that a browser declares has no effect;
// the call that resumes the payment gets the outcome from the processor (D12).
func TestActionInProduction(t *testing.T) {
	t.Parallel()
	r := newRigIn(t, account.Production, usualTimeout, nil)
	for outcome, want := range map[processor.Outcome]string{processor.Authenticated: "AUTHORIZED", processor.AuthenticationFailed: "DECLINED"} {
		client, id, token := r.challenge()
		resumes := map[string]func() answer{
			"merchant": func() answer { return r.post("/payments/"+id+"/resume", resumeWith(token), "X-Idempotency-Key", id) },
			"browser": func() answer {
				return r.inBrowser(client, "POST", "/checkout/payments/"+id+"/resume", resumeWith(token))
			},
		}
		before := r.events()
		for who, resume := range resumes {
			for range 2 { // nothing was recorded, and no key used
				if a := r.want(resume(), 200, ""); a.text1("status") != "PENDING" || a.text1("requiredAction", "name") != "3DS_AUTHENTICATION" {
					t.Errorf("the %s's word is taken for the issuer's: %s", who, a.text)
				}
			}
		}
		if n := r.events() - before; n != 0 || len(r.books(id)) != 1 {
			t.Errorf("%d events, books %v", n, r.books(id))
		}
		r.silent.Store(true)
		r.want(resumes["merchant"](), 202, "NoActionsToHandle")
		r.silent.Store(false)
		r.atProcessor(id, outcome)
		if a := r.want(resumes["browser"](), 200, ""); a.text1("status") != want || a.field("requiredAction") != nil {
			t.Errorf("%s at the processor: %s", outcome, a.text)
		}
		r.want(resumes["merchant"](), 400, "InvalidPaymentStatus")
	}
}

// TestAbandonedInProduction checks that an action fails if nobody completes it in time (D7).
func TestAbandonedInProduction(t *testing.T) {
	t.Parallel()
	r := newRigIn(t, account.Production, usualTimeout, nil)
	_, id, token := r.challenge()
	r.late.Store(3601)
	if a := r.want(r.post("/payments/"+id+"/resume", resumeWith(token)), 200, ""); a.text1("status") != "DECLINED" {
		t.Error(a.text)
	}
}

// TestPassedAndGone checks that a payment is authorized when the action expires, if its customer
// passed the check and closed the tab. In every environment the processor decides (D8).
func TestPassedAndGone(t *testing.T) {
	t.Parallel()
	for _, environment := range []string{account.Production, account.Sandbox} {
		r := newRigIn(t, environment, usualTimeout, nil)
		_, id, _ := r.challenge()
		r.atProcessor(id, processor.Authenticated)
		r.late.Store(3601)
		must(t, r.service.Recover(t.Context(), r.account.AccountID, domain.PaymentID(id)))
		r.until("/payments/"+id, "status", "AUTHORIZED")
	}
}

// TestActionInSandbox checks that the sandbox accepts the outcome that the challenge page declares:
// the page replaces the issuer there (D12, D13).
func TestActionInSandbox(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	client, id, token := r.challenge()
	if a := r.want(r.inBrowser(client, "POST", "/checkout/payments/"+id+"/resume", resumeWith(token)), 200, ""); a.text1("status") != "AUTHORIZED" {
		t.Error(a.text)
	}
}
