package servicetest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/developer"
	"payledger/cmd/payledger/terminal"
	"payledger/domain"
	"payledger/notifier/listener"
	"payledger/notifier/signature"
)

// program is a merchant's program that listens on this machine. Its answers follow one after the
// other; then it answers 204.
type program struct {
	t      *testing.T
	secret string // the account's signing secret
	url    string

	mu      sync.Mutex
	answers []int
	bodies  []string
}

func newProgram(t *testing.T, secret string, answers ...int) *program {
	t.Helper()
	p := &program{t: t, secret: secret, answers: answers}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	p.url = server.URL
	return p
}

func (p *program) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = signature.Verify(r.Header, body, time.Now(), p.secret)
	}
	if err != nil || r.Header.Get("User-Agent") != "payledger-webhooks/1" || r.Header.Get("Content-Type") != "application/json" {
		p.t.Errorf("the account's secret does not verify %s: %v, headers %v", body, err, r.Header)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bodies = append(p.bodies, string(body))
	status := http.StatusNoContent
	if len(p.answers) > 0 {
		status, p.answers = p.answers[0], p.answers[1:]
	}
	w.WriteHeader(status)
}

func (p *program) received() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string{}, p.bodies...)
}

// ear is a running `payledger listen`.
type ear struct {
	t     *testing.T
	lines *bufio.Reader
	keys  io.Writer
	stop  context.CancelFunc
	ended chan error
	id    string
}

// listen starts `payledger listen` and waits until it is ready.
func listen(t *testing.T, m *apptest.Merchant, c developer.Listen) *ear {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	keys, typed := io.Pipe()
	c.In, c.URL, c.APIKey = keys, m.API, m.Key
	e := &ear{t: t, lines: bufio.NewReader(out), keys: typed, stop: stop, ended: make(chan error, 1)}
	go func() {
		e.ended <- c.Run(ctx, terminal.Streams{Out: in, Err: io.Discard}, nil)
		in.Close()
	}()
	t.Cleanup(func() { stop(); typed.Close(); go func() { _, _ = io.Copy(io.Discard, out) }() })
	e.line("Webhooks go to")
	e.line("by this one of the listener: plsec_")
	e.line("Ready.")
	var list struct{ Data []struct{ ID, URL string } }
	m.Must(t, "GET", "/management/webhook-endpoints", m.Headers(), nil).Decode(t, &list)
	if len(list.Data) != 1 || list.Data[0].URL != "listener:stream" {
		t.Fatalf("the account's endpoints: %+v", list.Data)
	}
	e.id = list.Data[0].ID
	return e
}

// line waits for the next line, which must have all parts.
func (e *ear) line(parts ...string) string {
	e.t.Helper()
	line, err := e.lines.ReadString('\n')
	if err != nil {
		e.t.Fatalf("waiting for %q: %v", parts, err)
	}
	for _, part := range parts {
		if !strings.Contains(line, part) {
			e.t.Fatalf("the line %q lacks %q", line, part)
		}
	}
	return line
}

// deliveriesOf returns the deliveries of a payment, as the log has them.
func deliveriesOf(t *testing.T, m *apptest.Merchant, payment string) (all []struct {
	ID, EndpointID, Outcome, LastFailure string
	LastStatusCode, AttemptCount         int
}) {
	t.Helper()
	m.Must(t, "GET", "/management/webhook-deliveries?paymentId="+payment, m.Headers(), nil).Decode(t, &struct{ Data any }{&all})
	return all
}

