package httpapi_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"payledger/domain/account"
	"payledger/eventstore"
)

// The card of the run below; of that scheme, CVVs have four digits.
const (
	secretCard = "378282246310005"
	secretCVV  = "9173"
)

// cvvWritings are the ways in which text and msgpack write the CVV.
var cvvWritings = []string{`"` + secretCVV + `"`, `\"` + secretCVV, " " + secretCVV, "=" + secretCVV, ":" + secretCVV, "\xa4" + secretCVV, "[" + secretCVV, "{" + secretCVV}

// randomHex matches ids and hashes: any four digits may occur in them, at the beginning, too.
var randomHex = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}|[0-9a-f]{64}`)

// withoutRandomHex removes ids and hashes from a text, so that four digits in the rest come from a
// secret.
func withoutRandomHex[T string | []byte](text T) T {
	return T(randomHex.ReplaceAll([]byte(text), []byte("#")))
}

// busyRun uses secrets in all valid and invalid ways, and returns the secrets that it received.
func busyRun(t *testing.T, r *rig) (apiKey, signing, clientToken string, tokens []string) {
	t.Helper()
	management := func(method, path, body, key string) answer {
		return r.do(request{method: method, path: "/management" + path, body: body, header: map[string]string{"X-Api-Version": "", "X-Api-Key": key}})
	}
	apiKey = r.want(management("POST", "/api-keys", `{"name":"shop","scopes":["account:read"]}`, r.account.APIKey), 200, "").text1("apiKey")
	r.want(management("GET", "/api-keys", "", apiKey), 200, "")
	r.want(management("POST", "/api-keys", `{"name":"shop","scopes":["account:read"]}`, apiKey), 403, "MissingScope")
	r.want(management("GET", "/api-keys", "", apiKey+"0"), 401, "Unauthorized")
	signing = r.want(management("POST", "/signing-secret/rotate", "", r.account.APIKey), 200, "").text1("signingSecret")
	r.want(management("GET", "/signing-secret", "", apiKey), 200, "")
	clientToken = r.session(someSession)
	card := `{"paymentInstrument":{"number":"` + secretCard + `","cvv":"` + secretCVV + `","expirationMonth":"03","expirationYear":"` + expires + `","cardholderName":"Zenobia Quux"}}`
	tokens = make([]string, 3)
	for i := range tokens {
		tokens[i] = r.want(r.browser(clientToken, card), 200, "").text1("token")
	}
	made := r.want(r.pay(payWith(tokens[0]), "X-Idempotency-Key", secretCard), 200, "")
	r.want(r.pay(payWith(tokens[0]), "X-Idempotency-Key", secretCard), 409, "IdempotencyKeyAlreadyExists")
	r.want(r.pay(`{"paymentMethodToken":"`+tokens[1]+`","expand":["transactions.events"]}`), 200, "")
	for _, path := range []string{"", "/events", "/events?at=1", "?expand=transactions.events", "/events?at=" + secretCard, "/" + secretCard, "/events?" + secretCard + "=" + secretCVV} {
		r.get("/payments/" + made.text1("id") + path)
	}
	r.get("/payments/" + secretCard)
	r.get("/" + secretCard + "?token=" + clientToken)
	for _, wrong := range []string{
		strings.Replace(card, `"03"`, `"13"`, 1), strings.Replace(card, secretCVV, "917", 1), card[:len(card)-1], card + card,
		strings.Replace(card, "number", secretCard, 1), strings.Replace(card, "Zenobia", secretCard, 1), strings.Replace(card, `"`+secretCard+`"`, secretCard, 1),
		strings.Replace(card, `"`+expires+`"`, `"2020"`, 1), strings.Replace(card, `"cvv"`, `"number":"`+secretCard+`","cvv"`, 1),
	} {
		if a := r.browser(clientToken, wrong); a.status == 200 {
			t.Errorf("%s: %s", wrong, a.text)
		}
	}
	for _, wrong := range []string{payWith(secretCard), `{"orderId":"` + secretCard + `"}`, `{"metadata":{"` + secretCard + `":{"` + secretCard + `":` + secretCard + `}}}`, `{"amount":` + secretCard + `.5}`, secretCard} {
		if a := r.pay(wrong); a.status == 200 {
			t.Errorf("%s: %s", wrong, a.text)
		}
	}
	r.browser(clientToken[:len(clientToken)-1], card)
	gone, cancel := context.WithCancel(context.Background()) // a caller that goes away
	cancel()
	q, err := http.NewRequestWithContext(gone, http.MethodPost, r.url+"/payments", strings.NewReader(payWith(tokens[2])))
	must(t, err)
	q.Header = http.Header{"X-Api-Key": {r.account.APIKey}, "X-Api-Version": {"2.4"}, "Content-Type": {"application/json"}}
	if _, err := r.client.Do(q); err == nil {
		t.Error("a cancelled request was answered")
	}
	return apiKey, signing, clientToken, tokens
}

// TestSecretsStay checks that a card's number and CVV, API keys, client tokens and the signing
// secret reach no log line, no event, no file, and no answer except the answer that is meant to
// show them (D2, D12).
func TestSecretsStay(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	apiKey, signing, clientToken, tokens := busyRun(t, r)
	part := strings.Split(clientToken, ".")[1]
	secretOf := func(key string) string { return key[strings.LastIndex(key, "_")+1:] }
	const once, session = 1, 2 // where a secret is shown: once, or with its session
	secrets := []struct {
		name    string
		texts   []string
		shown   int
		logOnly bool
	}{
		{"card number", []string{secretCard, "3782 822463 10005", secretCard[:12]}, 0, false},
		{"CVV", cvvWritings, 0, false},
		{"first API key", []string{secretOf(r.account.APIKey)}, 0, false},
		{"API key", []string{secretOf(apiKey)}, once, false},
		{"client token", []string{clientToken, part, clientToken[strings.LastIndex(clientToken, ".")+1:]}, session, false},
		{"access token", []string{accessToken(t, clientToken)}, 0, false},
		{"token of a card", tokens, 0, true},
		{"signing secret", []string{r.account.SigningSecret, secretOf(r.account.SigningSecret)}, 0, false},
		{"rotated signing secret", []string{signing, secretOf(signing)}, once, false},
		{"dashboard password", []string{r.account.DashboardPassword}, 0, false},
		{"key of client tokens", []string{string(tokenKey)}, 0, false},
		{"e-mail address", []string{"ada@example.com"}, session, true},
		{"cardholder", []string{"Zenobia"}, 0, true},
	}
	log, answers := r.log.String(), r.answers.String()
	if !strings.Contains(log, `"level":"info"`) || strings.Count(log, "\n") < 30 {
		t.Errorf("the log is too short to show anything:\n%s", log)
	}
	kept := r.kept()
	for _, s := range secrets {
		log, answers, cvv := log, answers, s.name == "CVV"
		if cvv {
			log, answers = withoutRandomHex(log), withoutRandomHex(answers)
		}
		for _, text := range s.texts {
			if at := strings.Index(log, text); at >= 0 {
				t.Errorf("the log holds the %s: %s", s.name, around(log, at))
			}
			if s.logOnly {
				continue
			}
			if n := strings.Count(answers, text); n > 0 && s.shown == 0 || n > 1 {
				t.Errorf("%d answers hold the %s: %s", n, s.name, around(answers, strings.Index(answers, text)))
			}
			for where, content := range kept {
				if bytes.Contains(content, []byte(text)) && (!cvv || bytes.Contains(withoutRandomHex(content), []byte(text))) {
					t.Errorf("%s holds the %s", where, s.name)
				}
			}
		}
	}
	for _, folder := range []string{"event ", filepath.Join(r.dir, "views")} { // the search finds public data; the log's files are compressed
		seen := 0
		for where, content := range kept {
			if strings.HasPrefix(where, folder) && bytes.Contains(content, []byte("order-1")) {
				seen++
			}
		}
		if seen == 0 {
			t.Errorf("%s holds nothing that can be read", folder)
		}
	}
	for _, text := range []string{"ada@example.com", "Zenobia"} { // sealed as well
		for where, content := range kept {
			if bytes.Contains(content, []byte(text)) {
				t.Errorf("%s holds the personal %q", where, text)
			}
		}
	}
}

func around(text string, at int) string { return text[max(0, at-80):min(len(text), at+80)] }

// kept returns every event's body and names, and every file of the data folder.
func (r *rig) kept() map[string][]byte {
	r.t.Helper()
	ctx, found := context.Background(), map[string][]byte{}
	must(r.t, r.views.CaughtUp(ctx))
	for shard := range r.store.Shards() {
		last, err := r.store.LastSeq(ctx, shard)
		must(r.t, err)
		if last == 0 {
			continue
		}
		errEnd := errors.New("the end")
		err = r.store.Subscribe(ctx, shard, 0, func(event *eventstore.Recorded) error {
			name := fmt.Sprintf("event %s, %d in shard %d", event.Type, event.Number, shard)
			found[name], found["head of "+name] = event.Body, fmt.Appendf(nil, "|%+v|%s|%s|%s|%s|", event.Key, event.Actor, event.EventID, event.CommandID, event.CorrelationID)
			if event.Seq == last {
				return errEnd
			}
			return nil
		})
		if !errors.Is(err, errEnd) {
			r.t.Fatal(err)
		}
	}
	must(r.t, filepath.WalkDir(r.dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // a file that was replaced under another name
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		found[path] = content
		return err
	}))
	return found
}

// TestScopes: a refusal names the missing scope, and that scope is enough (D2).
func TestScopes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, c := range []struct {
		method, path, scope string
		status              int // with the scope
	}{
		{"POST", "/client-session", account.ScopeClientTokensWrite, 400},
		{"GET", "/client-session?clientToken=none", account.ScopeClientTokensWrite, 400},
		{"PATCH", "/client-session", account.ScopeClientTokensWrite, 400},
		{"GET", "/payment-instruments?customer_id=none", account.ScopePaymentInstrumentRead, 200},
		{"POST", "/payment-instruments/none/vault", account.ScopePaymentInstrumentWrite, 400},
		{"POST", "/payment-instruments/none/default", account.ScopePaymentInstrumentWrite, 400},
		{"DELETE", "/payment-instruments/none", account.ScopePaymentInstrumentWrite, 400},
		{"POST", "/payment-attempts/none/approve", account.ScopeTransactionsAuthorize, 404},
		{"POST", "/payment-attempts/none/abort", account.ScopeTransactionsAuthorize, 404},
		{"POST", "/payments", account.ScopeTransactionsAuthorize, 400},
		{"GET", "/payments/none", account.ScopeTransactionsRetrieve, 400},
		{"GET", "/payments/none/events", account.ScopeTransactionsRetrieve, 400},
		{"POST", "/payments/none/resume", account.ScopeTransactionsAuthorize, 400},
		{"POST", "/payments/none/cancel", account.ScopeTransactionsCancel, 400},
		{"POST", "/payments/none/capture", account.ScopeTransactionsCapture, 400},
		{"POST", "/payments/none/refund", account.ScopeTransactionsRefund, 400},
		{"POST", "/payments/none/adjust-authorization", account.ScopeTransactionsAuthorize, 400},
		{"GET", "/management/api-keys", account.ScopeAccountRead, 200},
		{"POST", "/management/api-keys", account.ScopeKeysWrite, 400},
		{"GET", "/management/webhook-endpoints", account.ScopeAccountRead, 200},
		{"POST", "/management/webhook-endpoints", account.ScopeSettingsWrite, 400},
		{"PATCH", "/management/webhook-endpoints/none", account.ScopeSettingsWrite, 400},
		{"DELETE", "/management/webhook-endpoints/none", account.ScopeSettingsWrite, 404},
		{"POST", "/management/webhook-endpoints/none/test", account.ScopeSettingsWrite, 404},
		{"GET", "/management/signing-secret", account.ScopeAccountRead, 200},
		{"POST", "/management/signing-secret/rotate", account.ScopeKeysWrite, 200},
	} {
		var others []string
		for _, scope := range account.Scopes {
			if scope != c.scope && scope != account.ScopeAccountWrite {
				others = append(others, scope)
			}
		}
		denied := r.do(request{method: c.method, path: c.path, header: map[string]string{"X-Api-Key": r.keyWith(others...)}})
		if denied.status != 403 || denied.errorID() != "MissingScope" || !strings.Contains(denied.text1("error", "description"), c.scope) {
			t.Errorf("%s %s without %s: %s", c.method, c.path, c.scope, denied.text)
		}
		if allowed := r.do(request{method: c.method, path: c.path, header: map[string]string{"X-Api-Key": r.keyWith(c.scope)}}); allowed.status != c.status {
			t.Errorf("%s %s with %s: %s", c.method, c.path, c.scope, allowed.text)
		}
	}
}
