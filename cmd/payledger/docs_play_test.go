package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"payledger/httpapi"
	"payledger/processorsim/protocol"
)

// The ids and tokens of openapi.yaml's examples. A test puts its own into an example's place, and these into a recorded answer.
const (
	examplePayment     = "01kzckyspad8av3fjghkvvb93n4c"
	exampleToken       = "01kzckyq7m2c9w4t6xe8n0rjd5wk"
	exampleAttempt     = "01kzckz3h8vq2d6s0tbgwm4yfa2n"
	exampleKey         = "eyMSNf2pO5Bnk74Y"
	exampleEndpoint    = "5d0f3c1e-2b6a-4f7d-9c8e-0a1b2c3d4e5f"
	exampleDelivery    = "w7kq2m5czx4t6ndj3hsbgva2ye"
	exampleReplay      = "c2a7f0de-15b4-4e3a-8d69-70b1e4c8f923"
	exampleDispute     = "01m3r8e5kq0w7vt2zhc6xj4ynd7s"
	exampleWorkflow    = "9d4e2b60-7c1f-4a58-b3e9-6f0a2d8c5b17"
	exampleUser        = "q4c1yw9m3kr8t2xn6hbv7zse5d"
	exampleListener    = "8b1e6f24-93ad-4c70-b5e2-d17f0a9c4e63"
	exampleWebhook     = "4f0c1d…" // a message in the stream of a listener
	exampleClientToken = "eyJhbGciOi…"
)

// reader is a person who reads the pages below /docs and tries their examples.
type reader struct {
	*merchant
	t        *testing.T
	app      *App
	receiver string // of webhooks
}

func newReader(t *testing.T) *reader {
	t.Helper()
	app := startApp(t, testOptions(t.TempDir()))
	hooks := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(hooks.Close)
	return &reader{newMerchant(app.ready().API, app.credentials.APIKey), t, app, hooks.URL}
}

// block is a block of code in a page.
var block = regexp.MustCompile(`(?s)<pre tabindex="0"(?: class="wraps")?><code>(.*?)</code></pre>`)

// page reads a page and its blocks of code.
func (r *reader) page(path string) (text string, blocks []string) {
	r.t.Helper()
	got, err := r.call("GET", path, nil, nil)
	if err != nil || got.status != http.StatusOK {
		r.t.Fatalf("GET %s: %d %s %v", path, got.status, got.body, err)
	}
	text = string(got.body)
	for _, m := range block.FindAllStringSubmatch(text, -1) {
		blocks = append(blocks, html.UnescapeString(m[1]))
	}
	return text, blocks
}

// loadOpenAPI reads openapi.yaml, once: it takes a quarter of a second.
var loadOpenAPI = sync.OnceValues(httpapi.LoadOpenAPI)

// openAPI is openapi.yaml.
func openAPI(t *testing.T) *openapi3.T {
	t.Helper()
	document, err := loadOpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	return document
}

// own has the values that replace an example's ids and tokens, by the example's value. CLIENT_TOKEN and SIGNATURE are variables.
type own map[string]string

// run runs an example as a shell does, and returns status and body of the answer. A stream is cut after a second.
func (r *reader) run(command string, mine own) (status, body string) {
	r.t.Helper()
	environment := []string{"PAYLEDGER_API_KEY=" + r.key, "CLIENT_TOKEN=" + mine["CLIENT_TOKEN"], "SIGNATURE=" + mine["SIGNATURE"]}
	for example, value := range mine {
		if example != "CLIENT_TOKEN" && example != "SIGNATURE" {
			command = strings.ReplaceAll(command, example, value)
		}
	}
	c := exec.CommandContext(r.t.Context(), "bash", "-c", `curl() { command curl -sS -w '\n%{http_code}' "$@"; }`+"\n"+command)
	if strings.Contains(command, "curl -N") {
		c = exec.CommandContext(r.t.Context(), "bash", "-c", `curl() { command curl -sS --max-time 1 -w '\n%{http_code}' "$@"; }`+"\n"+command+" || true")
	}
	c.Env = append(c.Environ(), environment...)
	out, err := c.Output()
	if err != nil {
		r.t.Errorf("%v\n%s\n%s", err, command, out)
		return "", ""
	}
	text := string(out)
	at := strings.LastIndexByte(text, '\n')
	return text[at+1:], text[:max(at, 0)]
}

