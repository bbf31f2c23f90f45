package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"payledger/domain"
	"payledger/domain/seedtest"
	"payledger/eventstore"
	"payledger/eventstore/eventstoretest"
	"payledger/httpapi"
	"payledger/httpapi/openapitest"
)

// target is the object of a fuzzed request: its id replaces TARGET in a path, and its token
// replaces TOKEN in a body.
type target struct{ id, token string }

// fuzzed is one operation with a body. make creates the operation's target, which a success uses
// up.
type fuzzed struct {
	operation, method, path string
	browser                 bool // the customer's: TOKEN authenticates it
	signed                  bool // a processor's
	manages                 bool // changes the account, which is not the one of the payments
	make                    func(*rig) target
	seeds                   []string
}

func nothing(*rig) target { return target{} }

// payable makes a payment with some card, after the calls given.
func payable(card string, calls ...string) func(*rig) target {
	return func(r *rig) target {
		at := r.paid(card, `,"paymentMethod":{"authorizationType":"ESTIMATED"}`)
		for _, call := range calls {
			r.want(r.post(at+call, ""), 200, "")
		}
		return target{id: strings.TrimPrefix(at, "/payments/")}
	}
}

// challenged makes a payment that waits for its customer; TOKEN is the action's, or with done the
// resume token.
func challenged(done bool) func(*rig) target {
	return func(r *rig) target {
		made := r.want(r.pay(payWith(r.tokenize(r.session(someSession), challengedCard))), 200, "")
		token := made.text1("requiredAction", "clientToken")
		if done {
			token = r.want(r.complete(token, "AUTHENTICATED"), 200, "").text1("resumeToken")
		}
		return target{made.text1("id"), token}
	}
}

// inCheckout makes a token (TARGET) in a session (TOKEN).
func inCheckout(r *rig) target {
	client := r.session(someSession)
	return target{id: r.tokenize(client, goodCard), token: client}
}

// inManualCheckout is inCheckout in a session with manual approval.
func inManualCheckout(r *rig) target {
	client := r.session(manualSession)
	return target{id: r.tokenize(client, goodCard), token: client}
}

// waitingAttempt makes an attempt that waits for the merchant.
func waitingAttempt(r *rig) target {
	at := inManualCheckout(r)
	return target{id: r.attempt(at.token, at.id)}
}

// challengedInCheckout makes a payment that waits for its customer in a session (TOKEN).
func challengedInCheckout(r *rig) target {
	client := r.session(someSession)
	made := r.want(r.inBrowser(client, "POST", "/checkout/payments", payWith(r.tokenize(client, challengedCard))), 200, "")
	return target{id: made.text1("id"), token: client}
}

// settledLater makes a payment whose capture was confirmed: later notifications are recorded and
// change nothing.
func settledLater(r *rig) target {
	made := payable(settlesCard, "/capture")(r)
	if _, err := r.sim.Settle(context.Background()); err != nil {
		r.t.Fatal(err)
	}
	r.until("/payments/"+made.id, "status", "SETTLED")
	r.applied(domain.PaymentID(made.id))
	return made
}

// applied waits until the notifications of a payment are applied: the payment shows them before its
// inbox is empty.
func (r *rig) applied(id domain.PaymentID) {
	r.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); ; <-tick.C {
		tip, err := eventstore.Load(context.Background(), r.store, eventstore.Inboxes, eventstore.InboxKey(string(id)), eventstore.Applied)
		must(r.t, err)
		if tip.Recorded != nil && len(tip.State.Waiting()) == 0 {
			return
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("notifications about %s still wait", id)
		}
	}
}

