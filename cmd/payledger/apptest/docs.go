package apptest

import (
	"html"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"payledger/cmd/payledger/app"
	"payledger/domain/childtest"
	"payledger/httpapi"
)

// The ids and tokens of openapi.yaml's examples. A test puts its own into an example's place, and
// these into a recorded answer.
const (
	ExamplePayment     = "01kzckyspad8av3fjghkvvb93n4c"
	ExampleToken       = "01kzckyq7m2c9w4t6xe8n0rjd5wk"
	exampleAttempt     = "01kzckz3h8vq2d6s0tbgwm4yfa2n"
	exampleKey         = "eyMSNf2pO5Bnk74Y"
	exampleEndpoint    = "5d0f3c1e-2b6a-4f7d-9c8e-0a1b2c3d4e5f"
	exampleDelivery    = "w7kq2m5czx4t6ndj3hsbgva2ye"
	exampleReplay      = "c2a7f0de-15b4-4e3a-8d69-70b1e4c8f923"
	ExampleDispute     = "01m3r8e5kq0w7vt2zhc6xj4ynd7s"
	exampleComparison  = "4mq2xv7kbn3sdh6tjw5yceuzra"
	exampleWorkflow    = "9d4e2b60-7c1f-4a58-b3e9-6f0a2d8c5b17"
	exampleUser        = "q4c1yw9m3kr8t2xn6hbv7zse5d"
	exampleListener    = "8b1e6f24-93ad-4c70-b5e2-d17f0a9c4e63"
	exampleWebhook     = "4f0c1d…" // a message in the stream of a listener
	exampleClientToken = "eyJhbGciOi…"
)

// Reader is a person who reads the pages below /docs and tries their examples.
type Reader struct {
	*Merchant
	T        *testing.T
	app      *app.App
	receiver string // of webhooks
}

// NewReader starts a service for a reader of the documentation.
func NewReader(t *testing.T) *Reader {
	t.Helper()
	app := StartApp(t, TestOptions(t.TempDir()))
	hooks := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(hooks.Close)
	return &Reader{NewMerchant(app.Ready().API, app.Credentials.APIKey), t, app, hooks.URL}
}

// block is a block of code in a page.
var block = regexp.MustCompile(`(?s)<pre tabindex="0"(?: class="wraps")?><code>(.*?)</code></pre>`)

// Page reads a page and its blocks of code.
func (r *Reader) Page(path string) (text string, blocks []string) {
	r.T.Helper()
	got, err := r.Call("GET", path, nil, nil)
	if err != nil || got.Status != http.StatusOK {
		r.T.Fatalf("GET %s: %d %s %v", path, got.Status, got.Body, err)
	}
	text = string(got.Body)
	for _, m := range block.FindAllStringSubmatch(text, -1) {
		blocks = append(blocks, html.UnescapeString(m[1]))
	}
	return text, blocks
}

// loadOpenAPI reads openapi.yaml, once: it takes a quarter of a second.
var loadOpenAPI = sync.OnceValues(httpapi.LoadOpenAPI)

// OpenAPI is openapi.yaml.
func OpenAPI(t *testing.T) *openapi3.T {
	t.Helper()
	document, err := loadOpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	return document
}

// Own has the values that replace an example's ids and tokens, by the example's value. CLIENT_TOKEN
// and SIGNATURE are variables.
type Own map[string]string

// Into returns a text with the values in place of the examples'.
func (o Own) Into(text string) string {
	for example, value := range o {
		if example != "CLIENT_TOKEN" && example != "SIGNATURE" {
			text = strings.ReplaceAll(text, example, value)
		}
	}
	return text
}

// Run runs an example as a shell does, and returns status and body of the answer. A stream is cut
// after a second.
func (r *Reader) Run(command string, mine Own) (status, body string) {
	r.T.Helper()
	environment := []string{"PAYLEDGER_API_KEY=" + r.Key, "CLIENT_TOKEN=" + mine["CLIENT_TOKEN"], "SIGNATURE=" + mine["SIGNATURE"]}
	command = mine.Into(command)
	c := childtest.Tied(exec.CommandContext(r.T.Context(), "bash", "-c", `curl() { command curl -sS -w '\n%{http_code}' "$@"; }`+"\n"+command))
	if strings.Contains(command, "curl -N") {
		c = childtest.Tied(exec.CommandContext(r.T.Context(), "bash", "-c", `curl() { command curl -sS --max-time 1 -w '\n%{http_code}' "$@"; }`+"\n"+command+" || true"))
	}
	c.Env = append(c.Environ(), environment...)
	out, err := c.Output()
	if err != nil {
		r.T.Errorf("%v\n%s\n%s", err, command, out)
		return "", ""
	}
	text := string(out)
	at := strings.LastIndexByte(text, '\n')
	return text[at+1:], text[:max(at, 0)]
}

// Session opens a client session and returns its client token.
func (r *Reader) Session(changes map[string]any) string {
	r.T.Helper()
	fields := map[string]any{"orderId": "order-1001", "currencyCode": "EUR", "amount": 2500, "customerId": "customer-7"}
	for name, value := range changes {
		fields[name] = value
	}
	return r.Field("POST", "/client-session", r.Headers(), fields, "clientToken")
}

// Card makes a token of a card in a client session.
func (r *Reader) Card(client, number string) string {
	r.T.Helper()
	return r.Field("POST", "/payment-instruments", map[string]string{"X-Client-Token": client}, map[string]any{"paymentInstrument": map[string]any{
		"number": number, "cvv": "123", "expirationMonth": "12", "expirationYear": Expires, "cardholderName": "Ada Lovelace",
	}}, "token")
}

// Paid creates a payment with a card, and returns its id.
func (r *Reader) Paid(number string, session map[string]any) string {
	r.T.Helper()
	return r.Field("POST", "/payments", r.Headers(), map[string]any{"paymentMethodToken": r.Card(r.Session(session), number)}, "id")
}

// Field makes a call and returns a field of its answer, "a.b" being a field of an object.
func (r *Reader) Field(method, path string, header map[string]string, body any, name string) string {
	r.T.Helper()
	got, err := r.Call(method, path, header, body)
	if err != nil || got.Status >= 300 {
		r.T.Fatalf("%s %s: %d %s %v", method, path, got.Status, got.Body, err)
	}
	var value any
	got.Decode(r.T, &value)
	text := valueAt(value, name)
	if text == "" {
		r.T.Fatalf("%s %s answers no %s: %s", method, path, name, got.Body)
	}
	return text
}

// eventually reads a list until it has an element, and returns the element's field.
func (r *Reader) eventually(path, name string) string {
	r.T.Helper()
	found := ""
	Eventually(r.T, func() bool {
		var list struct{ Data []map[string]any }
		r.Must(r.T, "GET", path, r.Headers(), nil).Decode(r.T, &list)
		if len(list.Data) > 0 {
			found, _ = list.Data[0][name].(string)
		}
		return found != ""
	})
	return found
}
