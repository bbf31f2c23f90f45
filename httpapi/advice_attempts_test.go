package httpapi_test

import (
	"fmt"
	"slices"
	"strings"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/httpapi/clienttoken"
)

// start starts an attempt in the browser.
func (r *advised) start(client, body string) answer {
	return r.inBrowser(client, "POST", "/payment-attempts", body)
}

// current approves the attempt that GET /client-session names.
func (r *advised) current(client string) answer {
	return r.decide(r.readSession(client).text1("currentAttemptId"), "approve", "")
}

// anew starts another attempt in a session, and approves it.
func (r *advised) anew(client string) answer {
	r.t.Helper()
	amount := int(r.want(r.readSession(client), 200, "").field("amount").(float64))
	r.want(r.start(client, payShown(r.tokenize(client, goodCard), amount, "EUR")), 202, "")
	return r.current(client)
}

func (r *advised) attempts() []walk {
	const anotherToken = "POST /payment-instruments, POST /payment-attempts"
	automatic, client, paid, changed := r.order(""), r.order(manual), r.order(manual), r.order(manual)
	token := r.tokenize(automatic, goodCard)
	waiting := r.attempt(client, r.tokenize(client, goodCard))
	r.attempt(paid, r.tokenize(paid, goodCard))
	payment := r.want(r.current(paid), 200, "").text1("paymentId")
	beside := r.want(r.start(paid, payWith(r.tokenize(paid, goodCard))), 400, "PaymentError")
	if said := beside.text1("error", "recoverySuggestion"); beside.text1("error", "paymentId") != payment || paysAgain.MatchString(strings.Replace(said, "Do not create another", "", 1)) {
		r.t.Errorf("beside a payment: %s", beside.text)
	}
	shown := r.tokenize(changed, goodCard)
	r.want(r.start(changed, payShown(shown, 1000, "EUR")), 202, "")
	r.want(r.patch(changed, `"amount":1100`), 200, "")
	return []walk{
		{"getManagedPaymentAttempt", "EntityNotFound", r.manage("GET", "/payment-attempts/unknown", ""), "GET /management/payment-attempts", func() answer {
			first := r.want(r.manage("GET", "/payment-attempts?limit=1", ""), 200, "").field("data").([]any)[0].(map[string]any)
			return r.manage("GET", "/payment-attempts/"+first["id"].(string), "")
		}},
		{"createPaymentAttempt", "ClientSessionValidationError", r.start(automatic, payWith(token)), "POST /checkout/payments", func() answer {
			return r.inBrowser(automatic, "POST", "/checkout/payments", payWith(token))
		}},
		{"createPaymentAttempt", "PaymentError", r.start(changed, payWith("unknown")), anotherToken, nil},
		{"createPaymentAttempt", "PaymentError", beside, "GET /checkout/payments/{id}", func() answer {
			return r.inBrowser(paid, "GET", "/checkout/payments/"+beside.text1("error", "paymentId"), "")
		}},
		{"createPaymentAttempt", "AmountChanged", r.start(changed, payShown(r.tokenize(changed, goodCard), 1000, "EUR")), "GET /checkout/configuration", func() answer {
			now := r.want(r.inBrowser(changed, "GET", "/checkout/configuration", ""), 200, "")
			return r.start(changed, payShown(r.tokenize(changed, goodCard), int(now.field("session", "amount").(float64)), now.text1("session", "currencyCode")))
		}},
		{"getPaymentAttempt", "EntityNotFound", r.inBrowser(client, "GET", "/payment-attempts/unknown", ""), "GET /checkout/configuration", func() answer {
			id := r.want(r.inBrowser(client, "GET", "/checkout/configuration", ""), 200, "").text1("session", "currentAttemptId")
			if id != waiting {
				r.t.Errorf("the configuration names the attempt %q, not %s", id, waiting)
			}
			return r.inBrowser(client, "GET", "/payment-attempts/"+id, "")
		}},
		{"abortPaymentAttempt", "EntityNotFound", r.decide("unknown", "abort", ""), "GET /client-session", nil},
		{"approvePaymentAttempt", "EntityNotFound", r.decide("unknown", "approve", ""), "GET /client-session", func() answer { return r.current(client) }},
	}
}

func (r *advised) decidedAttempts() []walk {
	aborted, approved, changed := r.order(manual), r.order(manual), r.order(manual)
	first, second := r.attempt(aborted, r.tokenize(aborted, goodCard)), r.attempt(approved, r.tokenize(approved, goodCard))
	r.want(r.decide(first, "abort", ""), 200, "")
	payment := r.want(r.decide(second, "approve", ""), 200, "").text1("paymentId")
	third := r.want(r.start(changed, payShown(r.tokenize(changed, goodCard), 1000, "EUR")), 202, "").text1("currentAttempt", "id")
	r.want(r.patch(changed, `"amount":1100`), 200, "")
	price, shop := r.order(""), r.order("")
	r.want(r.patch(price, `"amount":1100`), 200, "")
	return []walk{
		{"approvePaymentAttempt", "PaymentAttemptNotPending", r.decide(first, "approve", ""), "GET /client-session, POST /payment-attempts", func() answer { return r.anew(aborted) }},
		{"abortPaymentAttempt", "PaymentAttemptNotPending", r.decide(second, "abort", ""), "GET /payments/" + payment + ", POST /payments/" + payment + "/cancel", func() answer {
			return r.post("/payments/"+payment+"/cancel", "")
		}},
		{"approvePaymentAttempt", "AmountChanged", r.decide(third, "approve", ""), "GET /client-session, POST /payment-attempts", func() answer { return r.anew(changed) }},
		{"createCheckoutPayment", "AmountChanged", r.inBrowser(price, "POST", "/checkout/payments", payShown(r.tokenize(price, goodCard), 1000, "EUR")), "GET /checkout/configuration", func() answer {
			now := r.want(r.inBrowser(price, "GET", "/checkout/configuration", ""), 200, "")
			return r.inBrowser(price, "POST", "/checkout/payments", payShown(r.tokenize(price, goodCard), int(now.field("session", "amount").(float64)), "EUR"))
		}},
		{"createCheckoutPayment", "PaymentError", r.inBrowser(shop, "POST", "/checkout/payments", payWith("unknown")), "POST /payment-instruments", func() answer {
			return r.inBrowser(shop, "POST", "/checkout/payments", payWith(r.tokenize(shop, goodCard)))
		}},
	}
}