// session opens a client session and returns its client token.
func (r *reader) session(changes map[string]any) string {
	r.t.Helper()
	fields := map[string]any{"orderId": "order-1001", "currencyCode": "EUR", "amount": 2500, "customerId": "customer-7"}
	for name, value := range changes {
		fields[name] = value
	}
	return r.field("POST", "/client-session", r.headers(), fields, "clientToken")
}

// card makes a token of a card in a client session.
func (r *reader) card(client, number string) string {
	r.t.Helper()
	return r.field("POST", "/payment-instruments", map[string]string{"X-Client-Token": client}, map[string]any{"paymentInstrument": map[string]any{
		"number": number, "cvv": "123", "expirationMonth": "12", "expirationYear": expires, "cardholderName": "Ada Lovelace",
	}}, "token")
}

// paid creates a payment with a card, and returns its id.
func (r *reader) paid(number string, session map[string]any) string {
	r.t.Helper()
	return r.field("POST", "/payments", r.headers(), map[string]any{"paymentMethodToken": r.card(r.session(session), number)}, "id")
}

// field makes a call and returns a field of its answer, "a.b" being a field of an object.
func (r *reader) field(method, path string, header map[string]string, body any, name string) string {
	r.t.Helper()
	got, err := r.call(method, path, header, body)
	if err != nil || got.status >= 300 {
		r.t.Fatalf("%s %s: %d %s %v", method, path, got.status, got.body, err)
	}
	var value any
	got.decode(r.t, &value)
	text := valueAt(value, name)
	if text == "" {
		r.t.Fatalf("%s %s answers no %s: %s", method, path, name, got.body)
	}
	return text
}

// eventually reads a list until it has an element, and returns the element's field.
func (r *reader) eventually(path, name string) string {
	r.t.Helper()
	found := ""
	eventually(r.t, func() bool {
		var list struct{ Data []map[string]any }
		r.must(r.t, "GET", path, r.headers(), nil).decode(r.t, &list)
		if len(list.Data) > 0 {
			found, _ = list.Data[0][name].(string)
		}
		return found != ""
	})
	return found
}

const plainCard = "4111111111111111"

// vaulted vaults a card and returns its token.
func (r *reader) vaulted() string {
	r.t.Helper()
	token := r.card(r.session(nil), plainCard)
	r.must(r.t, "POST", "/payment-instruments/"+token+"/vault", r.headers(), map[string]any{"customerId": "customer-7"})
	return token
}

// waiting creates a payment with a 3-D Secure check, and returns its id, its session's client token and its action's.
func (r *reader) waiting() (payment, client, action string) {
	r.t.Helper()
	client = r.session(nil)
	got := r.must(r.t, "POST", "/payments", r.headers(), map[string]any{"paymentMethodToken": r.card(client, "4916994064252017")})
	var p struct {
		ID             string
		RequiredAction struct{ ClientToken string }
	}
	got.decode(r.t, &p)
	return p.ID, client, p.RequiredAction.ClientToken
}

func (r *reader) passed(action string) string {
	r.t.Helper()
	return r.field("POST", "/required-actions/complete", map[string]string{"X-Client-Token": action}, map[string]any{"outcome": "AUTHENTICATED"}, "resumeToken")
}

// attempt starts a payment attempt in a MANUAL session, and returns its id and the session's client token.
func (r *reader) attempt() (attempt, client string) {
	r.t.Helper()
	client = r.session(map[string]any{"approvalMode": "MANUAL"})
	return r.field("POST", "/payment-attempts", map[string]string{"X-Client-Token": client}, map[string]any{"paymentMethodToken": r.card(client, plainCard)}, "currentAttempt.id"), client
}

func (r *reader) endpoint() string {
	r.t.Helper()
	return r.field("POST", "/management/webhook-endpoints", r.headers(), map[string]any{"url": r.receiver, "description": "shop"}, "id")
}

func (r *reader) workflow() string {
	r.t.Helper()
	return r.field("POST", "/management/workflows", r.headers(), smallOrders("payment.amount <= 100"), "id")
}

