package conformance_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"payledger/domain"
	"payledger/domain/processor"
	_ "payledger/domain/scratchtest"
	"payledger/processorsim/adapter"
	"payledger/processorsim/conformance"
	"payledger/processorsim/protocol"
	"payledger/processorsim/simulator"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	secret = "notification-secret"
	token  = "token-of-the-ledger"
)

// clock is the simulator's: its timers fire in Advance.
type clock struct {
	mu     sync.Mutex
	now    time.Time
	timers map[*timer]bool
}

type timer struct {
	at time.Time
	f  func()
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(time.Millisecond) // no two operations at the same time
	return c.now
}

func (c *clock) AfterFunc(d time.Duration, f func()) func() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &timer{c.now.Add(d), f}
	c.timers[t] = true
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		waited := c.timers[t]
		delete(c.timers, t)
		return waited
	}
}

// Advance lets time pass and runs what is due.
func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	c.now = c.now.Add(d)
	var due []*timer
	for t := range maps.Clone(c.timers) {
		if !t.at.After(c.now) {
			due = append(due, t)
			delete(c.timers, t)
		}
	}
	c.mu.Unlock()
	for _, t := range due {
		t.f()
	}
}

// world is a simulator behind a mutant, which breaks a promise.
type world struct {
	clock  *clock
	server *httptest.Server
}

// connector starts a simulator, with a token, behind a mutant.
func connector(t *testing.T, m mutant, secure bool) *world {
	t.Helper()
	w := &world{clock: &clock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), timers: map[*timer]bool{}}}
	c := simulator.Config{Dir: t.TempDir(), Secret: []byte(secret), Token: token, Now: w.clock.Now, AfterFunc: w.clock.AfterFunc}
	if m.open {
		c.Token = ""
	}
	sim, err := simulator.New(c)
	if err != nil {
		t.Fatal(err)
	}
	handler := sim.Handler()
	if m.wrap != nil {
		handler = m.wrap(handler)
	}
	if m.notify != nil {
		relay := newRelay(m.notify)
		t.Cleanup(relay.Close)
		handler = relay.before(handler)
	}
	if secure {
		w.server = httptest.NewTLSServer(handler)
	} else {
		w.server = httptest.NewServer(handler)
	}
	t.Cleanup(func() {
		if err := sim.Close(); err != nil {
			t.Error(err)
		}
		w.server.Close()
	})
	return w
}

func (w *world) config() conformance.Config {
	return conformance.Config{
		URL: w.server.URL, Processor: processor.Adyen, Token: token, Secret: secret, Destructive: true,
		Patience: time.Minute, Elapse: w.clock.Advance, Outside: w.outside,
	}
}

// outside captures a payment without the ledger.
func (w *world) outside(ctx context.Context, reference domain.PaymentID, _ string) error {
	to := adapter.Connection{URL: w.server.URL, Token: token}
	if of := w.server.Certificate(); of != nil {
		to.CAs = x509.NewCertPool()
		to.CAs.AddCert(of)
	}
	control, err := adapter.Open(to)
	if err == nil {
		defer control.Close()
		_, err = control.Act(ctx, processor.Capture, reference, new(domain.Amount(1000)))
	}
	return err
}

// relay stands between the simulator and the receiver of notifications, and changes them.
type relay struct {
	*httptest.Server
	mu sync.Mutex
	to string
}

func newRelay(change func(*http.Request, []byte) []byte) *relay {
	r := &relay{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		body, _ := io.ReadAll(in.Body)
		r.mu.Lock()
		to := r.to
		r.mu.Unlock()
		out, err := http.NewRequestWithContext(in.Context(), http.MethodPost, to, nil)
		if err != nil {
			return
		}
		out.Header = in.Header.Clone()
		if body = change(out, body); body == nil {
			return // dropped
		}
		out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		answer, err := client.Do(out)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer answer.Body.Close()
		w.WriteHeader(answer.StatusCode)
	}))
	return r
}