// TestListen: webhooks come to a program on this machine although no network is allowed, with the
// body and the signature that an endpoint gets, and the program's answers are the outcomes.
// Retries, r, a resend, a replay and the test message come as well. Ctrl-C ends the listener.
func TestListen(t *testing.T) {
	t.Parallel()
	o := apptest.TestOptions(t.TempDir())
	o.WebhookAllowCIDR, o.WebhookRetryDelays = nil, []time.Duration{50 * time.Millisecond}
	app := apptest.StartApp(t, o)
	m := apptest.NewMerchant(app.API.URL, app.Credentials.APIKey)
	shop := newProgram(t, app.Credentials.SigningSecret, http.StatusInternalServerError)
	e := listen(t, m, developer.Listen{ForwardTo: strings.TrimPrefix(shop.url, "http://"), Events: []string{"PAYMENT.STATUS"}})

	p := apptest.Buys(t, m, "order-1")
	e.line("PAYMENT.STATUS ", p.ID, "verified ✓", "→ 500")
	e.line("PAYMENT.STATUS (attempt 2)", p.ID, "verified ✓", "→ 204")
	if got := shop.received(); len(got) != 2 || !strings.Contains(got[1], `"eventType":"PAYMENT.STATUS"`) || !strings.Contains(got[1], p.ID) {
		t.Errorf("the program got %q", got)
	}
	if _, err := fmt.Fprintln(e.keys, "r"); err != nil {
		t.Fatal(err)
	}
	e.line("PAYMENT.STATUS (sent again)", p.ID, "verified ✓", "→ 204")
	delivery := deliveriesOf(t, m, p.ID)[0]
	m.Must(t, "POST", "/management/webhook-deliveries/"+delivery.ID+"/resend", m.Headers(), nil)
	e.line("PAYMENT.STATUS (sent again)", p.ID, "→ 204")
	replay := map[string]any{"endpointId": e.id, "from": "2020-01-01T00:00:00Z", "to": time.Now().Add(time.Hour).Format(time.RFC3339)}
	m.Must(t, "POST", "/management/webhook-replays", m.Headers(), replay)
	e.line("PAYMENT.STATUS (sent again)", p.ID, "→ 204")
	a := m.Must(t, "POST", "/management/webhook-endpoints/"+e.id+"/test", m.Headers(), nil)
	e.line("test message", "verified ✓", "→ 204")
	if !bytes.Contains(a.Body, []byte(`"succeeded":true`)) {
		t.Errorf("the test message: %s", a.Body)
	}

	e.stop()
	if err := <-e.ended; err != nil {
		t.Errorf("a stopped listen returns %v", err)
	}
	if a := m.Must(t, "GET", "/management/webhook-endpoints", m.Headers(), nil); !bytes.Contains(a.Body, []byte(`"data":[]`)) {
		t.Errorf("the listener is left: %s", a.Body)
	}
	if after := apptest.Buys(t, m, "order-2"); len(deliveriesOf(t, m, after.ID)) != 0 {
		t.Error("webhooks are planned for a listener that ended")
	}
	if delivery = deliveriesOf(t, m, p.ID)[0]; delivery.Outcome != "SUCCEEDED" || delivery.LastStatusCode != 204 || delivery.AttemptCount < 5 {
		t.Errorf("the log has %+v", delivery)
	}
}

// TestListenWhileSecretsRotate: for 24 hours after a rotation a program with the previous secret
// still verifies its webhooks (§5.2 rule 3). The command verifies them by the listener's own secret
// and names the header of that signature.
func TestListenWhileSecretsRotate(t *testing.T) {
	t.Parallel()
	app := apptest.StartApp(t, apptest.TestOptions(t.TempDir()))
	m := apptest.NewMerchant(app.API.URL, app.Credentials.APIKey)
	shop := newProgram(t, app.Credentials.SigningSecret)
	e := listen(t, m, developer.Listen{ForwardTo: shop.url, Events: []string{"PAYMENT.STATUS"}})
	p := apptest.Buys(t, m, "order-1")
	e.line("PAYMENT.STATUS ", p.ID, "verified ✓", "→ 204")
	m.Must(t, "POST", "/management/signing-secret/rotate", m.Headers(), nil)
	for i := range 2 {
		p = apptest.Buys(t, m, fmt.Sprint("order-", i+2))
		if i == 0 {
			e.line("The account's signing secret was rotated", "X-Signature-Secondary is signed by the previous one", "X-Signature-Listener only")
		}
		e.line("PAYMENT.STATUS ", p.ID, "verified ✓", "→ 204")
	}
}

