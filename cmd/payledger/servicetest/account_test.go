package servicetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"payledger/cmd/payledger/app"
	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/command"
	"payledger/eventstore/commands/accounts"
	"payledger/httpapi"
)

// createdAccount makes an account with the command, at the running service of a folder.
func createdAccount(t *testing.T, data, name string) (made accounts.Credentials) {
	t.Helper()
	status, out, stderr := apptest.Invoke(t, "account", "create", name, "--data", data, "--json")
	if err := json.Unmarshal([]byte(out), &made); err != nil || status != 0 || stderr != "" {
		t.Fatalf("exits %d: %s%s", status, out, stderr)
	}
	return made
}

// TestAccountCreate: a further merchant gets credentials that work at once, and every mistake is
// one line that changes nothing (I1).
func TestAccountCreate(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	fails := func(status int, says string, args ...string) {
		t.Helper()
		got, out, stderr := apptest.Invoke(t, append([]string{"account", "create", "--data", data}, args...)...)
		if got != status || out != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, says) {
			t.Errorf("%q: exits %d: %s%s", args, got, out, stderr)
		}
	}
	fails(command.ExitFailure, "no service runs on", "shop")
	p := apptest.ServeProcess(t, "--data", data)
	made := createdAccount(t, data, "Zoë's shop")
	if made.AccountID == p.Credentials.AccountID || made.Environment != p.Credentials.Environment || made.DashboardUser == "" || made.DashboardPassword == "" {
		t.Errorf("made %s in %s for %q", made.AccountID, made.Environment, made.DashboardUser)
	}
	m := apptest.NewMerchant(p.Ready.API, made.APIKey)
	if paid := m.Paid(t, apptest.CardApproved); paid.Status != "AUTHORIZED" {
		t.Errorf("the account's payment is %s", paid.Status)
	}
	fails(command.ExitUsage, "name")
	for _, name := range []string{"", " ", " shop", strings.Repeat("x", 101), "a\x1b[31mb", "two\nlines"} {
		fails(command.ExitUsage, "the name ", "--", name)
	}
	fails(command.ExitFailure, `has an account "Zoë's shop": `+string(made.AccountID), "Zoë's shop")
	var listed []app.AccountRow
	status, text, stderr := apptest.Invoke(t, "account", "list", "--data", data, "--json")
	if err := json.Unmarshal([]byte(text), &listed); err != nil || status != 0 || len(listed) != 2 || listed[0].ID != p.Credentials.AccountID ||
		listed[1].ID != made.AccountID || listed[1].Name != "Zoë's shop" || listed[1].Environment != "sandbox" || listed[1].Created.IsZero() {
		t.Errorf("account list: exits %d: %s%s", status, text, stderr)
	}
	if status, text, stderr = apptest.Invoke(t, "account", "list", "--data", data); status != 0 || strings.Count(text, "\n") != 2 || !strings.Contains(text, "Zoë's shop  sandbox") {
		t.Errorf("account list for people: exits %d: %s%s", status, text, stderr)
	}
	status, text, stderr = apptest.Invoke(t, "erase-customer", "nobody", "--data", data)
	for _, want := range []string{"--account", string(made.AccountID) + " (Zoë's shop)", string(p.Credentials.AccountID)} {
		if status != command.ExitFailure || text != "" || !strings.Contains(stderr, want) {
			t.Errorf("erase-customer without --account: exits %d, lacks %q: %s%s", status, want, text, stderr)
		}
	}
	if status, text, _ := apptest.Invoke(t, "account", "create", "third", "--data", data); status != 0 || !strings.Contains(text, "shown once") {
		t.Errorf("for people: exits %d: %s", status, text)
	}
	running, live, _ := apptest.Invoke(t, "account", "list", "--data", data, "--json")
	p.Stop()
	if status, stopped, stderr := apptest.Invoke(t, "account", "list", "--data", data, "--json"); running != 0 || status != 0 || stopped != live || strings.Count(live, `"id"`) != 3 {
		t.Errorf("account list of the stopped folder: exits %d: %s%s\nof the running service: %s", status, stopped, stderr, live)
	}
	if status, out, stderr := apptest.Invoke(t, "account", "list", "--data", t.TempDir()); status != command.ExitFailure || out != "" || strings.Count(stderr, "\n") != 1 {
		t.Errorf("account list of an empty folder: exits %d: %s%s", status, out, stderr)
	}
	status, out, stderr := apptest.Invoke(t, "credentials", "reset", "--data", data, "--account", string(made.AccountID), "--json")
	var reset accounts.Credentials
	if err := json.Unmarshal([]byte(out), &reset); err != nil || status != 0 || reset.AccountID != made.AccountID || reset.APIKey == made.APIKey {
		t.Errorf("reset of %s: exits %d for %s: %s", made.AccountID, status, reset.AccountID, stderr)
	}
	if status, out, stderr := apptest.Invoke(t, "credentials", "reset", "--data", data, "--account", "nobody"); status != command.ExitFailure || out != "" || !strings.Contains(stderr, "has no account nobody") {
		t.Errorf("reset of an unknown account: exits %d: %s%s", status, out, stderr)
	}
	p = apptest.ServeProcess(t, "--data", data)
	for _, key := range []string{made.APIKey, reset.APIKey} {
		m := apptest.NewMerchant(p.Ready.API, key)
		var list struct{ Data []apptest.PaymentAnswer }
		m.Must(t, "GET", "/payments", m.Headers(), nil).Decode(t, &list)
		if len(list.Data) != 1 {
			t.Errorf("the account has %d payments after a restart", len(list.Data))
		}
	}
}

