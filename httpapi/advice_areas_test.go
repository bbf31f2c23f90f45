package httpapi_test

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"payledger/eventstore/eventstoretest"
	"payledger/httpapi"
	"payledger/httpapi/docs"
)

// walk is a refusal with the way that its suggestion shows.
type walk struct {
	operations string // names, separated by spaces; "": an errorId that every call can have
	errorID    string
	refused    answer
	calls      string        // the calls that the suggestion has to name, with their ids, separated by commas
	end        func() answer // the caller's last step; nil: the first call that is named
}

// calledBy matches a call that a suggestion names, with its ids.
var calledBy = regexp.MustCompile(`(?:GET|POST|PUT|PATCH|DELETE) /[A-Za-z0-9{}/?=_.%-]*[A-Za-z0-9}_]`)

// needsQuery are the calls that a caller cannot make without a parameter, which the suggestion
// names in words.
var needsQuery = []string{"GET /client-session", "GET /payment-instruments"}

// advises checks that a suggestion names the calls of its row, and no other with an id that the
// caller does not have; that what it reads can be read; and that the last step succeeds.
func (r *rig) advises(w walk) {
	r.t.Helper()
	what := w.operations + " " + w.errorID
	said := w.refused.text1("error", "recoverySuggestion")
	if w.refused.errorID() != w.errorID {
		r.t.Errorf("%s: answered %d %s", what, w.refused.status, w.refused.text)
		return
	}
	var wanted []string
	if w.calls != "" {
		wanted = strings.Split(w.calls, ", ")
	}
	named := calledBy.FindAllString(said, -1)
	for _, call := range wanted {
		if !slices.Contains(named, call) {
			r.t.Errorf("%s names %q, not %s: %s", what, named, call, said)
		}
	}
	for _, call := range named {
		method, path, _ := strings.Cut(call, " ")
		switch {
		case strings.Contains(path, "{") && !slices.Contains(wanted, call):
			r.t.Errorf("%s names no id for %s: %s", what, call, said)
		case method == "GET" && !strings.Contains(path, "{") && !strings.HasPrefix(path, "/checkout/") && !slices.Contains(needsQuery, call):
			r.want(r.get(path), 200, "")
		}
	}
	if w.end == nil {
		return
	}
	if last := w.end(); last.status != 200 && last.status != 202 {
		r.t.Errorf("%s is followed, and ends with %d %s: %s", what, last.status, last.text, said)
	}
}

// walkedByTestAdvice are the calls of payments whose suggestions TestAdvice walks in every status,
// and those of processors.
var walkedByTestAdvice = []string{
	"createPayment", "createCheckoutPayment", "resumePayment", "resumeCheckoutPayment", "cancelPayment", "capturePayment", "refundPayment", "adjustPaymentAuthorization",
	"cancelManagedPayment", "captureManagedPayment", "refundManagedPayment", "receiveProcessorNotification",
}

// TestAdviceOfAreas walks the suggestions of all refusals of sessions, attempts, instruments,
// webhooks, workflows, disputes, accounts and reads: each names the ids and the call that are
// needed to follow it, and that ends well. openapi.yaml lists the errorIds of each call, and every
// answer of these tests is held to it: an errorId without a row here is an error.
func TestAdviceOfAreas(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r := &advised{hookRig: newHookRig(t, webhooks{})}
	walks := map[string]bool{}
	for _, area := range []func() []walk{
		r.general, r.sessions, r.instruments, r.webhooks, r.workflows, r.accounts, r.erasures, r.reads, r.attempts, r.decidedAttempts, r.processors, r.actions, r.expired, r.races,
	} {
		for _, w := range area() {
			r.advises(w)
			for _, operation := range strings.Fields(w.operations) {
				walks[operation+" "+w.errorID] = true
			}
			walks[strings.TrimSpace(w.operations+" "+w.errorID)] = true
		}
	}
	all, err := docs.ErrorIDs(httpapi.OpenAPI())
	must(t, err)
	for operation, ids := range all {
		if slices.Contains(walkedByTestAdvice, operation) {
			continue
		}
		for _, id := range ids {
			if !walks[operation+" "+id] && !walks[id] {
				t.Errorf("the suggestion of %s at %s is not walked", id, operation)
			}
		}
	}
	r.paidOnce()
}

// advised is a rig whose sessions have different orders.
type advised struct {
	*hookRig
	orders int
}