// fuzzedBodies are all operations with a body, with a body of each that is taken and some that are
// not.
var fuzzedBodies = []fuzzed{
	{
		operation: "createClientSession", method: "POST", path: "/client-session", make: nothing,
		seeds: []string{someSession, `{}`, `{"amount":1}`, `{"metadata":{"":1}}`, `{"customer":{"email":"x"},"order":{"lineItems":[{"amount":-1}]}}`},
	},
	{
		operation: "changeClientSession", method: "PATCH", path: "/client-session",
		make: func(r *rig) target { return target{token: r.session(someSession)} },
		seeds: []string{
			`{"clientToken":"TOKEN","orderId":null,"amount":5,"customer":{"email":null,"billingAddress":{"city":"Paris"}},"metadata":{"a":1.0}}`,
			`{"clientToken":"TOKEN","order":{"lineItems":[{"amount":1}],"shipping":null},"paymentMethod":{"vaultOnSuccess":true,"descriptor":null}}`,
			`{"clientToken":"TOKEN","currencyCode":null}`, `{"clientToken":"TOKEN","approvalMode":"MANUAL"}`, `{"clientToken":"x"}`, `{}`,
		},
	},
	{
		operation: "createPaymentInstrument", method: "POST", path: "/payment-instruments", browser: true,
		make: func(r *rig) target { return target{token: r.session(someSession)} },
		seeds: []string{
			`{"paymentInstrument":{"number":"4111111111111111","cvv":"737","expirationMonth":"03","expirationYear":"` + expires + `","cardholderName":"Ada"}}`,
			`{"paymentInstrument":{"number":"4111 1111 1111 1112","cvv":"73","expirationMonth":"13","expirationYear":"1999"}}`, `{"paymentInstrument":null}`,
		},
	},
	{
		operation: "createPayment", method: "POST", path: "/payments",
		make: func(r *rig) target { return target{token: r.tokenize(r.session(someSession), goodCard)} },
		seeds: []string{
			`{"paymentMethodToken":"TOKEN"}`, `{"paymentMethodToken":"TOKEN","amount":1e3,"currencyCode":"JPY","orderId":"o","metadata":{"a":1.0}}`,
			`{"paymentMethodToken":"none","expand":["transactions.events"]}`, `{"amount":9007199254740993,"currencyCode":"XXX"}`,
			`{"paymentMethodToken":"TOKEN","orderId":"4111111111111111"}`,
		},
	},
	{
		operation: "resumePayment", method: "POST", path: "/payments/TARGET/resume", make: challenged(true),
		seeds: []string{`{"resumeToken":"TOKEN"}`, `{"resumeToken":"e30.e30.x"}`, `{"resumeToken":""}`, `{}`},
	},
	{
		operation: "cancelPayment", method: "POST", path: "/payments/TARGET/cancel", make: payable(goodCard),
		seeds: []string{``, `null`, `{"reason":"changed their mind"}`, `{"reason":"4111-1111-1111-1111"}`, `{"reason":1}`, `[]`},
	},
	{
		operation: "capturePayment", method: "POST", path: "/payments/TARGET/capture", make: payable(goodCard),
		seeds: []string{`{"amount":1e1,"final":false,"metadata":{"parcel":1.0}}`, `{"amount":1e15}`, `{"amount":0}`, `{"amount":-0.0}`, `{"expand":["x"],"final":"no"}`},
	},
	{
		operation: "refundPayment", method: "POST", path: "/payments/TARGET/refund", make: payable(goodCard, "/capture"),
		seeds: []string{`{"amount":1,"reason":"broken","orderId":"r-1"}`, `{"amount":999999999}`, `{"transactionEventId":"x"}`, `{"transactionEventId":""}`, ``},
	},
	{
		operation: "captureManagedPayment", method: "POST", path: "/management/payments/TARGET/capture", make: payable(goodCard),
		seeds: []string{`{"amount":1e1,"final":false,"metadata":null}`, `{"amount":0}`, `{"final":"no"}`},
	},
	{
		operation: "refundManagedPayment", method: "POST", path: "/management/payments/TARGET/refund", make: payable(goodCard, "/capture"),
		seeds: []string{`{"amount":1,"reason":null}`, `{"amount":999999999}`, ``},
	},
	{
		operation: "cancelManagedPayment", method: "POST", path: "/management/payments/TARGET/cancel", make: payable(goodCard),
		seeds: []string{`{"reason":"out of stock"}`, `{"reason":1}`, `null`},
	},
	{
		operation: "adjustPaymentAuthorization", method: "POST", path: "/payments/TARGET/adjust-authorization", make: payable(goodCard),
		seeds: []string{`{"amount":3000}`, `{}`, `{"amount":0}`, `{"amount":1.5}`},
	},
	{
		operation: "completeRequiredAction", method: "POST", path: "/required-actions/complete", browser: true, make: challenged(false),
		seeds: []string{`{"outcome":"AUTHENTICATED"}`, `{"outcome":"FAILED"}`, `{"outcome":"x"}`, ``},
	},
	{
		operation: "vaultPaymentInstrument", method: "POST", path: "/payment-instruments/TARGET/vault", make: inCheckout,
		seeds: []string{
			`{"customerId":"customer-7"}`, `{"customerId":"customer-7","verify":true}`, `{"customerId":"another"}`, `{"customerId":""}`, `{"verify":"yes"}`,
			`{"customerId":"4111111111111111"}`,
		},
	},
	{
		operation: "createPaymentAttempt", method: "POST", path: "/payment-attempts", browser: true, make: inManualCheckout,
		seeds: []string{`{"paymentMethodToken":"TARGET"}`, `{"paymentMethodToken":"none"}`, `{"paymentMethodToken":""}`, `{}`},
	},
	{
		operation: "approvePaymentAttempt", method: "POST", path: "/payment-attempts/TARGET/approve", make: waitingAttempt,
		seeds: []string{``, `null`, `{}`, `{"a":1}`, `[]`},
	},
	{
		operation: "abortPaymentAttempt", method: "POST", path: "/payment-attempts/TARGET/abort", make: waitingAttempt,
		seeds: []string{``, `{"reason":"gone"}`, `{"reason":1}`, `{"reason":"4111 1111 1111 1111"}`},
	},
	{
		operation: "createCheckoutPayment", method: "POST", path: "/checkout/payments", browser: true, make: inCheckout,
		seeds: []string{`{"paymentMethodToken":"TARGET"}`, `{"paymentMethodToken":"none"}`, `{"paymentMethodToken":""}`, `{"paymentMethodToken":"TARGET","amount":1}`},
	},
	{
		operation: "resumeCheckoutPayment", method: "POST", path: "/checkout/payments/TARGET/resume", browser: true, make: challengedInCheckout,
		seeds: []string{`{"resumeToken":"e30.e30.x"}`, `{"resumeToken":""}`, `{}`},
	},
	{
		operation: "receiveProcessorNotification", method: "POST", path: "/processors/ADYEN/notifications", signed: true, make: settledLater,
		seeds: []string{
			`{"id":"nt_1","processor":"ADYEN","type":"capture","idempotencyKey":"TARGET.3","reference":"TARGET","answer":{"state":"SUCCEEDED","processorTransactionId":"t","at":"2026-03-01T12:00:00Z"}}`,
			`{"id":"nt_1","processor":"ADYEN","type":"refund","idempotencyKey":"TARGET.3","reference":"TARGET","answer":{"state":"FAILED","code":"x","at":"2026-03-01T12:00:00Z"}}`,
			`{"id":"nt_1","processor":"ADYEN","type":"capture","idempotencyKey":"TARGET.18446744073709551616","reference":"TARGET","answer":{}}`, ``,
			`{"id":"nt_2","processor":"ADYEN","type":"dispute","reference":"TARGET","dispute":{"disputePspReference":"dp_1","merchantAccountCode":"m","paymentPspReference":"t",` +
				`"disputeType":"Chargeback","disputeStatus":"Undefended","reason":"Chargeback","reasonCode":"10.4","disputedAmount":{"value":1,"currency":"EUR"},` +
				`"eventDate":"2026-03-01T13:00:00.000000+01:00","defensePeriodEndsAt":"2026-03-15T23:59:59+01:00"}}`,
		},
	},
	{
		operation: "createApiKey", method: "POST", path: "/management/api-keys", manages: true, make: nothing,
		seeds: []string{`{"name":"n","scopes":["account:read"],"expiresAt":"2030-01-01T00:00:00"}`, `{"name":"","scopes":[]}`, `{"name":"n","scopes":["x"],"expiresAt":"2000-01-01"}`},
	},
	{
		operation: "createUser", method: "POST", path: "/management/users", manages: true, make: nothing,
		seeds: []string{`{"email":"ada@shop.example","role":"operator"}`, `{"email":"Ada <a@b>","role":"owner"}`, `{"email":"\u0000@x","role":"admin"}`, `{}`},
	},
	{
		operation: "changeUser", method: "PATCH", path: "/management/users/TARGET", manages: true, make: dashboardUser,
		seeds: []string{`{"role":"auditor","resetPassword":true,"disableTotp":true}`, `{"role":null}`, `{}`},
	},
	{
		operation: "createWebhookEndpoint", method: "POST", path: "/management/webhook-endpoints", manages: true, make: nothing,
		seeds: []string{`{"url":"https://shop.example/hook","eventTypes":["PAYMENT.STATUS"]}`, `{"url":"http://10.0.0.1/"}`, `{"url":"x","eventTypes":["y"]}`},
	},
	{
		operation: "changeWebhookEndpoint", method: "PATCH", path: "/management/webhook-endpoints/TARGET", manages: true, make: endpoint,
		seeds: []string{`{"description":"d","enabled":false,"eventTypes":[]}`, `{"url":"https://10.0.0.1/"}`, `{"url":null}`, `{}`},
	},
	{
		operation: "createWebhookListener", method: "POST", path: "/management/webhook-listeners", manages: true, make: nothing,
		seeds: []string{`{"description":"d","eventTypes":["PAYMENT.STATUS"]}`, `{"eventTypes":["y"]}`, `{}`},
	},
	{
		operation: "answerWebhookListener", method: "POST", path: "/management/webhook-listeners/TARGET/answers", manages: true, make: webhookListener,
		seeds: []string{`{"id":"x","status":200,"body":"thanks"}`, `{"id":"x","failure":"TIMEOUT"}`, `{"id":"x","status":99,"failure":"STATUS"}`},
	},
	{
		operation: "createWebhookReplay", method: "POST", path: "/management/webhook-replays", manages: true, make: endpoint,
		seeds: []string{
			`{"endpointId":"TARGET","from":"2026-03-01T00:00:00+01:00","to":"9999-12-31T23:59:59","eventTypes":["PAYMENT.STATUS"],"onlyFailed":true,"dryRun":true}`,
			`{"endpointId":"TARGET","from":"0000-01-01T00:00:00Z","to":"2026-03-02T00:00:00Z"}`,
			`{"endpointId":"none","from":"2026-03-02T00:00:00Z","to":"2026-03-01T00:00:00Z","eventTypes":["x"]}`, `{}`,
		},
	},
	{
		operation: "createWorkflow", method: "POST", path: "/management/workflows", manages: true, make: nothing,
		seeds: workflowSeeds,
	},
	{
		operation: "replaceWorkflow", method: "PUT", path: "/management/workflows/TARGET", manages: true, make: someWorkflow,
		seeds: workflowSeeds,
	},
	{
		operation: "simulateWorkflow", method: "POST", path: "/management/workflows/TARGET/simulate", manages: true, make: someWorkflow,
		seeds: []string{`{}`, `{"from":"2026-03-01T00:00:00+01:00","to":"9999-12-31T23:59:59"}`, `{"from":"2026-03-02T00:00:00Z","to":"2026-03-01T00:00:00Z"}`, `{"to":"x"}`},
	},
	{
		operation: "simulateNewWorkflow", method: "POST", path: "/management/workflows/simulate", manages: true, make: nothing,
		seeds: append([]string{`{"from":"2026-03-02T00:00:00Z","to":"2026-03-01T00:00:00Z","workflowId":"x"}`}, workflowSeeds...),
	},
	{
		operation: "checkWorkflowCondition", method: "POST", path: "/management/workflows/check", manages: true, make: nothing,
		seeds: []string{`{"eventType":"PAYMENT.STATUS","condition":"payment.amount > 1"}`, `{"eventType":"DISPUTE.OPENED","condition":"dispute.x"}`, `{"eventType":"","condition":""}`},
	},
	{
		operation: "startReconciliationRun", method: "POST", path: "/management/reconciliation-runs", manages: true, make: nothing,
		seeds: []string{`{"processor":"ADYEN","from":"2026-03-01T00:00:00+01:00","to":"9999-12-31T23:59:59"}`, `{"processor":"ADYEN","from":"2026-03-02T00:00:00Z","to":"2026-03-01T00:00:00Z"}`, `{"processor":"X"}`, `{}`},
	},
	{
		operation: "previewRouting", method: "POST", path: "/management/routing/preview", manages: true, make: nothing,
		seeds: []string{
			`{"currencyCode":"EUR","amount":2500,"network":"VISA","countryCode":"DE","metadata":{"a":1.0,"b":true,"c":"d"}}`,
			`{"currencyCode":"XXX","amount":-1,"network":"X","countryCode":"X","metadata":{"":[]}}`, `{"currencyCode":null}`,
		},
	},
	{
		operation: "replaceRouting", method: "PUT", path: "/management/routing", manages: true, make: nothing,
		seeds: []string{
			`{"rules":[{"name":"euro","when":{"currencyCode":["EUR"],"network":["VISA"],"maxAmount":1e3,"metadata":{"a":1.0}},"processors":["STRIPE","ADYEN"]}],"default":["WORLDPAY"]}`,
			`{"rules":[{"when":{"minAmount":2,"maxAmount":1},"processors":[]}],"default":["X"]}`, `{"rules":null}`,
		},
	},
	{
		operation: "changeProcessor", method: "PATCH", path: "/management/processors/ADYEN", manages: true, make: nothing,
		seeds: []string{`{"enabled":false}`, `{"processorMerchantId":"m-1"}`, `{"processorMerchantId":""}`, `{}`},
	},
	{
		operation: "changeSettings", method: "PATCH", path: "/management/settings", manages: true, make: nothing,
		seeds: []string{`{"captureMode":"AUTOMATIC","clientTokenTtl":3600}`, `{"captureMode":"x","clientTokenTtl":1.5}`, `{}`},
	},
}