// TestFolderAccount checks that history, prove and tail of a stopped folder read a payment of a
// further account if the account is named. Without a name, and with a wrong one, each command says
// in one line what to do, and prints nothing (I1).
func TestFolderAccount(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	p := apptest.ServeProcess(t, "--data", data)
	made := createdAccount(t, data, "second")
	paid := apptest.NewMerchant(p.Ready.API, made.APIKey).Paid(t, apptest.CardApproved)
	server := []string{"--url", p.Ready.API, "--api-key", made.APIKey}
	p.Stop()
	second := []string{"--account", string(made.AccountID)}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"history", paid.ID}, "payment.authorized by "},
		{[]string{"prove", paid.ID, "--out", filepath.Join(t.TempDir(), "proof.json")}, `{"verifierKey":"`},
		{[]string{"tail", "--payment", paid.ID}, `"type":"payment.authorized"`},
	} {
		run := func(status int, says string, more ...string) {
			t.Helper()
			got, out, stderr := apptest.Invoke(t, slices.Concat(c.args, more)...)
			if got != status || !strings.Contains(out+stderr, says) || status != 0 && (out != "" || strings.Count(stderr, "\n") != 1) {
				t.Errorf("%v %v: exits %d: %s%s", c.args, more, got, out, stderr)
			}
		}
		folder := []string{"--data", data}
		run(command.ExitFailure, "The folder has 2 accounts, and this is the answer of the first: name the payment's with --account", folder...)
		run(command.ExitFailure, "the folder has no account nobody; it has [", append(folder, "--account", "nobody")...)
		run(command.ExitFailure, "The payment cannot be found.", append(folder, "--account", string(p.Credentials.AccountID))...)
		run(command.ExitUsage, "--account is of a folder (--data)", append(second, server...)...)
		run(0, c.says, append(folder, second...)...)
	}
	_, all, _ := apptest.Invoke(t, "tail", "--data", data)
	_, own, _ := apptest.Invoke(t, append([]string{"tail", "--data", data}, second...)...)
	if n := strings.Count(own, "\n"); n == 0 || n != strings.Count(own, `"accountId":"`+string(made.AccountID)+`","aggregate"`) || n != strings.Count(all, `"accountId":"`+string(made.AccountID)+`","aggregate"`) {
		t.Errorf("tail of one account prints\n%s\nof all\n%s", own, all)
	}
}