// order opens a session of an order of its own; more is put into it.
func (r *advised) order(more string) (client string) {
	r.orders++
	return r.session(fmt.Sprintf(`{"orderId":"advised-%d","customerId":"customer-7","currencyCode":"EUR","amount":1000%s}`, r.orders, more))
}

const manual = `,"approvalMode":"MANUAL"`

// paidOnce checks that no order has two payments that charge the customer.
func (r *advised) paidOnce() {
	charged := map[string]int{}
	for _, one := range r.want(r.get("/payments?limit=100"), 200, "").field("data").([]any) {
		p := one.(map[string]any)
		if order := p["orderId"].(string); strings.HasPrefix(order, "advised-") && !slices.Contains([]string{"DECLINED", "FAILED", "CANCELLED"}, p["status"].(string)) {
			if charged[order]++; charged[order] > 1 {
				r.t.Errorf("the order %s is paid %d times", order, charged[order])
			}
		}
	}
	if len(charged) == 0 {
		r.t.Error("nothing was paid")
	}
}

// of returns a field of the first element of a list.
func (r *advised) of(list, field string) string {
	r.t.Helper()
	return r.want(r.get(list), 200, "").field("data").([]any)[0].(map[string]any)[field].(string)
}

func (r *advised) general() []walk {
	send := func(q request) answer { return r.do(q) }
	list := func() answer { return r.get("/payments") }
	weak, _ := r.want(r.manage("POST", "/api-keys", `{"name":"weak","scopes":["transactions:retrieve"]}`), 200, "").field("apiKey").(string)
	unready := r.notReady(func() answer { return r.manage("GET", "/disputes/unknown", "") })
	return []walk{
		{"", "MalformedJson", send(request{method: "POST", path: "/client-session", body: "["}), "", func() answer { return r.post("/client-session", `{"orderId":"o"}`) }},
		{"", "RequestValidationError", r.get("/payments?limit=0"), "", list},
		{"", "Unauthorized", send(request{method: "GET", path: "/payments", header: map[string]string{"X-Api-Key": ""}}), "", list},
		{"", "MissingScope", send(request{method: "GET", path: "/management/settings", header: map[string]string{"X-Api-Key": weak}}), "POST /management/api-keys", func() answer {
			_, key := r.newKey(`"account:read"`)
			return send(request{method: "GET", path: "/management/settings", header: map[string]string{"X-Api-Key": key}})
		}},
		{"", "ApiVersionMissing", send(request{method: "GET", path: "/payments", header: map[string]string{"X-Api-Version": ""}}), "", list},
		{"", "ApiVersionNotSupported", send(request{method: "GET", path: "/payments", header: map[string]string{"X-Api-Version": "2.3"}}), "", list},
		{"", "UnsupportedMediaType", send(request{method: "POST", path: "/client-session", body: "{}", header: map[string]string{"Content-Type": "text/plain"}}), "", list},
		{"", "RequestTooLarge", r.post("/client-session", `{"orderId":"`+strings.Repeat("x", 1<<20)+`"}`), "", list},
		{"", "RequestHeadersTooLarge", send(request{method: "GET", path: "/payments", header: map[string]string{"X-Note": strings.Repeat("x", 33<<10)}}), "", list},
		{"", "NotFound", r.get("/payment"), "GET /openapi.yaml", nil},
		{"", "MethodNotAllowed", send(request{method: "DELETE", path: "/payments"}), "", list},
		{"", "ServiceUnavailable", unready, "GET /readyz", list},
		{"", "ClientSessionValidationError", r.inBrowser("unknown", "GET", "/checkout/configuration", ""), "POST /client-session", func() answer {
			return r.inBrowser(r.order(""), "GET", "/checkout/configuration", "")
		}},
	}
}