// workflowSeeds are bodies of workflows.
var workflowSeeds = []string{
	`{"name":"small orders","trigger":{"eventType":"PAYMENT.STATUS","status":"AUTHORIZED"},"condition":"payment.amount < 1000 && has(payment.riskData)",` +
		`"delaySeconds":60,"actions":[{"type":"capture","share":0.5,"final":false},{"type":"http_request","url":"https://shop.example/hook"}],"enabled":false}`,
	`{"name":"refunds","trigger":{"eventType":"PAYMENT.REFUND"},"condition":"event.sequence > 2","actions":[{"type":"cancel","reason":"r"},{"type":"refund","amount":1,"orderId":"o"}]}`,
	`{"name":"","trigger":{"eventType":"DISPUTE.OPENED","status":"AUTHORIZED"},"condition":"payment.","actions":[{"type":"capture","share":0,"url":"x"}]}`, `{}`,
}

// someWorkflow makes a workflow.
func someWorkflow(r *rig) target {
	return target{id: r.want(r.post("/management/workflows", workflowSeeds[1]), 200, "").text1("id")}
}

func endpoint(r *rig) target {
	return target{id: r.want(r.post("/management/webhook-endpoints", `{"url":"https://shop.example/hook"}`), 200, "").text1("id")}
}

func dashboardUser(r *rig) target {
	return target{id: r.want(r.post("/management/users", `{"email":"user-`+strconv.FormatUint(r.events(), 10)+`@shop.example","role":"operator"}`), 200, "").text1("id")}
}