// smallOrders is a workflow with a condition.
func smallOrders(condition string) map[string]any {
	return map[string]any{
		"name": "Capture small orders", "trigger": map[string]any{"eventType": "PAYMENT.STATUS", "status": "AUTHORIZED"}, "condition": condition,
		"actions": []any{map[string]any{"type": "capture"}},
	}
}

// listened makes a listener, and reads a webhook of its stream, which stays open.
func (r *reader) listened() own {
	r.t.Helper()
	mine := listens(r)
	stream := r.stream(r.t, "/management/webhook-listeners/"+mine[exampleListener]+"/stream")
	stream.message(r.t, "ready")
	r.paid(plainCard, nil)
	var webhook struct{ ID string }
	if err := json.Unmarshal(stream.message(r.t, "webhook"), &webhook); err != nil || webhook.ID == "" {
		r.t.Fatalf("%+v %v", webhook, err)
	}
	mine[exampleWebhook] = webhook.ID
	return mine
}

// meanwhile makes a call again and again, one after the other, while an example reads a stream.
func (r *reader) meanwhile(method, path string) {
	done := make(chan struct{})
	r.t.Cleanup(func() { <-done })
	go func() {
		defer close(done)
		for range 200 {
			_, _ = r.call(method, path, r.headers(), nil)
		}
	}()
}

// delivered returns a webhook delivery that succeeded.
func (r *reader) delivered() own {
	r.t.Helper()
	endpoint := r.endpoint()
	payment := r.paid(plainCard, nil)
	return own{exampleEndpoint: endpoint, examplePayment: payment, exampleDelivery: r.eventually("/management/webhook-deliveries?outcome=SUCCEEDED&endpointId="+endpoint, "id")}
}