// races are requests that lose against another one of the same moment, and requests that a fault
// ends: a source of random bytes runs the other request in the middle of the first, or fails.
// Nothing of the first is recorded, and its repeat ends well. TestAfterUnknown has the texts of
// every call, payments' included, and TestRunningUnknown an operation of a payment that waited in
// vain.
func (r *advised) races() []walk {
	beside := func(other func() error, call func() answer) answer {
		r.random.before.Store(&other)
		defer r.random.before.Store(nil)
		return call()
	}
	fault := func() error { return errors.New("a fault") }
	rotate := func() answer { return r.manage("POST", "/signing-secret/rotate", "") }
	var all []walk
	all = append(all, walk{"", "ConcurrentModification", beside(func() error {
		r.want(rotate(), 200, "")
		return nil
	}, rotate), "", rotate})
	client := r.order("")
	for operation, one := range map[string]struct {
		calls string
		call  func() answer
	}{
		"createPaymentInstrument": {"", func() answer { return r.inBrowser(client, "POST", "/payment-instruments", someCard) }},
		"createApiKey": {"GET /management/api-keys, DELETE /management/api-keys/{id}", func() answer {
			return r.manage("POST", "/api-keys", `{"name":"after a fault","scopes":["events:read"]}`)
		}},
		"createUser": {"GET /management/users, PATCH /management/users/{id}", func() answer {
			return r.manage("POST", "/users", `{"email":"fault@shop.example","role":"auditor"}`)
		}},
		"createWebhookEndpoint": {"GET /management/webhook-endpoints", func() answer {
			return r.manage("POST", "/webhook-endpoints", `{"url":"`+r.inbox.url+`/fault","eventTypes":["PAYMENT.REFUND"]}`)
		}},
	} {
		all = append(all, walk{operation, "InternalError", beside(fault, one.call), one.calls, one.call})
	}
	return append(all, walk{operations: "", errorID: "InternalError", refused: beside(fault, rotate), calls: "GET /management/signing-secret", end: rotate})
}

// notReady makes a call while the service is not ready.
func (r *advised) notReady(call func() answer) answer {
	err := fmt.Errorf("behind")
	r.ready.Store(&err)
	defer r.ready.Store(nil)
	return call()
}

func (r *advised) sessions() []walk {
	client := r.order("")
	read := func() answer { return r.readSession(r.order("")) }
	empty := `"metadata":{"":"x"}`
	return []walk{
		{"createClientSession", "ClientSessionValidationError", r.post("/client-session", `{"amount":1}`), "", func() answer { return r.post("/client-session", `{"amount":1,"currencyCode":"EUR"}`) }},
		{"createClientSession", "MetadataContainsEmptyKey", r.post("/client-session", `{`+empty+`}`), "", func() answer { return r.post("/client-session", `{"metadata":{"named":"x"}}`) }},
		{"getClientSession", "ClientSessionValidationError", r.readSession("unknown"), "POST /client-session", read},
		{"changeClientSession", "ClientSessionValidationError", r.patch(client, `"approvalMode":"MANUAL"`), "POST /client-session", func() answer { return r.patch(client, `"amount":1001`) }},
		{"changeClientSession", "ClientSessionValidationError", r.patch("unknown", ""), "POST /client-session", read},
		{"changeClientSession", "MetadataContainsEmptyKey", r.patch(client, empty), "", func() answer { return r.patch(client, `"metadata":{"named":"x"}`) }},
	}
}

func (r *advised) instruments() []walk {
	const verify = `{"customerId":"customer-7","verify":true}`
	client := r.order("")
	saved := func() string { return r.of("/payment-instruments?customer_id=customer-7", "token") }
	again := func() answer { return r.vault(r.tokenize(r.order(""), goodCard), verify) }
	paid := r.tokenize(client, goodCard)
	r.want(r.pay(payWith(paid)), 200, "")
	walks := []walk{
		{"vaultPaymentInstrument", "InvalidPaymentInstrumentToken", r.vault(paid, verify), "POST /payment-instruments", again},
		{"vaultPaymentInstrument", "FailedVerification", r.vault(r.tokenize(r.order(""), declinedCard), verify), "POST /payment-instruments", again},
		{"makePaymentInstrumentDefault", "InvalidPaymentInstrumentToken", r.post("/payment-instruments/unknown/default", ""), "GET /payment-instruments", func() answer {
			return r.post("/payment-instruments/"+saved()+"/default", "")
		}},
		{"deletePaymentInstrument", "InvalidPaymentInstrumentToken", r.do(request{method: "DELETE", path: "/payment-instruments/unknown"}), "GET /payment-instruments", func() answer {
			return r.do(request{method: "DELETE", path: "/payment-instruments/" + saved()})
		}},
	}
	many := r.order("")
	save := func(flow string) answer {
		return r.browser(many, `{"paymentInstrument":{"number":"`+goodCard+`","cvv":"737","expirationMonth":"03","expirationYear":"`+expires+`","cardholderName":"Ada"}`+flow+`}`)
	}
	const vaulted = `,"paymentFlow":"VAULT"`
	for range 20 {
		r.want(save(vaulted), 200, "")
	}
	return append(walks, walk{"", "RateLimitExceeded", save(vaulted), "POST /payment-instruments, POST /client-session", func() answer {
		return r.inBrowser(many, "POST", "/checkout/payments", payWith(r.want(save(""), 200, "").text1("token")))
	}})
}