// fuzzRig is a rig that many runs of a fuzz target share.
type fuzzRig struct {
	*rig
	targets map[string]*target
	wrong   error // contradictions between answers and openapi.yaml since the last check
}

func newFuzzRig(f testing.TB, hooks *webhooks) *fuzzRig {
	r := &fuzzRig{rig: newRigWith(f, usualTimeout, hooks), targets: map[string]*target{}}
	transport := &http.Transport{}
	f.Cleanup(transport.CloseIdleConnections)
	r.client = &http.Client{Transport: checking(func(q *http.Request) (*http.Response, error) {
		answer, err := transport.RoundTrip(q)
		if err == nil && r.wrong == nil {
			r.wrong = openapitest.Check(q, answer)
		}
		return answer, err
	})}
	return r
}

// checking is a transport that compares answers with openapi.yaml.
type checking func(*http.Request) (*http.Response, error)

func (c checking) RoundTrip(r *http.Request) (*http.Response, error) { return c(r) }

// FuzzBody sends bodies to every operation that has one. No body makes the API fail or return an
// answer outside openapi.yaml, each violation names its path, and a refused body leaves nothing in
// the log but the attempts that D7 records.
func FuzzBody(f *testing.F) {
	everyBody(f)
	for i, o := range fuzzedBodies {
		for _, seed := range o.seeds {
			f.Add(uint8(i), []byte(seed))
		}
	}
	rigs := newFuzzRigs(f)
	f.Fuzz(func(t *testing.T, which uint8, body []byte) {
		rigs.try(t, fuzzedBodies[int(which)%len(fuzzedBodies)], string(body))
	})
}