// given returns the values for each example, by operationId. An example with a path alone gets the value of its id.
var given = map[string]func(*reader) own{
	"getClientSession":             func(r *reader) own { return own{"CLIENT_TOKEN": r.session(nil)} },
	"changeClientSession":          func(r *reader) own { return own{exampleClientToken: r.session(nil)} },
	"createPayment":                func(r *reader) own { return own{exampleToken: r.card(r.session(nil), plainCard)} },
	"createPaymentInstrument":      func(r *reader) own { return own{"CLIENT_TOKEN": r.session(nil)} },
	"listPaymentInstruments":       func(r *reader) own { return own{exampleToken: r.vaulted()} },
	"vaultPaymentInstrument":       func(r *reader) own { return own{exampleToken: r.card(r.session(nil), plainCard)} },
	"makePaymentInstrumentDefault": func(r *reader) own { return own{exampleToken: r.vaulted()} },
	"deletePaymentInstrument":      func(r *reader) own { return own{exampleToken: r.vaulted()} },
	"resumePayment": func(r *reader) own {
		payment, _, action := r.waiting()
		return own{examplePayment: payment, exampleClientToken: r.passed(action)}
	},
	"refundPayment": captured, "refundManagedPayment": captured,
	"adjustPaymentAuthorization": func(r *reader) own {
		return own{examplePayment: r.paid(plainCard, map[string]any{"paymentMethod": map[string]any{"authorizationType": "ESTIMATED"}})}
	},
	"approvePaymentAttempt": attempted, "abortPaymentAttempt": attempted, "getPaymentAttempt": attempted,
	"createPaymentAttempt": func(r *reader) own {
		client := r.session(map[string]any{"approvalMode": "MANUAL"})
		return own{exampleToken: r.card(client, plainCard), "CLIENT_TOKEN": client}
	},
	"completeRequiredAction": func(r *reader) own {
		_, _, action := r.waiting()
		return own{"CLIENT_TOKEN": action}
	},
	"getCheckoutConfiguration": func(r *reader) own { return own{"CLIENT_TOKEN": r.session(nil)} },
	"getCheckoutPage":          func(r *reader) own { return own{"CLIENT_TOKEN": r.session(nil)} },
	"getChallengePage": func(r *reader) own {
		_, _, action := r.waiting()
		return own{"CLIENT_TOKEN": action}
	},
	"createCheckoutPayment": func(r *reader) own {
		client := r.session(nil)
		return own{exampleToken: r.card(client, plainCard), "CLIENT_TOKEN": client}
	},
	"getCheckoutPayment": func(r *reader) own {
		payment, client, _ := r.waiting()
		return own{examplePayment: payment, "CLIENT_TOKEN": client}
	},
	"resumeCheckoutPayment": func(r *reader) own {
		payment, client, action := r.waiting()
		return own{examplePayment: payment, "CLIENT_TOKEN": client, exampleClientToken: r.passed(action)}
	},
	"revokeApiKey": func(r *reader) own {
		return own{exampleKey: r.field("POST", "/management/api-keys", r.headers(), map[string]any{"name": "shop backend", "scopes": []string{"transactions:retrieve"}}, "id")}
	},
	"createWebhookEndpoint": func(r *reader) own { return own{"https://shop.example/webhooks": r.receiver} },
	"listWebhookEndpoints":  endpoints, "changeWebhookEndpoint": endpoints, "deleteWebhookEndpoint": endpoints, "testWebhookEndpoint": endpoints,
	"createWebhookReplay": endpoints,
	"getWebhookReplay": func(r *reader) own {
		mine := r.delivered()
		mine[exampleReplay] = r.field("POST", "/management/webhook-replays", r.headers(), map[string]any{"endpointId": mine[exampleEndpoint], "from": "2026-01-01T00:00:00Z", "to": "2040-01-01T00:00:00Z"}, "id")
		return mine
	},
	"listWebhookDeliveries": (*reader).delivered, "getWebhookDelivery": (*reader).delivered, "resendWebhookDelivery": (*reader).delivered,
	"listDisputes": disputed, "getDispute": disputed,
	"search":       func(r *reader) own { return own{examplePayment: r.paid(plainCard, nil)} },
	"listAuditLog": endpoints,
	"changeUser":   user("grace@shop.example"), "removeUser": user("alan@shop.example"),
	"deleteWebhookListener": listens, "answerWebhookListener": (*reader).listened,
	"streamWebhookListener": func(r *reader) own {
		mine := listens(r)
		r.meanwhile("POST", "/management/webhook-endpoints/"+mine[exampleListener]+"/test")
		return mine
	},
	"streamRequestLog": func(r *reader) own {
		r.meanwhile("GET", "/payments?limit=1")
		return own{}
	},
	"listWorkflowVersions": func(r *reader) own {
		workflow := r.workflow()
		r.must(r.t, "PUT", "/management/workflows/"+workflow, r.headers(), smallOrders("payment.amount <= 200"))
		return own{exampleWorkflow: workflow}
	},
	"eraseGuest": func(r *reader) own { return own{examplePayment: r.paid(plainCard, map[string]any{"customerId": nil})} },
	"eraseCustomer": func(r *reader) own {
		return own{examplePayment: r.paid(plainCard, map[string]any{"customer": map[string]any{"email": "ada@example.com"}})}
	},
}

func attempted(r *reader) own {
	attempt, client := r.attempt()
	return own{exampleAttempt: attempt, "CLIENT_TOKEN": client}
}

func endpoints(r *reader) own { return own{exampleEndpoint: r.endpoint()} }

func listens(r *reader) own {
	return own{exampleListener: r.field("POST", "/management/webhook-listeners", r.headers(), map[string]any{"description": "my machine"}, "id")}
}

func captured(r *reader) own { return own{examplePayment: r.captured()} }

// user adds a dashboard user with an address.
func user(email string) func(*reader) own {
	return func(r *reader) own {
		return own{exampleUser: r.field("POST", "/management/users", r.headers(), map[string]any{"email": email, "role": "operator"}, "id")}
	}
}

func disputed(r *reader) own {
	payment := r.paid("4000000000000259", nil)
	r.must(r.t, "POST", "/payments/"+payment+"/capture", r.headers(), nil)
	return own{examplePayment: payment, exampleDispute: r.eventually("/management/disputes?paymentId="+payment, "id")}
}