// belongings are the ids of a merchant's objects, by the beginning of the paths that take them.
type belongings map[string]string

// of returns the id for a path's parameter; false if the parameter names nothing of an account.
func (b belongings) of(path string) (id string, owned bool) {
	before, _, _ := strings.Cut(path, "/{")
	id, owned = b[before]
	return id, owned
}

// shared lists the paths whose parameter is no id of an account's object.
var shared = []string{"/processors/{name}/notifications", "/management/processors/{name}", "/checkout/assets/{version}/{file}", "/proof/assets/{file}",
	"/docs/{page}", "/docs/{folder}/{page}", "/docs/assets/{version}/{file}", "/checkout/logos/{account}/{file}",
}

// newBelongings lets a merchant make one of everything.
func newBelongings(r *apptest.DisputeRun) belongings {
	t, m := r.T, r.M
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(receiver.Close)
	post := func(path string, body any) (made struct{ ID string }) {
		t.Helper()
		m.Must(t, "POST", path, m.Headers(), body).Decode(t, &made)
		return made
	}
	endpoint := post("/management/webhook-endpoints", map[string]any{"url": receiver.URL}).ID
	payment := r.Settled("order-1", apptest.CardApproved, "ADYEN")
	disputed := r.Open(payment, "DISPUTE")
	apptest.Eventually(t, func() bool { return r.Shows(disputed.ID).ID != "" }) // the processor's notification has come
	attempt := m.PendingApprovals(t)[0]
	var card struct{ Token string }
	m.Must(t, "POST", "/payment-instruments/"+m.Token(t, "order-2", 2500, apptest.CardApproved)+"/vault", m.Headers(), `{"customerId":"customer-7","verify":false}`).Decode(t, &card)
	apptest.AllSucceeded(t, m, endpoint, 2)
	var sent struct{ Data []struct{ ID string } }
	m.Must(t, "GET", "/management/webhook-deliveries", m.Headers(), nil).Decode(t, &sent)
	var disputes struct{ Data []struct{ ID string } }
	m.Must(t, "GET", "/management/disputes", m.Headers(), nil).Decode(t, &disputes)
	if len(disputes.Data) != 1 || len(sent.Data) == 0 {
		t.Fatalf("%d disputes, %d deliveries", len(disputes.Data), len(sent.Data))
	}
	replay := post("/management/webhook-replays", map[string]any{"endpointId": endpoint, "from": "2001-01-01T00:00:00Z", "to": "2099-01-01T00:00:00Z"}).ID
	apptest.Eventually(t, func() bool { return apptest.ReadReplay(t, m, replay).State != "RUNNING" })
	compared := post("/management/reconciliation-runs", `{"processor":"ADYEN"}`).ID
	apptest.Eventually(t, func() bool {
		var run struct{ State string }
		m.Must(t, "GET", "/management/reconciliation-runs/"+compared, m.Headers(), nil).Decode(t, &run)
		return run.State != "RUNNING"
	})
	return belongings{
		"/payment-instruments": card.Token, "/payments": payment, "/checkout/payments": payment, "/payment-attempts": attempt.ID,
		"/management/api-keys": post("/management/api-keys", `{"name":"further","scopes":["events:read"]}`).ID, "/management/webhook-endpoints": endpoint,
		"/management/customers": "customer-7", "/management/payments": payment, "/management/payment-attempts": attempt.ID, "/management/reconciliation-runs": compared,
		"/management/webhook-deliveries": sent.Data[0].ID, "/management/webhook-replays": replay, "/management/disputes": disputes.Data[0].ID,
		"/management/users":             post("/management/users", `{"email":"ada@shop.example","role":"auditor"}`).ID,
		"/management/webhook-listeners": post("/management/webhook-listeners", `{}`).ID,
		"/management/workflows":         strings.TrimPrefix(m.Workflow(t, apptest.On("DECLINED", "true", 0, `{"type":"cancel"}`)), "/management/workflows/"),
	}
}

