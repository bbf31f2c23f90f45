package httpapi_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"payledger/domain/account"
	"payledger/domain/seedtest"
	"payledger/eventstore/eventstoretest"
)

// traffic is every answer of the API with the call that it belongs to.
type traffic struct {
	base http.RoundTripper
	mu   sync.Mutex
	all  []exchange
}

type exchange struct{ call, text string }

func (t *traffic) RoundTrip(q *http.Request) (*http.Response, error) {
	answer, err := t.base.RoundTrip(q)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(answer.Body)
	answer.Body = io.NopCloser(bytes.NewReader(body))
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = append(t.all, exchange{q.Method + " " + q.URL.Path, fmt.Sprint(answer.Header) + string(body)})
	return answer, err
}

// watchedTraffic keeps the answers to a rig's calls.
func (r *rig) watchedTraffic() *traffic {
	seen := &traffic{base: r.client.Transport}
	r.client.Transport = seen
	return seen
}

// secret is a token, and the pattern of the calls whose answers may show it (D4, D6, D12).
type secret struct {
	name, text string
	shownBy    *regexp.Regexp
}

var (
	showsSession = regexp.MustCompile(`^(POST|PATCH) /client-session$`)
	showsAction  = regexp.MustCompile(`^(POST|GET) (/payments(/[^/]+(/(resume|capture|cancel|refund|adjust-authorization))?)?|/checkout/payments(/[^/]+(/resume)?)?)$`)
)

// secretsOf are a client token and its access token.
func secretsOf(t *testing.T, name, clientToken string, shownBy *regexp.Regexp) []secret {
	t.Helper()
	return []secret{
		{"client token of " + name, clientToken, shownBy},
		{"body of the client token of " + name, strings.Split(clientToken, ".")[1], shownBy},
		{"signature of the client token of " + name, strings.Split(clientToken, ".")[2], shownBy},
		{"access token of " + name, accessToken(t, clientToken), shownBy},
	}
}

// spellings are the ways in which a token can be written, by name.
func spellings(text string) map[string]string {
	forms := map[string]string{"as it is": text, "in capitals": strings.ToUpper(text), "in small letters": strings.ToLower(text)}
	binary := []string{text}
	if plain := strings.ReplaceAll(text, "-", ""); len(plain) == 32 {
		forms["without dashes"], forms["without dashes, in capitals"] = plain, strings.ToUpper(plain)
		if b, err := hex.DecodeString(plain); err == nil {
			forms["as bytes"] = string(b)
			binary = append(binary, string(b))
		}
	} else if b, err := base64.RawURLEncoding.DecodeString(text); err == nil {
		forms["as bytes"] = string(b)
		binary = append(binary, string(b))
	}
	for i, b := range binary {
		forms[fmt.Sprint("hexadecimal ", i)] = hex.EncodeToString([]byte(b))
		forms[fmt.Sprint("hexadecimal in capitals ", i)] = strings.ToUpper(hex.EncodeToString([]byte(b)))
		for skip := range 3 { // bytes of the token that share their base64 characters with a text before
			whole := b[skip : skip+(len(b)-skip)/3*3]
			forms[fmt.Sprint("base64 ", i, skip)] = base64.StdEncoding.EncodeToString([]byte(whole))
			forms[fmt.Sprint("base64 of addresses ", i, skip)] = base64.URLEncoding.EncodeToString([]byte(whole))
		}
	}
	return forms
}

// leak is a way in which a secret can be written.
type leak struct {
	secret
	spelling, written string
}

// leaks are all leaks of some secrets by their first startOfLeak bytes. They are found in one pass.
type leaks map[string][]leak

const startOfLeak = 8

func leaksOf(secrets []secret) leaks {
	all := leaks{}
	for _, s := range secrets {
		for spelling, text := range spellings(s.text) {
			all[text[:startOfLeak]] = append(all[text[:startOfLeak]], leak{s, spelling, text})
		}
	}
	return all
}

// in returns the leaks that a content holds.
func (l leaks) in(content []byte) (found []leak) {
	for i := range max(0, len(content)-startOfLeak+1) {
		for _, one := range l[string(content[i:i+startOfLeak])] {
			if bytes.HasPrefix(content[i:], []byte(one.written)) {
				found = append(found, one)
			}
		}
	}
	return found
}

