package httpapi_test

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"payledger/domain/account"
	"payledger/domain/processor"
	"payledger/httpapi"
)

// page requests a page as a browser does for an address in its address bar.
func (r *rig) page(path string) (status int, header http.Header, text string) {
	r.t.Helper()
	return r.visit(http.MethodGet, path)
}

func (r *rig) visit(method, path string) (status int, header http.Header, text string) {
	r.t.Helper()
	q, err := http.NewRequest(method, r.url+path, nil)
	must(r.t, err)
	a, err := r.client.Transport.RoundTrip(q)
	must(r.t, err)
	defer a.Body.Close()
	body, err := io.ReadAll(a.Body)
	must(r.t, err)
	return a.StatusCode, a.Header, string(body)
}

// accessToken returns the access token in a client token, for calls without a JWT.
func accessToken(t *testing.T, token string) string {
	t.Helper()
	body, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	must(t, err)
	var claims struct {
		AccessToken string `json:"accessToken"`
	}
	must(t, json.Unmarshal(body, &claims))
	return claims.AccessToken
}

// TestCheckoutPage checks the pages of a valid token, of no token, of a bad token and of a session
// that cannot be paid. They need no API key, and ignore the rest of the address (D12).
func TestCheckoutPage(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	token := r.session(someSession)
	empty := r.session(`{}`)
	for _, c := range []struct {
		name, method, path string
		status             int
		says               string
	}{
		{"a session", "GET", "/checkout?clientToken=" + token, 200, "Pay €24.20"},
		{"by access token", "GET", "/checkout?clientToken=" + accessToken(t, token), 200, "Pay €24.20"},
		{"with a slash, and what a mail added", "GET", "/checkout/?clientToken=" + token + "&utm_source=mail&%zz", 200, "Pay €24.20"},
		{"a reload", "GET", "/checkout", 200, "restoring"},
		{"no such token", "GET", "/checkout?clientToken=x.y.z", 400, "has expired"},
		{"no such access token", "GET", "/checkout?clientToken=7d4e1a", 400, "has expired"},
		{"another's signature", "GET", "/checkout?clientToken=" + token + "x", 400, "has expired"},
		{"nothing to pay", "GET", "/checkout?clientToken=" + empty, 400, "not ready"},
		{"a challenge's reload", "GET", "/checkout/challenge", 200, "restoring"},
		{"a challenge with a session's token", "GET", "/checkout/challenge?clientToken=" + token, 400, "check is over"},
		{"no such file", "GET", "/checkout/assets/x/y.js", 404, "nothing here"},
		{"a form sent by accident", "POST", "/checkout?clientToken=" + token, 405, "nothing here"},
	} {
		status, header, text := r.visit(c.method, c.path)
		if status != c.status || !strings.Contains(text, c.says) {
			t.Errorf("%s: %d %s, want %d with %q", c.name, status, text, c.status, c.says)
		}
		if !strings.HasPrefix(header.Get("Content-Type"), "text/html") || !strings.Contains(header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: %v", c.name, header)
		}
	}
	r.late.Store(3600)
	if status, _, text := r.page("/checkout?clientToken=" + token); status != 400 || !strings.Contains(text, "has expired") {
		t.Errorf("an hour later: %d %s", status, text)
	}
	if log := r.log.String(); strings.Contains(log, token) || strings.Contains(log, accessToken(t, token)) {
		t.Error("the log holds the client token")
	}
}