// fuzzRigs are a rig whose account stays unchanged, and a rig whose account changes. The second has
// no payments, so that its endpoints receive no webhooks.
type fuzzRigs struct{ pays, manages *fuzzRig }

func newFuzzRigs(t testing.TB) fuzzRigs {
	return fuzzRigs{newFuzzRig(t, nil), newFuzzRig(t, &webhooks{})}
}

// try sends one body and checks the rules that hold for the answer to any body.
func (rigs fuzzRigs) try(t *testing.T, o fuzzed, body string) {
	t.Helper()
	r := rigs.pays
	if o.manages {
		r = rigs.manages
	}
	r.t, r.wrong = t, nil
	about := r.about(o)
	before := r.events()
	a := r.fuzz(o, about, body)
	switch {
	case r.wrong != nil:
		t.Errorf("%s to %q: %v", o.operation, body, r.wrong)
	case a.status >= http.StatusInternalServerError:
		t.Errorf("%s answered %d %s to %q", o.operation, a.status, a.text, body)
	case a.status == http.StatusOK, a.status == http.StatusAccepted && a.errorID() == "":
		delete(r.targets, o.operation)
	default:
		if left := r.events() - before; left > 1 || left > 0 && !attempt(a) {
			t.Errorf("%s answered %d %s to %q and left %d events", o.operation, a.status, a.text, body, left)
		}
		violations(t, a)
	}
}