// mentions returns the ids that a text has.
func (b belongings) mentions(text []byte) (found []string) {
	for _, id := range slices.Compact(slices.Sorted(maps.Values(b))) {
		if id != "customer-7" && strings.Contains(string(text), id) { // a customer's id is the merchant's own word
			found = append(found, id)
		}
	}
	return found
}

// bodies are requests that would change the merchant's own objects.
var bodies = map[string]string{
	"resumePayment": `{"resumeToken":"x"}`, "resumeCheckoutPayment": `{"resumeToken":"x"}`, "adjustPaymentAuthorization": `{"amount":2600}`,
	"vaultPaymentInstrument": `{"customerId":"customer-8","verify":false}`, "changeWebhookEndpoint": `{"enabled":false}`,
	"changeUser": `{"role":"operator"}`, "answerWebhookListener": `{"id":"x","status":200}`,
	"replaceWorkflow":  `{"name":"mine","trigger":{"eventType":"PAYMENT.STATUS","status":"DECLINED"},"condition":"true","actions":[{"type":"cancel"}]}`,
	"simulateWorkflow": `{"from":"2001-01-01T00:00:00Z","to":"2099-01-01T00:00:00Z"}`,
}

// TestIsolation makes every call of the API with the ids of another merchant. The answer is the
// same as for an id that does not exist. No list shows an object of the other merchant, and none of
// them changes.
func TestIsolation(t *testing.T) {
	t.Parallel()
	r := apptest.NewDisputeRun(t, nil)
	theirs := newBelongings(r)
	stranger := apptest.NewMerchant(r.App.Ready().API, createdAccount(t, r.App.Options.Data, "stranger").APIKey)
	var session struct{ ClientToken string }
	stranger.Must(t, "POST", "/client-session", stranger.Headers(), `{"orderId":"o","currencyCode":"EUR","amount":500}`).Decode(t, &session)
	doc, err := httpapi.LoadOpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	before := theirs.look(t, doc, r.M)
	const requests = "/management/request-log"
	theirs.unseen(t, stranger, requests, stranger.Headers()) // before the stranger names their ids itself
	walked := 0
	for path, item := range doc.Paths.Map() {
		for method, operation := range item.Operations() {
			header := stranger.Headers()
			if clientTokens(operation) {
				header = map[string]string{"X-Client-Token": session.ClientToken}
			}
			id, owned := theirs.of(path)
			switch {
			case !strings.Contains(path, "{"):
				if method == http.MethodGet && !strings.HasSuffix(path, "/stream") && path != requests {
					theirs.unseen(t, stranger, path, header)
				}
				continue
			case slices.Contains(shared, path):
				continue
			case !owned:
				t.Errorf("%s: the test knows no id for it: add it to newBelongings, or to shared", path)
				continue
			}
			walked++
			theirs.refused(t, stranger, operation.OperationID, method, path, id, header)
		}
	}
	if walked < 30 {
		t.Errorf("only %d calls were tried", walked)
	}
	theirs.named(t, stranger)
	if after := theirs.look(t, doc, r.M); after != before {
		was, is := strings.Split(before, "\n"), strings.Split(after, "\n")
		for i := range min(len(was), len(is)) {
			if was[i] != is[i] {
				t.Errorf("the other merchant's things changed from\n%s\nto\n%s", was[i], is[i])
			}
		}
	}
}