// TestCheckoutPageTestCards: the simulator's cards are offered where each processor that a payment
// may go to is the simulator, and nowhere in production.
func TestCheckoutPageTestCards(t *testing.T) {
	t.Parallel()
	const cards = `data-test="4111 1111 1111 1111"`
	real, away := processor.Connection{State: processor.Answering}, processor.Connection{State: processor.NoAddress}
	simulated := processor.Connection{State: processor.NotAsked, Simulated: true}
	var at atomic.Pointer[map[processor.Name]processor.Connection]
	knowing := func(c *httpapi.Config) {
		c.Connection = func(name processor.Name) processor.Connection { return (*at.Load())[name] }
	}
	r := newRig(t, knowing)
	token := r.session(someSession)
	shown := func(first, others processor.Connection) bool {
		t.Helper()
		all := map[processor.Name]processor.Connection{}
		for _, name := range processor.Names {
			all[name] = others
		}
		all[processor.Adyen] = first
		at.Store(&all)
		status, _, text := r.page("/checkout?clientToken=" + token)
		if status != 200 {
			t.Fatalf("%d %s", status, text)
		}
		return strings.Contains(text, cards)
	}
	for _, row := range []struct {
		first, others processor.Connection
		want          bool
	}{{simulated, simulated, true}, {simulated, away, true}, {away, simulated, true}, {real, simulated, false}, {simulated, real, false}, {real, away, false}, {away, away, false}} {
		if got := shown(row.first, row.others); got != row.want {
			t.Errorf("%+v, the others %+v: offered %v", row.first, row.others, got)
		}
	}
	r.do(request{method: "PATCH", path: "/management/processors/ADYEN", body: `{"enabled":false}`})
	if !shown(real, simulated) {
		t.Error("a processor that is off decides")
	}
	production := newRigIn(t, account.Production, usualTimeout, nil, knowing)
	shown(simulated, simulated)
	if status, _, text := production.page("/checkout?clientToken=" + production.session(someSession)); status != 200 || strings.Contains(text, cards) {
		t.Errorf("in production: %d %v", status, strings.Contains(text, cards))
	}
}

// TestCheckoutPageOfPaidOrder: after the payment the page has no form in any tab; after a declined
// payment it has one, and so has another session of the same order.
func TestCheckoutPageOfPaidOrder(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	token := r.session(someSession)
	other := r.session(someSession)
	shown := func(token string) string {
		t.Helper()
		_, _, text := r.page("/checkout?clientToken=" + token)
		_, after, _ := strings.Cut(text, `data-payment="`)
		id, _, _ := strings.Cut(after, `"`)
		return id
	}
	pay := func(card string) string {
		t.Helper()
		return r.want(r.do(request{method: "POST", path: "/payments", body: `{"paymentMethodToken":"` + r.tokenize(token, card) + `"}`}), 200, "").text1("id")
	}
	pay(declinedCard)
	if id := shown(token); id != "" {
		t.Errorf("after a decline the page shows payment %s", id)
	}
	if id := pay(goodCard); shown(token) != id {
		t.Errorf("the page shows payment %q, want %s", shown(token), id)
	}
	if id := shown(other); id != "" {
		t.Errorf("the page of another session shows payment %s", id)
	}
}

// TestChallengePage: it says who wants how much; it is over when the action is, and not there in
// production (D13).
func TestChallengePage(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	body := `{"paymentMethodToken":"` + r.tokenize(r.session(someSession), "4916994064252017") + `"}`
	made := r.want(r.do(request{method: "POST", path: "/payments", body: body}), 200, "")
	token := made.text1("requiredAction", "clientToken")
	status, _, text := r.page("/checkout/challenge?clientToken=" + token)
	if status != 200 || !strings.Contains(text, "€24.20") || !strings.Contains(text, "2017") || strings.Contains(text, token) {
		t.Errorf("answered %d %s", status, text)
	}
	r.want(r.do(request{method: "POST", path: "/payments/" + made.text1("id") + "/cancel"}), 200, "")
	if status, _, text := r.page("/checkout/challenge?clientToken=" + token); status != 400 || !strings.Contains(text, "check is over") {
		t.Errorf("after it is cancelled: %d %s", status, text)
	}
	if strings.Contains(r.log.String(), token) {
		t.Error("the log holds the action's token")
	}
	config := r.config
	config.Environment = "production"
	api, err := httpapi.New(config)
	must(t, err)
	answer := httptest.NewRecorder()
	api.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/checkout/challenge?clientToken="+token, nil))
	if text := answer.Body.String(); answer.Code != 404 || !strings.Contains(text, "nothing here") {
		t.Errorf("in production: %d %s", answer.Code, text)
	}
	config.FrameAncestors = []string{"https://shop.example; script-src *"}
	if _, err := httpapi.New(config); err == nil {
		t.Error("what is no origin may frame the page")
	}
}
