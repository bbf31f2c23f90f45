//go:build system

package kills

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"payledger/cmd/payledger/apptest"
	"payledger/domain/seedtest"
	"payledger/eventstore/eventstoretest"
	"payledger/httpapi"
	"payledger/httpapi/openapitest"
)

var (
	randomRequests = flag.Int("random.requests", 3000, "how many random requests the API gets")
)

// call is one operation of openapi.yaml.
type call struct {
	method, path string
	*openapi3.Operation
}

// TestRandomRequests checks that every answer, with header and body, is documented in openapi.yaml
// for its operation, and that no answer is a server error except 503 with Retry-After. The requests
// follow the schema, have one fault, or are no JSON at all (D1, D3). A longer test:
// -random.requests 100000.
func TestRandomRequests(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	n := *randomRequests
	p := apptest.ServeProcess(t, "--data", t.TempDir(), "--webhook-allow-cidr", "127.0.0.0/8", "--log-level", "error")
	doc, err := httpapi.LoadOpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	var calls []call
	for _, at := range slices.Sorted(maps.Keys(doc.Paths.Map())) {
		operations := doc.Paths.Value(at).Operations()
		for _, method := range slices.Sorted(maps.Keys(operations)) {
			calls = append(calls, call{method, at, operations[method]})
		}
	}
	random := &randomCaller{url: p.Ready.API, key: p.Credentials.APIKey, values: &values{rand.New(rand.NewSource(int64(seedtest.Seed(t)))), map[string][]string{}}, statuses: map[int]int{}, done: map[string]int{}, owner: map[string]string{}}
	random.client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer random.client.CloseIdleConnections()
	random.own = idOfKey(t, random.client, random.url, random.key)
	failures := 0
	for i := range n {
		c := calls[random.Intn(len(calls))]
		if random.percent(30) { // the fields that most other requests need
			often := random.often()
			c = calls[slices.IndexFunc(calls, func(c call) bool { return c.OperationID == often })]
		}
		if err := random.send(c); err != nil {
			t.Errorf("request %d: %v", i+1, err)
			if failures++; failures == 20 {
				t.Fatal("and so on")
			}
		}
	}
	t.Logf("answers by status: %v", random.statuses)
	for _, c := range calls {
		if random.done[c.OperationID] == 0 {
			t.Logf("never successful: %s", c.OperationID)
		}
	}
	p.Stop()
	for _, id := range []string{"createClientSession", "createPaymentInstrument", "createPayment"} {
		t.Logf("%s: %d", id, random.done[id])
		if n >= 3000 && random.done[id] == 0 {
			t.Errorf("%s never succeeded: the requests reach too little", id)
		}
	}
	for _, status := range []int{200, 400, 401, 404, 405, 415, 422} {
		if n >= 600 && random.statuses[status] == 0 {
			t.Errorf("no answer was %d: the requests reach too little", status)
		}
	}
}

// idOfKey returns the id of the key: the only one of a new account.
func idOfKey(t *testing.T, client *http.Client, url, key string) string {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/management/api-keys", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	q.Header = http.Header{"X-Api-Key": {key}, "X-Api-Version": {"2.4"}}
	answer, err := client.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var list struct{ Data []struct{ ID string } }
	if err := json.NewDecoder(answer.Body).Decode(&list); err != nil || len(list.Data) != 1 || list.Data[0].ID == "" {
		t.Fatal(answer.StatusCode, list, err)
	}
	return list.Data[0].ID
}

// randomCaller sends random requests.
type randomCaller struct {
	*values
	url, key string
	own      string // the id of the key, which no request may revoke
	client   *http.Client
	statuses map[int]int
	done     map[string]int    // successes, by operation
	owner    map[string]string // of newer payment method tokens, the client token
	turn     int
}

// place returns the path of an operation up to its first parameter: all ids there have one type.
func place(of call) string {
	before, _, _ := strings.Cut(of.path, "/{")
	return before
}

// often names the next of the calls that others need.
func (c *randomCaller) often() string {
	c.turn++
	return []string{"createClientSession", "createPaymentInstrument", "createPayment", "createCheckoutPayment", "capturePayment"}[c.turn/7%5]
}