func (r *advised) webhooks() []walk {
	endpoint := r.takes("/advised", "PAYMENT.STATUS")
	r.sold(goodCard, `{"orderId":"hooked","currencyCode":"EUR","amount":1000}`)
	delivery := r.settled("endpointId="+endpoint+"&outcome=SUCCEEDED", 1)[0]["id"].(string)
	replay := func(key, body string) answer {
		return r.post("/management/webhook-replays", body, "X-Api-Version", "", "X-Idempotency-Key", key)
	}
	first := r.want(replay("first", replayOf(endpoint, "")), 200, "").text1("id")
	const endpoints, list = "/management/webhook-endpoints", "/management/webhook-deliveries"
	changed := func() answer {
		return r.manage("PATCH", "/webhook-endpoints/"+r.of(endpoints, "id"), `{"description":"x"}`)
	}
	listener := func() answer { return r.manage("POST", "/webhook-listeners", `{}`) }
	waits := r.want(listener(), 200, "").text1("id")
	walks := []walk{
		{"changeWebhookEndpoint", "EntityNotFound", r.manage("PATCH", "/webhook-endpoints/unknown", `{}`), "GET " + endpoints, changed},
		{"deleteWebhookEndpoint", "EntityNotFound", r.manage("DELETE", "/webhook-endpoints/unknown", ""), "GET " + endpoints, changed},
		{"testWebhookEndpoint", "EntityNotFound", r.manage("POST", "/webhook-endpoints/unknown/test", ""), "GET " + endpoints, changed},
		{"getWebhookDelivery", "EntityNotFound", r.manage("GET", "/webhook-deliveries/unknown", ""), "GET " + list, func() answer { return r.get(list + "/" + r.of(list, "id")) }},
		{"resendWebhookDelivery", "EntityNotFound", r.resend("unknown"), "GET " + list, func() answer { return r.resend(delivery) }},
		{"createWebhookReplay", "EntityNotFound", replay("unknown", replayOf("unknown", "")), "GET " + endpoints, func() answer { return replay("known", replayOf(endpoint, "")) }},
		{"createWebhookReplay", "IdempotencyKeyAlreadyExists", replay("first", replayOf(endpoint, `,"onlyFailed":true`)), "GET /management/webhook-replays/" + first, func() answer {
			return replay("second", replayOf(endpoint, `,"onlyFailed":true`))
		}},
		{"getWebhookReplay", "EntityNotFound", r.manage("GET", "/webhook-replays/unknown", ""), "GET /management/audit-log?type=webhook.replay_requested", func() answer {
			what := r.audit("type=webhook.replay_requested")[0]["what"].(map[string]any)
			return r.manage("GET", "/webhook-replays/"+what["id"].(string), "")
		}},
		{"listDeliveryRecords", "EntityNotFound", r.get("/webhook-deliveries?after=999999"), "", func() answer { return r.get("/webhook-deliveries?after=0") }},
		{"deleteWebhookListener", "EntityNotFound", r.manage("DELETE", "/webhook-listeners/unknown", ""), "POST /management/webhook-listeners", listener},
		{"streamWebhookListener", "EntityNotFound", r.manage("GET", "/webhook-listeners/unknown/stream", ""), "POST /management/webhook-listeners", listener},
		{"answerWebhookListener", "EntityNotFound", r.manage("POST", "/webhook-listeners/unknown/answers", `{"id":"x","status":200}`), "POST /management/webhook-listeners", listener},
		{"answerWebhookListener", "EntityNotFound", r.manage("POST", "/webhook-listeners/"+waits+"/answers", `{"id":"x","status":200}`), "GET " + list, nil},
	}
	r.want(r.manage("PATCH", "/webhook-endpoints/"+endpoint, `{"enabled":false}`), 200, "")
	disabled := r.resend(delivery)
	r.advises(walk{"resendWebhookDelivery", "RequestValidationError", disabled, "PATCH /management/webhook-endpoints/" + endpoint, func() answer {
		r.want(r.manage("PATCH", "/webhook-endpoints/"+endpoint, `{"enabled":true}`), 200, "")
		return r.resend(delivery)
	}})
	gone := r.takes("/gone", "PAYMENT.STATUS")
	r.until("/management/webhook-replays/"+r.want(replay("gone", replayOf(gone, "")), 200, "").text1("id"), "state", "DONE")
	sent := r.of("/management/webhook-deliveries?endpointId="+gone, "id")
	r.want(r.manage("DELETE", "/webhook-endpoints/"+gone, ""), 200, "")
	return append(walks, walk{"resendWebhookDelivery", "EntityNotFound", r.resend(sent), "POST /management/webhook-endpoints, POST /management/webhook-replays", func() answer {
		return replay("instead", replayOf(r.takes("/instead", "PAYMENT.STATUS"), ""))
	}})
}