// strange are JSON values of wrong types and forms.
var strange = []string{
	`null`, `true`, `""`, `" "`, `"\u0000"`, `"4111 1111 1111 1111"`, `"2030-01-01T00:00:00+99:99"`, `0`, `-1`, `1.5`, `1e400`, `9007199254740993`,
	`[]`, `[null]`, `[[]]`, `{}`, `{"":1}`, `{"a":{"a":{}}}`,
}

// TestStrangeBodies puts every strange value in the place of every value of every seed. The sample
// has the empty text in each place: no type refuses it where a text belongs.
func TestStrangeBodies(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	rigs := newFuzzRigs(t)
	for _, o := range fuzzedBodies {
		t.Run(o.operation, func(t *testing.T) {
			sent := 0
			for _, seed := range o.seeds {
				var tree any
				if json.Unmarshal([]byte(seed), &tree) != nil {
					continue
				}
				for i, body := range mutants(tree) {
					if (seedtest.Sampled() && i%61 > 0 || !seedtest.Turn(i, 3)) && strange[i%len(strange)] != `""` { // prime to how many values there are
						continue
					}
					rigs.try(t, o, body)
					sent++
				}
			}
			t.Logf("%d bodies", sent)
		})
	}
}

// mutants returns the texts of a JSON value with each strange value in each of its places.
func mutants(v any) (out []string) {
	out = append(out, strange...)
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			for _, text := range mutants(v[key]) {
				changed := maps.Clone(v)
				changed[key] = json.RawMessage(text)
				out = append(out, jsonOf(changed))
			}
		}
	case []any:
		for i, inner := range v {
			for _, text := range mutants(inner) {
				changed := slices.Clone(v)
				changed[i] = json.RawMessage(text)
				out = append(out, jsonOf(changed))
			}
		}
	}
	return out
}