// before replaces the notifyUrl of operations by the relay's.
func (r *relay) before(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		body := bodyOf(in)
		if m := notifyURL.FindStringSubmatch(body); m != nil {
			r.mu.Lock()
			r.to = m[1]
			r.mu.Unlock()
			body = strings.Replace(body, m[1], r.URL, 1)
			in.Body, in.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
		}
		next.ServeHTTP(w, in)
	})
}

var notifyURL = regexp.MustCompile(`"notifyUrl":"([^"]*)"`)

// posted matches requests of an operation; "" is any.
func posted(kind processor.Kind) func(*http.Request, string) bool {
	return func(r *http.Request, body string) bool {
		return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/operations") &&
			(kind == "" || strings.Contains(body, `"operation":"`+string(kind)+`"`))
	}
}

func lookedUp(r *http.Request, _ string) bool {
	return r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/operations/")
}

func fenced(r *http.Request, _ string) bool { return strings.HasSuffix(r.URL.Path, "/fence") }

func listed(r *http.Request, _ string) bool {
	return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/operations") && r.URL.Query().Has("reference")
}

func listedByTime(r *http.Request, _ string) bool {
	return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/operations") && !r.URL.Query().Has("reference")
}

func disputesListed(r *http.Request, _ string) bool {
	return strings.HasSuffix(r.URL.Path, "/disputes")
}

func declared(r *http.Request, _ string) bool {
	return strings.Count(r.URL.Path, "/") == 3 && r.Method == http.MethodGet
}

func anything(*http.Request, string) bool { return true }

// bodyOf reads a request's body and puts it back.
func bodyOf(r *http.Request) string {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return string(body)
}

// requests changes the operation of the requests that match.
func requests(match func(*http.Request, string) bool, change func(map[string]any)) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body := bodyOf(r)
			if match(r, body) {
				var op map[string]any
				decoder := json.NewDecoder(strings.NewReader(body))
				decoder.UseNumber()
				if decoder.Decode(&op) == nil && !decoder.More() && op != nil {
					change(op)
					changed, _ := json.Marshal(op)
					r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(changed)), int64(len(changed))
				}
			}
			next.ServeHTTP(w, r)
		})
	}
}

// answer is an answer on its way.
type answer struct {
	request *http.Request
	sent    string // the request's body
	status  int
	body    string
}

// answers changes the answers to the requests that match.
func answers(match func(*http.Request, string) bool, change func(*answer)) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			a := &answer{request: r, sent: bodyOf(r)}
			if !match(r, a.sent) {
				next.ServeHTTP(w, r)
				return
			}
			recorded := httptest.NewRecorder()
			next.ServeHTTP(recorded, r)
			a.status, a.body = recorded.Code, recorded.Body.String()
			change(a)
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(a.status)
			_, _ = io.WriteString(w, a.body)
		})
	}
}

// replaced replaces a text in the bodies of answers.
func replaced(match func(*http.Request, string) bool, old, new string) func(http.Handler) http.Handler {
	return answers(match, func(a *answer) { a.body = strings.ReplaceAll(a.body, old, new) })
}

// granted turns refusals with a code into successes.
func granted(code protocol.Code) func(http.Handler) http.Handler {
	return answers(anything, func(a *answer) {
		if !strings.Contains(a.body, `"code":"`+code+`"`) || a.status != http.StatusOK {
			return
		}
		a.body = strings.ReplaceAll(a.body, `"state":"FAILED"`, `"state":"SUCCEEDED"`)
		if !strings.Contains(a.body, `"processorTransactionId"`) {
			a.body = strings.ReplaceAll(a.body, `"code":`, `"processorTransactionId":"granted","code":`)
		}
	})
}

// edited changes the JSON object of answers.
func edited(match func(*http.Request, string) bool, change func(map[string]any)) func(http.Handler) http.Handler {
	return answers(match, func(a *answer) {
		var object map[string]any
		decoder := json.NewDecoder(strings.NewReader(a.body))
		decoder.UseNumber()
		if decoder.Decode(&object) == nil && object != nil {
			change(object)
			text, _ := json.Marshal(object)
			a.body = string(text)
		}
	})
}
