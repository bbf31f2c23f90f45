//go:build system

package kills

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"payledger/cmd/payledger/apptest"
)

// sentinelCVV is of four digits, which nothing but a random id has after a space or a colon; the
// cards that it is entered with are Amex.
const sentinelCVV = "9173"

// randomID is a UUID, a hash or an account's id: it may begin with any four digits.
var randomID = regexp.MustCompile(`^(?:[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}|[0-9a-f]{64}|[0-9a-hjkmnp-tv-z]{26})`)

// sentinelCards are entered in every way there is: paid, declined by a check, vaulted, aborted.
var sentinelCards = []struct{ number, cvv string }{
	{"378282246310005", sentinelCVV}, {"4916994064252017", "737"}, {"5132000000000000", "737"}, {"6011111111111117", "737"}, {"4000000000000002", "737"},
}

// sentinelHolder is personal data: it leaves in answers alone.
const sentinelHolder = "Zenobia Quux"

// watched is the service with everything that it says and keeps in view.
type watched struct {
	*apptest.Merchant
	t        *testing.T
	mu       sync.Mutex
	answers  []byte // of all calls
	webhooks []byte
	bearers  []string // client tokens, their access tokens, tokens of cards: each can pay
	opening  []string // those of them that open a session; answers alone hold them
	came     chan struct{}
}

// do makes a call as a merchant, or with a client token as a browser, and returns the fields of its
// answer.
func (w *watched) do(method, path, clientToken, body string) map[string]any {
	w.t.Helper()
	header := w.Headers()
	if clientToken != "" {
		header = map[string]string{"X-Client-Token": clientToken}
	}
	a, err := w.Call(method, path, header, body)
	if err != nil || a.Status >= http.StatusInternalServerError {
		w.t.Fatalf("%s %s: %d %s %v", method, path, a.Status, a.Body, err)
	}
	w.mu.Lock()
	w.answers = append(append(w.answers, a.Body...), '\n')
	w.mu.Unlock()
	var fields map[string]any
	a.Decode(w.t, &fields)
	return fields
}

func (w *watched) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.t.Error(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.webhooks = append(append(w.webhooks, body...), '\n')
	select {
	case w.came <- struct{}{}:
	default:
	}
}

// session opens a client session.
func (w *watched) session(mode string) string {
	w.t.Helper()
	token := w.do("POST", "/client-session", "", `{"approvalMode":"`+mode+`","orderId":"order-1","customerId":"customer-7","currencyCode":"EUR","amount":700,`+
		`"customer":{"email":"zenobia@example.com"}}`)["clientToken"].(string)
	payload, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	var claims struct{ AccessToken string }
	if err == nil {
		err = json.Unmarshal(payload, &claims)
	}
	if err != nil || claims.AccessToken == "" {
		w.t.Fatal(err, claims)
	}
	w.bearers, w.opening = append(w.bearers, token, claims.AccessToken), append(w.opening, token, claims.AccessToken)
	return token
}

// card enters a card in a session; more are fields beside it.
func (w *watched) card(client string, i int, more string) string {
	w.t.Helper()
	card := sentinelCards[i]
	token, _ := w.do("POST", "/payment-instruments", client, `{"paymentInstrument":{"number":"`+card.number+`","cvv":"`+card.cvv+
		`","expirationMonth":"03","expirationYear":"`+apptest.Expires+`","cardholderName":"`+sentinelHolder+`"}`+more+`}`)["token"].(string)
	if token != "" {
		w.bearers = append(w.bearers, token)
	}
	return token
}

// everyWay uses cards in every possible way, with right and wrong input.
func (w *watched) everyWay() {
	for i := range sentinelCards {
		auto, manual := w.session("AUTO"), w.session("MANUAL")
		method := func(token string) string { return `{"paymentMethodToken":"` + token + `"}` }
		w.do("POST", "/payments", "", method(w.card(auto, i, "")))
		paid := w.do("POST", "/checkout/payments", auto, method(w.card(auto, i, "")))
		if action, _ := paid["requiredAction"].(map[string]any); action != nil {
			resume := w.do("POST", "/required-actions/complete", action["clientToken"].(string), `{"outcome":"AUTHENTICATED"}`)
			w.do("POST", "/checkout/payments/"+paid["id"].(string)+"/resume", auto, `{"resumeToken":"`+resume["resumeToken"].(string)+`"}`)
		}
		w.do("GET", "/payments/"+paid["id"].(string)+"?expand=transactions.events", "", "")
		w.do("GET", "/payments/"+paid["id"].(string)+"/events", "", "")
		kept := w.card(auto, i, "")
		w.do("POST", "/payment-instruments/"+kept+"/vault", "", `{"customerId":"customer-7"}`)
		again := `{"paymentMethodToken":"` + kept + `","amount":1,"currencyCode":"EUR","customerId":"customer-7","orderId":"o"}`
		w.do("POST", "/payments", "", again)
		w.do("POST", "/payments", "", again)
		w.do("POST", "/payment-instruments/"+kept+"/default", "", "")
		w.do("POST", "/payment-instruments/"+w.card(auto, i, "")+"/vault", "", `{"customerId":"customer-7","verify":true}`)
		w.do("POST", "/payments", "", `{"paymentMethodToken":"`+w.card(auto, i, "")+`","paymentMethod":{"vaultOnSuccess":true}}`)
		flow := w.card(auto, i, `,"paymentFlow":"VAULT"`)
		w.do("GET", "/payment-instruments?customer_id=customer-7", "", "")
		w.do("GET", "/checkout/configuration", auto, "")
		w.do("DELETE", "/payment-instruments/"+flow, "", "")
		w.do("PATCH", "/client-session", "", `{"clientToken":"`+auto+`","amount":5,"metadata":{"note":"`+sentinelCards[i].number+`"}}`)
		w.do("PATCH", "/client-session", "", `{"clientToken":"`+auto+`","amount":5}`)
		w.do("GET", "/client-session?clientToken="+auto, "", "")
		for _, what := range []string{"abort", "approve"} { // a session is paid once
			started := w.do("POST", "/payment-attempts", manual, method(w.card(manual, i, "")))
			id := started["currentAttempt"].(map[string]any)["id"].(string)
			w.do("GET", "/payment-attempts/"+id, manual, "")
			w.do("POST", "/payment-attempts/"+id+"/"+what, "", "")
			w.do("POST", "/payment-attempts/"+id+"/abort", "", `{"reason":"`+sentinelCards[i].number+`"}`)
		}
		w.card(auto, i, `,"`+sentinelCards[i].number+`":1`)
		w.card(auto, i, `,"tokenType":"`+sentinelCards[i].number+`"`)
		w.do("POST", "/payment-instruments/"+sentinelCards[i].number+"/vault", "", `{"customerId":"`+sentinelCards[i].number+`"}`)
		w.do("POST", "/payment-attempts/"+sentinelCards[i].number+"/approve", "", `{"`+sentinelCards[i].number+`":1}`)
	}
}