func jsonOf(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // the strange values are JSON
	}
	return string(text)
}

// everyBody fails unless every operation of openapi.yaml that has a body is fuzzed.
func everyBody(f *testing.F) {
	doc, err := openapi3.NewLoader().LoadFromData(httpapi.OpenAPI())
	must(f, err)
	for path, item := range doc.Paths.Map() {
		for method, operation := range item.Operations() {
			known := slices.ContainsFunc(fuzzedBodies, func(o fuzzed) bool { return o.operation == operation.OperationID })
			if operation.RequestBody != nil && !known {
				f.Errorf("%s %s has a body and is not fuzzed", method, path)
			}
		}
	}
}

// about returns the operation's target. It creates one if none is left.
func (r *fuzzRig) about(o fuzzed) target {
	if r.targets[o.operation] == nil {
		made := o.make(r.rig)
		r.targets[o.operation] = &made
	}
	return *r.targets[o.operation]
}

// fuzz sends one body.
func (r *fuzzRig) fuzz(o fuzzed, about target, body string) answer {
	in := strings.NewReplacer("TARGET", about.id, "TOKEN", about.token)
	body = in.Replace(body)
	if o.signed {
		return r.signedNotify("ADYEN", body)
	}
	q := request{method: o.method, path: in.Replace(o.path), body: body, header: map[string]string{}}
	if o.browser {
		q.header = map[string]string{"X-Api-Key": "", "X-Api-Version": "", "X-Client-Token": about.token}
	}
	return r.do(q)
}

// attempt reports whether an answer is a refusal that is recorded: of a capture or refund above the
// remaining amount (D7).
func attempt(a answer) bool {
	recorded := []string{"RequestValidationError", "UnprocessableRefundAmount", "PaymentAlreadyRefunded"}
	return a.text1("error", "paymentId") != "" && slices.Contains(recorded, a.errorID())
}

// violations wants a path and a description in each (D3), and at least one in every 422 that is
// about the body.
func violations(t *testing.T, a answer) {
	t.Helper()
	if a.errorID() == "RequestValidationError" && len(a.faults()) == 0 {
		t.Errorf("no violation is named: %s", a.text)
	}
	for _, fault := range a.faults() {
		var model, path, description string
		if n, _ := fmt.Sscan(fault, &model, &path, &description); n < 3 || !strings.HasPrefix(path, "$") {
			t.Errorf("a violation says %q", fault)
		}
	}
}