// everyToken makes payments in every way that uses a client token, and returns all client and
// access tokens.
func everyToken(t *testing.T, r *rig) (secrets []secret, saved string) {
	t.Helper()
	card := r.tokenize(r.session(someSession), goodCard)
	r.want(r.vault(card, ofCustomer7), 200, "")
	auto, manual, checkout, merchants := r.session(someSession), r.session(manualSession), r.session(someSession), r.session(someSession)
	for name, client := range map[string]string{"an AUTO session": auto, "a MANUAL session": manual, "a challenged checkout": checkout, "a challenged order": merchants} {
		secrets = append(secrets, secretsOf(t, name, client, showsSession)...)
	}
	for _, by := range []string{auto, accessToken(t, auto)} {
		r.want(r.inBrowser(by, "GET", "/checkout/configuration", ""), 200, "")
		r.want(r.readSession(by), 200, "")
		if changed := r.want(r.patch(by, `"metadata":{"by":"`+fmt.Sprint(len(by))+`"}`), 200, ""); changed.text1("clientToken") != auto {
			t.Error("a changed session has another client token")
		}
		r.page("/checkout?clientToken=" + by)
	}
	paid := r.want(r.inBrowser(accessToken(t, auto), "POST", "/checkout/payments", payWith(card), "X-Idempotency-Key", "key-1"), 200, "").text1("id")
	r.page("/checkout?clientToken=" + auto)
	approved := r.attempt(manual, r.tokenize(accessToken(t, manual), goodCard))
	r.attemptStatus(manual, approved)
	r.want(r.decide(approved, "approve", ""), 200, "")

	action := func(made answer) (id, token string) {
		token = made.text1("requiredAction", "clientToken")
		secrets = append(secrets, secretsOf(t, "an action", token, showsAction)...)
		r.page("/checkout/challenge?clientToken=" + token)
		for _, path := range []string{"", "/events", "?expand=transactions.events", "/events?at=1"} {
			r.get("/payments/" + made.text1("id") + path)
		}
		return made.text1("id"), token
	}
	id, token := action(r.want(r.inBrowser(checkout, "POST", "/checkout/payments", payWith(r.tokenize(checkout, challengedCard))), 200, ""))
	resume := r.want(r.complete(token, "AUTHENTICATED"), 200, "").text1("resumeToken")
	r.want(r.inBrowser(checkout, "POST", "/checkout/payments/"+id+"/resume", `{"resumeToken":"`+resume+`"}`), 200, "")
	id, token = action(r.want(r.pay(payWith(r.tokenize(merchants, challengedCard))), 200, ""))
	resume = r.want(r.complete(token, "AUTHENTICATED"), 200, "").text1("resumeToken")
	r.want(r.post("/payments/"+id+"/resume", `{"resumeToken":"`+resume+`"}`), 200, "")

	for _, wrong := range []string{strings.ToUpper(accessToken(t, auto)), auto + "x", strings.ReplaceAll(accessToken(t, auto), "-", "")} {
		r.want(r.inBrowser(wrong, "GET", "/checkout/configuration", ""), 400, "ClientSessionValidationError")
		r.want(r.readSession(wrong), 400, "ClientSessionValidationError")
		r.get("/client-session?clientTokens=" + wrong)
		r.get("/payments/" + wrong)
	}
	for _, path := range []string{"/payments", "/payments/" + paid + "/events", "/payments/" + paid + "?expand=transactions.events"} {
		r.want(r.get(path), 200, "")
	}
	r.want(r.manage("GET", "/api-keys", ""), 200, "")
	return secrets, card
}