// TestNoSecretLeaves runs the program with cards that pay, are vaulted, verified, approved, aborted
// and deleted. It searches every log line, every answer, every webhook and every byte of the data
// folder, the simulator's included, for card numbers, CVVs, keys and secrets (D2, D12), and the log
// for tokens that can pay.
func TestNoSecretLeaves(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	w := &watched{t: t, came: make(chan struct{}, 1)}
	shop := httptest.NewServer(w)
	defer shop.Close()
	p := apptest.ServeProcess(t, "--data", data, "--webhook-allow-cidr", "127.0.0.0/8", "--log-level", "trace")
	w.Merchant = apptest.NewMerchant(p.Ready.API, p.Credentials.APIKey)
	w.do("POST", "/management/webhook-endpoints", "", `{"url":"`+shop.URL+`"}`)
	rotated := w.Must(t, "POST", "/management/signing-secret/rotate", w.Headers(), nil)
	var signing struct{ SigningSecret string }
	rotated.Decode(t, &signing)
	w.everyWay()
	w.await(10)
	p.Stop()

	w.mu.Lock()
	defer w.mu.Unlock()
	places := map[string][]byte{"the log": []byte(p.Log.String()), "the answers": w.answers, "the webhooks": w.webhooks}
	readAll(t, data, places)
	for where, content := range places {
		for _, card := range sentinelCards {
			absent(t, where, content, "a card number", card.number, card.number[:12])
		}
		for _, written := range []string{`"` + sentinelCVV + `"`, " " + sentinelCVV, "=" + sentinelCVV, ":" + sentinelCVV, "\xa4" + sentinelCVV} {
			absent(t, where, withoutIDs(content, written), "a CVV", written)
		}
		absent(t, where, content, "the API key", secretPart(p.Credentials.APIKey))
		absent(t, where, content, "a signing secret", secretPart(p.Credentials.SigningSecret), secretPart(signing.SigningSecret))
		absent(t, where, content, "the dashboard's password", p.Credentials.DashboardPassword)
		if where != "the answers" && where != "the webhooks" {
			absent(t, where, content, "the cardholder", sentinelHolder, "zenobia@example.com")
		}
		if where != "the answers" {
			absent(t, where, content, "a token of a session", w.opening...)
		}
	}
	absent(t, "the log", places["the log"], "a token that pays", w.bearers...)
	for where, text := range map[string]string{"the log": `"route":"/payment-attempts/{id}/approve"`, "the answers": sentinelHolder, "the webhooks": `"PAYMENT.STATUS"`} {
		if !bytes.Contains(places[where], []byte(text)) { // the search finds texts where they must be
			t.Errorf("%s holds no %s", where, text)
		}
	}
	t.Logf("%d places, %d bytes of log, %d of answers, %d of webhooks", len(places), p.Log.Len(), len(w.answers), len(w.webhooks))
}

// await waits for so many webhooks.
func (w *watched) await(n int) {
	w.t.Helper()
	late := time.After(apptest.SettleDeadline)
	for {
		w.mu.Lock()
		enough := bytes.Count(w.webhooks, []byte("\n")) >= n
		w.mu.Unlock()
		if enough {
			return
		}
		select {
		case <-w.came:
		case <-late:
			w.t.Fatalf("fewer than %d webhooks came", n)
		}
	}
}

// secretPart returns the secret part of a key or secret.
func secretPart(text string) string { return text[strings.LastIndex(text, "_")+1:] }

// withoutIDs returns content from the first occurrence of text that is not the start of a random
// id; text begins with the byte before the id.
func withoutIDs(content []byte, text string) []byte {
	for {
		at := bytes.Index(content, []byte(text))
		if at < 0 || !randomID.Match(content[at+1:min(len(content), at+1+sha256.Size*2)]) {
			return content[max(0, at):]
		}
		content = content[at+1:]
	}
}

func absent(t *testing.T, where string, content []byte, what string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if at := bytes.Index(content, []byte(text)); at >= 0 {
			t.Errorf("%s holds %s: %q", where, what, content[max(0, at-60):min(len(content), at+60)])
		}
	}
}

// readAll reads every file of a folder.
func readAll(t *testing.T, dir string, into map[string][]byte) {
	t.Helper()
	before := len(into)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		into[path], err = os.ReadFile(path)
		return err
	})
	if err != nil || len(into) < before+10 {
		t.Fatalf("%d files in the data folder: %v", len(into)-before, err)
	}
}