func (r *advised) workflows() (walks []walk) {
	create := func(key, body string) answer {
		return r.post("/management/workflows", body, "X-Api-Version", "", "X-Idempotency-Key", key)
	}
	never := strings.Replace(halves, "payment.amount > 100", "false", 1)
	made := r.want(create("advised", never), 200, "").text1("id")
	other := strings.Replace(never, "halves", "others", 1)
	walks = []walk{
		{"createWorkflow", "IdempotencyKeyAlreadyExists", create("advised", other), "GET /management/workflows/" + made, func() answer { return create("another", other) }},
		{"simulateNewWorkflow", "EntityNotFound", r.manage("POST", "/workflows/simulate", strings.Replace(never, `{"name"`, `{"workflowId":"unknown","name"`, 1)), "GET /management/workflows", func() answer {
			return r.manage("POST", "/workflows/simulate", strings.Replace(never, `{"name"`, `{"workflowId":"`+r.of("/management/workflows", "id")+`","name"`, 1))
		}},
	}
	for operation, call := range map[string][3]string{
		"getWorkflow": {"GET", "", ""}, "replaceWorkflow": {"PUT", "", never}, "enableWorkflow": {"POST", "/enable", ""}, "disableWorkflow": {"POST", "/disable", ""},
		"listWorkflowVersions": {"GET", "/versions", ""}, "listWorkflowRuns": {"GET", "/runs", ""}, "simulateWorkflow": {"POST", "/simulate", "{}"},
	} {
		walks = append(walks, walk{operation, "EntityNotFound", r.manage(call[0], "/workflows/unknown"+call[1], call[2]), "GET /management/workflows", func() answer {
			return r.manage(call[0], "/workflows/"+r.of("/management/workflows", "id")+call[1], call[2])
		}})
	}
	return walks
}

func (r *advised) accounts() []walk {
	key, _ := r.newKey(`"account:read"`)
	user := r.user("ada@shop.example", "auditor").text1("id")
	sale := r.sold(goodCard, `{"orderId":"disputed","currencyCode":"EUR","amount":1000}`)
	r.want(r.post("/payments/"+sale+"/capture", ""), 200, "")
	dispute := r.disputedAs("/payments/"+sale, "DISPUTE")["id"].(string)
	preview := func(key string) answer {
		return r.manage("POST", "/routing/preview", `{"currencyCode":"EUR","amount":1,"metadata":{"`+key+`":"x"}}`)
	}
	return []walk{
		{"revokeApiKey", "EntityNotFound", r.manage("DELETE", "/api-keys/unknown", ""), "GET /management/api-keys", func() answer { return r.manage("DELETE", "/api-keys/"+key, "") }},
		{"changeUser", "EntityNotFound", r.manage("PATCH", "/users/unknown", `{}`), "GET /management/users", func() answer { return r.manage("PATCH", "/users/"+user, `{}`) }},
		{"removeUser", "EntityNotFound", r.manage("DELETE", "/users/unknown", ""), "GET /management/users", func() answer { return r.manage("DELETE", "/users/"+user, "") }},
		{"changeProcessor", "EntityNotFound", r.manage("PATCH", "/processors/UNKNOWN", `{"enabled":true}`), "GET /management/processors", func() answer {
			return r.manage("PATCH", "/processors/"+r.of("/management/processors", "name"), `{"enabled":true}`)
		}},
		{"getDispute", "EntityNotFound", r.manage("GET", "/disputes/unknown", ""), "GET /management/disputes", func() answer { return r.manage("GET", "/disputes/"+dispute, "") }},
		{"previewRouting", "MetadataContainsEmptyKey", preview(""), "", func() answer { return preview("named") }},
	}
}