// TestTokensAreKeptNowhere checks that no client token and no access token, in any encoding, is in
// an event, a view, a log line, a webhook, or an answer that is not meant to show it (D4, D6, D12).
func TestTokensAreKeptNowhere(t *testing.T) {
	t.Parallel()
	r := newHookRig(t, webhooks{})
	r.endpoint(`{"url":"` + r.inbox.url + `/","eventTypes":` + allKinds + `}`)
	seen := r.watchedTraffic()
	secrets, _ := everyToken(t, r.rig)
	const challenges = 2 // each sends two webhooks, the other payments one
	r.eventually(func() bool { return len(r.inbox.at("/")) >= 2+2*challenges }, func() string { return "too few webhooks" })
	r.want(r.manage("GET", "/webhook-deliveries", ""), 200, "")
	places := r.kept()
	places["the log"] = []byte(r.log.String())
	for i, came := range r.inbox.at("/") {
		places[fmt.Sprint("webhook ", i)] = []byte(came.body)
	}
	all, gaveOut := leaksOf(secrets), map[string]bool{}
	for where, content := range places {
		for _, l := range all.in(content) {
			t.Errorf("%s holds the %s, %s", where, l.name, l.spelling)
		}
	}
	for _, e := range seen.all {
		for _, l := range all.in([]byte(e.text)) {
			if l.shownBy.MatchString(e.call) {
				gaveOut[e.call] = true
			} else {
				t.Errorf("%s answers the %s, %s", e.call, l.name, l.spelling)
			}
		}
	}
	for _, call := range []string{"POST /client-session", "PATCH /client-session", "POST /payments", "POST /checkout/payments"} {
		if !gaveOut[call] { // the search finds tokens where they are expected
			t.Errorf("no answer to %s holds a token", call)
		}
	}
}

// likeTokens are the strings that could be a token.
var likeTokens = regexp.MustCompile(`[0-9A-Za-z_.-]{8,}`)

// TestEventsOpenNoCheckout checks that nothing in the events, or in the answers to a key with
// transactions:retrieve, opens a session: it cannot charge a saved card or enter a card (D2, D12).
func TestEventsOpenNoCheckout(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r := newRig(t)
	client := r.session(someSession)
	secrets, saved := everyToken(t, r)
	waiting := r.want(r.pay(payWith(r.tokenize(client, challengedCard))), 200, "").text1("id")
	key := r.keyWith(account.ScopeTransactionsRetrieve)
	known := map[string]bool{}
	learn := func(text string) {
		for _, found := range likeTokens.FindAllString(text, -1) {
			known[found] = true
		}
	}
	for _, payment := range r.want(r.get("/payments"), 200, "").field("data").([]any) {
		id := payment.(map[string]any)["id"].(string)
		for _, path := range []string{"/payments", "/payments/" + id, "/payments/" + id + "?expand=transactions.events", "/payments/" + id + "/events"} {
			learn(r.want(r.do(request{method: "GET", path: path, header: map[string]string{"X-Api-Key": key}}), 200, "").text)
		}
	}
	for where, content := range r.kept() {
		if strings.HasPrefix(where, "event ") || strings.HasPrefix(where, "head of event ") {
			learn(string(content))
		}
	}
	if !known[saved] || !known[waiting] || len(known) < 100 {
		t.Fatalf("only %d likeTokens were learnt", len(known))
	}
	operations := len(r.books(""))
	doors := []request{
		{path: "/checkout/payments", body: payWith(saved)}, {path: "/payment-instruments", body: someCard}, {path: "/payment-attempts", body: payWith(saved)},
	}
	for i, text := range slices.Sorted(maps.Keys(known)) {
		if slices.ContainsFunc(secrets, func(s secret) bool { return s.text == text && s.shownBy == showsSession }) {
			t.Errorf("the token %q was learnt", text)
		}
		if a := r.inBrowser(text, "GET", "/checkout/configuration", ""); a.status != 400 || a.errorID() != "ClientSessionValidationError" {
			t.Fatalf("%q opens a checkout: %d %s", text, a.status, a.text)
		}
		for n, door := range doors {
			if seedtest.Sampled() && n != i%len(doors) {
				continue // all of them read the token in one place
			}
			if a := r.inBrowser(text, "POST", door.path, door.body); a.status != 400 || a.errorID() != "ClientSessionValidationError" {
				t.Fatalf("%q opens %s: %d %s", text, door.path, a.status, a.text)
			}
		}
	}
	if now := len(r.books("")); now != operations {
		t.Errorf("%d operations came to the processors", now-operations)
	}
	r.want(r.inBrowser(client, "GET", "/checkout/configuration", ""), 200, "") // as the token does
}