// send makes a request of an operation and looks at its answer.
func (c *randomCaller) send(to call) error {
	q, body, err := c.request(to)
	if err != nil {
		return err
	}
	answer, err := c.client.Do(q)
	if err != nil {
		return fmt.Errorf("%s %s %.300q: %w", q.Method, q.URL, body, err)
	}
	defer answer.Body.Close()
	c.statuses[answer.StatusCode]++
	failed := answer.StatusCode >= 500 && (answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "")
	err = openapitest.Check(q, answer)
	var text []byte
	var readErr error
	if !openapitest.IsStream(answer) {
		text, readErr = io.ReadAll(answer.Body)
	}
	if failed {
		err = errors.Join(err, errors.New("the server failed"))
	}
	if err = errors.Join(err, readErr); err != nil {
		return fmt.Errorf("%s %s %.2000q: %d %.500s: %w", q.Method, q.URL, body, answer.StatusCode, text, err)
	}
	if answer.StatusCode < 300 && q.Method == to.method {
		c.done[to.OperationID]++
	}
	var tree any
	if json.Unmarshal(text, &tree) == nil && answer.StatusCode < 300 && q.Method == to.method && to.OperationID != "listApiKeys" { // our own key stays
		c.remember("", tree)
		c.rememberID(place(to), tree, 2)
		if fields, is := tree.(map[string]any); is && to.OperationID == "createPaymentInstrument" {
			if len(c.owner) == kept {
				clear(c.owner)
			}
			c.owner[fmt.Sprint(fields["token"])] = q.Header.Get("X-Client-Token")
		}
	}
	return nil
}

// request makes one: as the schema has it, or spoiled.
func (c *randomCaller) request(to call) (*http.Request, string, error) {
	method, target, query := to.method, to.path, url.Values{}
	header := http.Header{"X-API-Key": {c.key}, "X-API-Version": {"2.4"}}
	if to.Security != nil && strings.Contains(fmt.Sprint(*to.Security), "clientToken") {
		header = http.Header{"X-Client-Token": {c.again("clientToken")}}
	}
	for _, p := range to.Parameters {
		value, name := c.of(p.Value.Name, p.Value.Schema.Value, 0), p.Value.Name
		switch p.Value.In {
		case openapi3.ParameterInPath:
			if id := c.again(place(to)); name == "id" && id != "" && c.percent(80) {
				value = id
			}
			if name == "name" && c.percent(80) {
				value = []string{"ADYEN", "STRIPE", "PAYPAL"}[c.Intn(3)]
			}
			if to.OperationID == "revokeApiKey" && fmt.Sprint(value) == c.own { // another list has shown it
				value = "another"
			}
			if text := fmt.Sprint(value); strings.Trim(text, ".") != "" {
				text = strings.ReplaceAll(text, "/", "") // would make another path of it
				target = strings.ReplaceAll(target, "{"+name+"}", url.PathEscape(text))
			}
		case openapi3.ParameterInQuery:
			if p.Value.Required || c.percent(20) {
				query.Set(name, strings.Trim(fmt.Sprint(value), "[]"))
			}
		case openapi3.ParameterInHeader:
			if name != "X-API-VERSION" && c.percent(20) {
				header.Set(name, fmt.Sprint("key-", c.Intn(1000)))
			}
		}
	}
	body := ""
	if to.RequestBody != nil {
		body = c.body(to.RequestBody.Value.Content.Get("application/json"))
		header.Set("Content-Type", "application/json")
		if token := c.sent(body); token != "" && header.Get("X-Client-Token") != "" && c.percent(90) {
			header.Set("X-Client-Token", c.owner[token])
		}
	}
	if c.percent(4) {
		method = []string{"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "BREW"}[c.Intn(7)]
	}
	if c.percent(4) {
		query.Set(fmt.Sprint(c.odd()), fmt.Sprint(c.odd()))
	}
	if c.percent(10) {
		c.oddHeaders(header)
	}
	q, err := http.NewRequest(method, c.url+target+"?"+query.Encode(), bytes.NewReader([]byte(body)))
	if err != nil {
		return nil, "", err
	}
	q.Header = header
	return q, body, nil
}

// sent returns the token of a card in a body, if its client token is known.
func (c *randomCaller) sent(body string) string {
	for token := range c.owner {
		if strings.Contains(body, token) {
			return token
		}
	}
	return ""
}

// body returns a valid body, one with faults, or none.
func (c *randomCaller) body(content *openapi3.MediaType) string {
	var tree any = map[string]any{}
	if content != nil && content.Schema != nil {
		tree = c.of("", content.Schema.Value, 0)
	}
	for c.percent(25) {
		tree = c.changed(tree)
	}
	text, err := json.Marshal(tree)
	if err != nil {
		panic(err)
	}
	if c.percent(10) {
		return c.broken(string(text))
	}
	return string(text)
}