// TestListenFailures: a program that is not there, and a service that is restarted, are outcomes of
// attempts, and lose no webhook.
func TestListenFailures(t *testing.T) {
	t.Parallel()
	o := apptest.TestOptions(t.TempDir())
	o.WebhookRetryDelays = []time.Duration{100 * time.Millisecond, 100 * time.Millisecond, 100 * time.Millisecond, 5 * time.Minute}
	o.Listen = apptest.FreeAddress(t)
	app, stop := apptest.StartToStop(t, o)
	m := apptest.NewMerchant(app.API.URL, app.Credentials.APIKey)
	gone := "http://" + apptest.FreeAddress(t)
	e := listen(t, m, developer.Listen{ForwardTo: gone})
	p := apptest.Buys(t, m, "order-1")
	for attempt := range 4 {
		number := ""
		if attempt > 0 {
			number = fmt.Sprintf(" (attempt %d)", attempt+1)
		}
		e.line("PAYMENT.STATUS"+number+" ", p.ID, "→ CONNECTION_REFUSED: no program listens at "+gone)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	e.line("the connection to the server broke")
	apptest.StartApp(t, o)
	e.line("Ready.") // the break is reported once, however often the command connected
	shown := deliveriesOf(t, m, p.ID)
	if len(shown) != 1 || shown[0].LastFailure != "CONNECTION_REFUSED" || shown[0].Outcome != "FAILED" {
		t.Errorf("the log has %+v", shown)
	}
	m.Must(t, "POST", "/management/webhook-deliveries/"+shown[0].ID+"/resend", m.Headers(), nil)
	e.line("PAYMENT.STATUS (sent again)", p.ID, "verified ✓", "CONNECTION_REFUSED")
	m.Must(t, "DELETE", "/management/webhook-endpoints/"+e.id, m.Headers(), nil)
	for line := ""; !strings.Contains(line, "broke"); {
		line = e.line()
	}
	if err := <-e.ended; err == nil || !strings.Contains(err.Error(), "the listener ended") {
		t.Errorf("listen to a deleted listener returns %v", err)
	}
}

// TestListenerAPI: only listeners have streams, only their account has them, the newest reader
// takes the place of the one before, an answer counts once, and an account has a few at most (D18,
// D20).
func TestListenerAPI(t *testing.T) {
	t.Parallel()
	app := apptest.StartApp(t, apptest.TestOptions(t.TempDir()))
	m := apptest.NewMerchant(app.API.URL, app.Credentials.APIKey)
	h := m.Headers()
	var made struct{ ID, SigningSecret string }
	m.Must(t, "POST", "/management/webhook-listeners", h, map[string]any{}).Decode(t, &made)
	var real struct{ ID string }
	m.Must(t, "POST", "/management/webhook-endpoints", h, map[string]any{"url": "http://127.0.0.1:1/"}).Decode(t, &real)
	base := "/management/webhook-listeners/"
	for _, c := range []struct {
		method, path string
		body         any
		status       int
		says         string
	}{
		{"POST", base + made.ID + "/answers", map[string]any{"id": "none", "status": 200}, 404, "No webhook of this id waits"},
		{"POST", base + made.ID + "/answers", map[string]any{"id": "none"}, 422, "$.status"},
		{"POST", base + made.ID + "/answers", map[string]any{"id": "none", "status": 200, "failure": "TIMEOUT"}, 422, "$.status"},
		{"POST", base + made.ID + "/answers", map[string]any{"id": "none", "failure": "STATUS"}, 422, "$.failure"},
		{"POST", base + real.ID + "/answers", map[string]any{"id": "none", "status": 200}, 404, "There is no webhook listener"},
		{"GET", base + real.ID + "/stream", nil, 404, "There is no webhook listener"},
		{"DELETE", base + real.ID, nil, 404, "There is no webhook listener"},
		{"PATCH", "/management/webhook-endpoints/" + made.ID, map[string]any{"url": "http://127.0.0.1:1/"}, 422, "a listener has no address"},
		{"PATCH", "/management/webhook-endpoints/" + real.ID, map[string]any{"url": "listener:stream"}, 422, "must be an http"},
		{"POST", "/management/webhook-endpoints", map[string]any{"url": "listener:stream"}, 422, "must be an http"},
		{"POST", base[:len(base)-1], map[string]any{"eventTypes": []string{"PAYMENT.PAID"}}, 422, "$.eventTypes"},
	} {
		a, err := m.Call(c.method, c.path, h, c.body)
		if err != nil || a.Status != c.status || !strings.Contains(string(a.Body), c.says) {
			t.Errorf("%s %s %v: %d %s %v", c.method, c.path, c.body, a.Status, a.Body, err)
		}
	}
	first := m.Stream(t, base+made.ID+"/stream")
	first.Message(t, "ready")
	second := m.Stream(t, base+made.ID+"/stream")
	second.Message(t, "ready")
	p := apptest.Buys(t, m, "order-1")
	var w struct {
		ID, PaymentID, Body string
		Headers             map[string]string
	}
	if err := json.Unmarshal(second.Message(t, "webhook"), &w); err != nil || w.PaymentID != p.ID {
		t.Fatalf("%+v %v", w, err)
	}
	if _, err := first.Lines.ReadString(0); err == nil {
		t.Error("the first reader has a message")
	}
	header := http.Header{}
	for name, value := range w.Headers {
		header.Set(name, value)
	}
	for secret, whose := range map[string]string{made.SigningSecret: "the listener's", app.Credentials.SigningSecret: "the account's"} {
		if err := signature.Verify(header, []byte(w.Body), time.Now(), secret); err != nil {
			t.Errorf("%s secret: %v", whose, err)
		}
	}
	answer := map[string]any{"id": w.ID, "status": 418, "body": "card 4111111111111111"}
	if a, err := m.Call("POST", base+made.ID+"/answers", h, answer); err != nil || a.Status != 422 {
		t.Errorf("an answer with a card number: %d %s %v", a.Status, a.Body, err)
	}
	answer["body"] = "short and stout, " + made.SigningSecret
	m.Must(t, "POST", base+made.ID+"/answers", h, answer)
	if a, err := m.Call("POST", base+made.ID+"/answers", h, answer); err != nil || a.Status != 404 {
		t.Errorf("a second answer: %d %s %v", a.Status, a.Body, err)
	}
	a := tried(t, m, p.ID, made.ID)
	if !bytes.Contains(a.Body, []byte(`"statusCode":418`)) || bytes.Contains(a.Body, []byte("plsec_")) || !bytes.Contains(a.Body, []byte("withheld")) {
		t.Errorf("the delivery: %s", a.Body)
	}
	for range 4 {
		m.Must(t, "POST", base[:len(base)-1], h, map[string]any{})
	}
	if a, err := m.Call("POST", base[:len(base)-1], h, map[string]any{}); err != nil || a.Status != 422 || !strings.Contains(string(a.Body), "maximum number of listeners") {
		t.Errorf("a sixth listener: %d %s %v", a.Status, a.Body, err)
	}
	if all := app.AllListeners(); len(all) != 5 || all[0].Account != app.Credentials.AccountID {
		t.Errorf("the sweeper sees %v", all)
	}
	if err := app.Listeners.Reading(t.Context(), listener.Endpoint{Account: app.Credentials.AccountID, ID: domain.EndpointID(made.ID)}.Lane()); err != nil {
		t.Error(err)
	}
}

// tried returns the delivery of a payment to an endpoint when it has an attempt.
func tried(t *testing.T, m *apptest.Merchant, payment, endpoint string) apptest.Answer {
	t.Helper()
	for {
		for _, d := range deliveriesOf(t, m, payment) {
			if d.EndpointID == endpoint && d.AttemptCount > 0 {
				return m.Must(t, "GET", "/management/webhook-deliveries/"+d.ID, m.Headers(), nil)
			}
		}
	}
}