// given returns the values for an example: those of its operation, or a payment, a workflow, or an object of its collection.
func (r *reader) given(operation, path string) own {
	r.t.Helper()
	switch make := given[operation]; {
	case make != nil:
		return make(r)
	case strings.Contains(path, "/payments") || strings.HasPrefix(path, "/events"):
		return own{examplePayment: r.paid(plainCard, nil)}
	case strings.HasPrefix(path, "/management/workflows"):
		return own{exampleWorkflow: r.workflow()}
	default:
		return own{}
	}
}

// made has the field of an answer that names the new object, with the example of its id, by operationId.
var made = map[string][2]string{
	"createPayment": {"id", examplePayment}, "createCheckoutPayment": {"id", examplePayment}, "approvePaymentAttempt": {"paymentId", examplePayment},
	"createPaymentInstrument": {"token", exampleToken}, "createPaymentAttempt": {"currentAttempt.id", exampleAttempt},
	"createApiKey": {"id", exampleKey}, "createWebhookEndpoint": {"id", exampleEndpoint}, "createWorkflow": {"id", exampleWorkflow},
	"createUser": {"id", exampleUser}, "createWebhookListener": {"id", exampleListener},
}

// learn adds the id of the object that a call has made.
func (o own) learn(t *testing.T, operation, body string) {
	t.Helper()
	object, is := made[operation]
	if !is {
		return
	}
	var value any
	if err := json.Unmarshal([]byte(body), &value); err != nil {
		t.Fatal(err)
	}
	if id := valueAt(value, object[0]); id != "" {
		o[object[1]] = id
	}
}

// valueAt returns a text in JSON, "a.b" being a field of an object; "" if there is none.
func valueAt(value any, name string) string {
	for part := range strings.SplitSeq(name, ".") {
		fields, _ := value.(map[string]any)
		value = fields[part]
	}
	text, _ := value.(string)
	return text
}

// anonymous replaces the values of this run, and secrets, by the examples' values.
func (r *reader) anonymous(body string, mine own) string {
	for example, value := range mine {
		if len(value) > 8 && !strings.HasPrefix(value, "http") {
			body = strings.ReplaceAll(body, value, cmp.Or(map[string]string{"CLIENT_TOKEN": exampleClientToken}[example], example))
		}
	}
	body = strings.ReplaceAll(body, r.receiver, "https://shop.example/webhooks")
	body = strings.ReplaceAll(body, strings.TrimSuffix(r.app.ready().API, "/"), "http://127.0.0.1:8080")
	body = strings.ReplaceAll(body, string(r.app.credentials.AccountID), "bpDk3QxTzR7wLm2V")
	for _, m := range secretLike {
		body = m.pattern.ReplaceAllString(body, m.example)
	}
	return body
}

var secretLike = []struct {
	pattern *regexp.Regexp
	example string
}{
	{regexp.MustCompile(`eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+`), exampleClientToken},
	{regexp.MustCompile(`plk_sandbox_[0-9A-Za-z]+_[0-9A-Za-z]+`), "plk_sandbox_eyMSNf2pO5Bnk74Y_example"},
	{regexp.MustCompile(`plsec_[0-9A-Za-z]+`), "plsec_example"},
	{regexp.MustCompile(`"password":"[0-9A-Za-z]{24}"`), `"password":"examplePasswordShownOnce"`},
}

// shapeOf returns the names and types of JSON, to compare two answers: each field once, elements of an array as one.
func shapeOf(text string) []string {
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		return nil
	}
	var all []string
	var walk func(at string, value any)
	walk = func(at string, value any) {
		all = append(all, fmt.Sprintf("%s %T", at, value))
		switch v := value.(type) {
		case map[string]any:
			for name, field := range v {
				walk(at+"."+name, field)
			}
		case []any:
			for _, element := range v {
				walk(at+"[]", element)
			}
		}
	}
	walk("", value)
	slices.Sort(all)
	return slices.Compact(all)
}

var hrefs = regexp.MustCompile(`(?:href|src)="([^"]+)"`)

// signed returns the signature of the body in a command, as a processor makes it.
func (r *reader) signed(command string) own {
	r.t.Helper()
	_, body, _ := strings.Cut(command, "-d '")
	return own{"SIGNATURE": protocol.Sign(r.app.processorSecret(), []byte(strings.TrimSuffix(body, "'")))}
}