// processors walks the refusals of an account without an enabled processor.
func (r *advised) processors() []walk {
	const calls = "GET /management/processors, PATCH /management/processors/{name}"
	all := func(enabled bool) {
		for _, p := range r.accountNow().Processors {
			r.want(r.manage("PATCH", "/processors/"+string(p.Name), fmt.Sprintf(`{"enabled":%t}`, enabled)), 200, "")
		}
	}
	client, saves := r.order(manual), r.order("")
	id, token := r.attempt(client, r.tokenize(client, goodCard)), r.tokenize(saves, goodCard)
	const verify = `{"customerId":"customer-7","verify":true}`
	all(false)
	return []walk{
		{"approvePaymentAttempt", "PaymentError", r.decide(id, "approve", ""), calls, func() answer { all(true); return r.decide(id, "approve", "") }},
		{"vaultPaymentInstrument", "PaymentError", r.vault(token, verify), calls, func() answer { return r.vault(token, verify) }},
	}
}

// actions walks the refusals of a customer's action: of a payment that is not known here, and of an
// action that the payment does not wait for.
func (r *advised) actions() []walk {
	client := r.order("")
	made := r.want(r.inBrowser(client, "POST", "/checkout/payments", payWith(r.tokenize(client, challengedCard))), 200, "")
	id, action := made.text1("id"), made.text1("requiredAction", "clientToken")
	tip, err := eventstore.Load(r.t.Context(), r.store, eventstore.Payments, eventstore.Payments.Key(r.account.AccountID, id), eventstore.Latest)
	must(r.t, err)
	unknown := tip.State
	unknown.ID = domain.PaymentID(id[:len(id)-2] + "zz")
	elsewhere, err := r.tokens().SignAction(unknown)
	must(r.t, err)
	refused := r.complete(elsewhere, string(processor.Authenticated))
	resume := r.want(r.complete(action, string(processor.Authenticated)), 200, "").text1("resumeToken")
	return []walk{
		{"completeRequiredAction", "PaymentError", refused, "GET /checkout/payments/{id}", func() answer {
			again := r.want(r.inBrowser(client, "GET", "/checkout/payments/"+id, ""), 200, "").text1("requiredAction", "clientToken")
			r.want(r.complete(again, string(processor.Authenticated)), 200, "")
			return r.inBrowser(client, "POST", "/checkout/payments/"+id+"/resume", `{"resumeToken":"`+resume+`"}`)
		}},
		{"completeRequiredAction", "InvalidPaymentStatus", r.otherAction(), "GET /checkout/payments/{id}", nil},
	}
}

// otherAction completes an action that the payment does not wait for: it waits for another one.
func (r *advised) otherAction() answer {
	client := r.order("")
	made := r.want(r.inBrowser(client, "POST", "/checkout/payments", payWith(r.tokenize(client, challengedCard))), 200, "")
	tip, err := eventstore.Load(r.t.Context(), r.store, eventstore.Payments, eventstore.Payments.Key(r.account.AccountID, made.text1("id")), eventstore.Latest)
	must(r.t, err)
	other := tip.State
	other.Operations = slices.Clone(other.Operations)
	for i := range other.Operations {
		other.Operations[i].Revision += 100
	}
	action, err := r.tokens().SignAction(other)
	must(r.t, err)
	refused := r.complete(action, string(processor.Authenticated))
	r.want(r.inBrowser(client, "GET", "/checkout/payments/"+refused.text1("error", "paymentId"), ""), 200, "") // as the suggestion says
	return refused
}

// tokens signs as the service does.
func (r *advised) tokens() *clienttoken.Tokens {
	return &clienttoken.Tokens{Key: tokenKey, Environment: account.Sandbox, PublicURL: "https://pay.example", Now: r.now}
}

// expired walks the refusals about an attempt whose session has expired. It is last: the clock goes
// on.
func (r *advised) expired() []walk {
	client := r.order(manual)
	id := r.attempt(client, r.tokenize(client, goodCard))
	r.late.Store(3601)
	anew := func() answer {
		client := r.order(manual)
		r.attempt(client, r.tokenize(client, goodCard))
		return r.current(client)
	}
	return []walk{
		{"approvePaymentAttempt", "PaymentAttemptNotPending", r.decide(id, "approve", ""), "POST /client-session", anew},
		{"createPaymentAttempt", "ClientSessionValidationError", r.start(client, payWith("unknown")), "POST /client-session", anew},
	}
}