func (r *advised) erasures() []walk {
	const customer = "Miller & Sons/7"
	sale := r.sold(goodCard, `{"orderId":"erased","customerId":"`+customer+`","currencyCode":"EUR","amount":1000,"customer":{"firstName":"Ada"}}`)
	guest := r.sold(goodCard, `{"orderId":"guest","currencyCode":"EUR","amount":1000,"customer":{"firstName":"Ada"}}`)
	path := "/management/customers/" + url.PathEscape(customer) + "/erase"
	refused := r.eraseGuest(sale)
	if said := refused.text1("error", "recoverySuggestion"); !strings.Contains(said, "POST "+path+".") {
		r.t.Errorf("the customer's path is not in %s", said)
	}
	return []walk{
		{"eraseCustomer", "EntityNotFound", r.eraseCustomer("unknown"), "GET /management/payments", func() answer {
			return r.eraseCustomer(r.want(r.manage("GET", "/payments?order_id=erased", ""), 200, "").field("data").([]any)[0].(map[string]any)["customerId"].(string))
		}},
		{"getCustomer", "EntityNotFound", r.manage("GET", "/customers/unknown", ""), "GET /management/customers", func() answer {
			for _, one := range r.want(r.manage("GET", "/customers", ""), 200, "").field("data").([]any) {
				if id := one.(map[string]any)["customerId"].(string); !strings.ContainsAny(id, "/ ") {
					return r.manage("GET", "/customers/"+id, "")
				}
			}
			return answer{}
		}},
		{"getReconciliationRun", "EntityNotFound", r.manage("GET", "/reconciliation-runs/unknown", ""), "GET /management/reconciliation-runs", func() answer {
			run := r.want(r.manage("POST", "/reconciliation-runs", `{"processor":"ADYEN"}`), 200, "").text1("id")
			return r.manage("GET", "/reconciliation-runs/"+run, "")
		}},
		{"eraseGuest", "EntityNotFound", r.eraseGuest("unknown"), "GET /management/payments", func() answer { return r.eraseGuest(guest) }},
		{"eraseGuest", "PaymentError", refused, "", func() answer { return r.post(path, "", "X-Api-Version", "") }},
	}
}

func (r *advised) reads() []walk {
	client := r.order("")
	made := r.want(r.inBrowser(client, "POST", "/checkout/payments", payWith(r.tokenize(client, goodCard))), 200, "").text1("id")
	const unknown = "/payments/unknown"
	var walks []walk
	for operation, path := range map[string]string{"getPayment": "", "getPaymentEvents": "/events", "getPaymentProof": "/proof"} {
		managed := strings.Replace(operation, "Payment", "ManagedPayment", 1)
		walks = append(walks,
			walk{operation, "PaymentError", r.get(unknown + path), "GET /payments", func() answer { return r.get("/payments/" + made) }},
			walk{managed, "PaymentError", r.manage("GET", unknown+path, ""), "GET /management/payments", func() answer { return r.manage("GET", "/payments/"+made, "") }})
	}
	for operation, path := range map[string]string{"getPaymentEvents": "/payments/", "getManagedPaymentEvents": "/management/payments/"} {
		walks = append(walks, walk{operation, "EntityNotFound", r.get(path + made + "/events?at=99"), "", func() answer { return r.get(path + made + "/events") }})
	}
	f, _ := newFeedRig(r.t) // has checkpoints
	sale := strings.TrimPrefix(f.paid(goodCard, ""), "/payments/")
	f.positioned()
	for operation, path := range map[string]string{"getPaymentProof": "/payments/", "getManagedPaymentProof": "/management/payments/"} {
		walks = append(walks, walk{operation, "EntityNotFound", f.get(path + sale + "/proof?since=999999"), "GET /checkpoints", nil})
	}
	for operation, path := range map[string]string{"listEvents": "/events", "streamEvents": "/events/stream"} {
		walks = append(walks,
			walk{operation, "PaymentError", f.get(path + "?paymentId=unknown"), "GET /payments", func() answer { return f.get("/events?paymentId=" + sale) }},
			walk{operation, "EntityNotFound", f.get(path + "?after=999999"), "", func() answer { return f.get("/events?after=0") }})
	}
	return append(walks, walk{"getCheckoutPayment", "PaymentError", r.inBrowser(client, "GET", "/checkout"+unknown, ""), "", func() answer {
		return r.inBrowser(client, "GET", "/checkout/payments/"+made, "")
	}})
}