// refused makes a call with another merchant's id, and the same call with an unused id. The answers
// must be the same.
func (b belongings) refused(t *testing.T, m *apptest.Merchant, operation, method, path, id string, header map[string]string) {
	t.Helper()
	var body any
	if text, has := bodies[operation]; has {
		body = text
	}
	var says [2]string
	for i, id := range []string{id, unknown(id)} {
		got, err := m.Call(method, strings.NewReplacer("{id}", id, "{token}", id, "{customerId}", id).Replace(path), header, body)
		var e apptest.ErrorAnswer
		if err != nil || json.Unmarshal(got.Body, &e) != nil || got.Status < 400 || got.Status >= 500 || e.Error.ErrorID == "RequestValidationError" {
			t.Errorf("%s %s with %s: %d %s %v", method, path, id, got.Status, got.Body, err)
		}
		says[i] = strings.NewReplacer(e.Error.DiagnosticsID, "", id, "").Replace(fmt.Sprint(got.Status, string(got.Body)))
	}
	if says[0] != says[1] {
		t.Errorf("%s %s says %s of another merchant's, and %s of one that does not exist", method, path, says[0], says[1])
	}
}

// unknown returns an unused id of the same form.
func unknown(id string) string {
	last := "0"
	if strings.HasSuffix(id, "0") {
		last = "1"
	}
	return id[:len(id)-1] + last
}

// unseen makes a call that needs no id, whose answer must not mention the other merchant's things.
func (b belongings) unseen(t *testing.T, m *apptest.Merchant, path string, header map[string]string) {
	t.Helper()
	got, err := m.Call("GET", path, header, nil)
	if err != nil {
		t.Fatal(err)
	}
	if found := b.mentions(got.Body); len(found) > 0 {
		t.Errorf("GET %s shows another merchant's %q: %s", path, found, got.Body)
	}
}

// named makes calls that name another merchant's things in the query or the body.
func (b belongings) named(t *testing.T, m *apptest.Merchant) {
	t.Helper()
	for _, path := range []string{
		"/events?paymentId=" + b["/payments"], "/management/webhook-deliveries?endpointId=" + b["/management/webhook-endpoints"],
		"/management/webhook-deliveries?paymentId=" + b["/payments"], "/management/disputes?paymentId=" + b["/payments"],
		"/payment-instruments?customer_id=" + b["/management/customers"], "/payments?customerId=" + b["/management/customers"],
	} {
		b.unseen(t, m, path, m.Headers())
	}
	for path, body := range map[string]any{
		"/payments":                   map[string]any{"paymentMethodToken": b["/payment-instruments"], "orderId": "o", "currencyCode": "EUR", "amount": 500},
		"/management/webhook-replays": map[string]any{"endpointId": b["/management/webhook-endpoints"], "from": "2001-01-01T00:00:00Z", "to": "2099-01-01T00:00:00Z"},
	} {
		got, err := m.Call("POST", path, m.Headers(), body)
		if err != nil || got.Status < 400 || got.Status >= 500 {
			t.Errorf("POST %s with another merchant's things: %d %s %v", path, got.Status, got.Body, err)
		}
	}
}

// passing matches the parts of an answer that change by themselves.
var passing = regexp.MustCompile(`"(lastUsedAt|position|diagnosticsId)":[^,}]*,?`)

// look returns the answers to every GET of the merchant on the merchant's own things, and of the
// lists.
func (b belongings) look(t *testing.T, doc *openapi3.T, m *apptest.Merchant) string {
	t.Helper()
	var text strings.Builder
	for _, path := range slices.Sorted(maps.Keys(doc.Paths.Map())) {
		id, owned := b.of(path)
		operation := doc.Paths.Value(path).Get
		if operation == nil || !owned || clientTokens(operation) || strings.HasSuffix(path, "/payments/{id}/proof") || strings.HasSuffix(path, "/stream") { // a later checkpoint changes the proof
			continue
		}
		got, err := m.Call("GET", strings.NewReplacer("{id}", id, "{token}", id).Replace(path), m.Headers(), nil)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&text, "%s %d %s\n", path, got.Status, passing.ReplaceAll(got.Body, nil))
	}
	return text.String()
}

// clientTokens reports whether an operation takes a client token.
func clientTokens(operation *openapi3.Operation) bool {
	return operation.Security != nil && len(*operation.Security) == 1 && (*operation.Security)[0]["clientToken"] != nil
}
