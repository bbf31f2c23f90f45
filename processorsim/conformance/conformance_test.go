package conformance_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"payledger/domain/processor"
	"payledger/processorsim/conformance"
	"payledger/processorsim/protocol/openapitest"
)

// TestSimulator: the simulator keeps every promise, over http and over https with a private
// authority.
func TestSimulator(t *testing.T) {
	for name, secure := range map[string]bool{"http": false, "https": true} {
		t.Run(name, func(t *testing.T) {
			w := connector(t, mutant{wrap: fits(t), notify: fitting(t)}, secure)
			c := w.config()
			c.HTTP = w.server.Client().Transport.(*http.Transport).Clone()
			report, err := conformance.Run(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			if n := report.Count(conformance.Holds); n != len(conformance.Checks()) || n != len(report.Checks) {
				t.Errorf("%d of %d promises hold", n, len(conformance.Checks()))
			}
			broken(t, report)
		})
	}
}

// TestEachProcessor: what depends on the name of the processor holds for each of the six.
func TestEachProcessor(t *testing.T) {
	w := connector(t, mutant{}, false)
	for _, name := range processor.Names {
		c := w.config()
		c.Processor = name
		c.Only = []string{"declaration", "authorize", "key.repeat", "pending.capture", "notification", "dispute", "dispute.list", "list.payment", "list.time"}
		report, err := conformance.Run(t.Context(), c)
		if err != nil || report.Processor != name || len(report.Checks) != len(c.Only) {
			t.Errorf("%s: %+v %v", name, report, err)
		}
		broken(t, report)
	}
}

// fits checks each request and answer against openapi.yaml, in both directions.
func fits(t *testing.T) func(http.Handler) http.Handler {
	return answers(anything, func(a *answer) {
		path, ofPayment := a.request.URL.EscapedPath(), a.request.URL.Query().Has("reference")
		if err := openapitest.Check(a.request.Method, path, ofPayment, []byte(a.sent), a.status, []byte(a.body)); err != nil {
			t.Errorf("%s %s: %v", a.request.Method, path, err)
		}
	})
}

// fitting checks each notification.
func fitting(t *testing.T) func(*http.Request, []byte) []byte {
	return func(_ *http.Request, body []byte) []byte {
		if err := openapitest.Fits("Notification", body); err != nil {
			t.Error(err)
		}
		return body
	}
}

func broken(t *testing.T, report conformance.Report) {
	t.Helper()
	for _, f := range report.Checks {
		if f.Result == conformance.Holds {
			continue
		}
		t.Errorf("%s %s: %s", f.ID, f.Result, f.Reason)
		for _, e := range f.Exchanges {
			e.Request = strings.TrimSpace(e.Request)
			t.Logf("  %s %s %s %s: %d %s %s", e.Method, e.Path, e.Key, e.Request, e.Status, e.Answer, e.Error)
		}
	}
}

// TestSafe: without Destructive no operation and no fence is sent, except operations that name no
// transaction.
func TestSafe(t *testing.T) {
	var sent []string
	w := connector(t, mutant{wrap: answers(anything, func(a *answer) {
		if a.request.Method == http.MethodPost && a.status == http.StatusOK {
			sent = append(sent, a.sent)
		}
	})}, false)
	c := w.config()
	c.Destructive = false
	report, err := conformance.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if len(sent) > 0 {
		t.Errorf("%d requests were carried out: %s", len(sent), sent)
	}
	holds, left := report.Count(conformance.Holds), report.Count(conformance.NotTried)
	if holds < 10 || holds+left != len(conformance.Checks()) {
		t.Errorf("%d hold, %d are not tried", holds, left)
	}
}

// TestLive: a connector with real money is not touched.
func TestLive(t *testing.T) {
	w := connector(t, mutant{wrap: edited(declared, func(d map[string]any) { d["live"] = true; delete(d, "testCards") })}, false)
	c := w.config()
	if _, err := conformance.Run(t.Context(), c); !errors.Is(err, conformance.ErrLive) {
		t.Error(err)
	}
	c.Destructive = false
	report, err := conformance.Run(t.Context(), c)
	if err != nil || !report.Live || report.Count(conformance.Broken) > 0 {
		t.Errorf("%+v %v", report, err)
	}
}

// TestDeclared: a lacking capability is reported in the connector's words; a missing card, token or
// secret is not tried.
func TestDeclared(t *testing.T) {
	w := connector(t, mutant{wrap: edited(declared, func(d map[string]any) {
		d["cannot"] = []any{map[string]any{"capability": "adjust", "instead": "The vendor has no adjustments."}}
		delete(d["testCards"].(map[string]any), "void_fails")
	}), open: true}, false)
	c := w.config()
	c.Token, c.Secret = "", ""
	c.Only = []string{"adjust", "void.fails", "token", "notification", "capture"}
	report, err := conformance.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]conformance.Result{
		"adjust": conformance.Cannot, "void.fails": conformance.NotTried, "token": conformance.NotTried,
		"notification": conformance.NotTried, "capture": conformance.Holds,
	}
	for _, f := range report.Checks {
		if f.Result != want[f.ID] || f.Result == conformance.Cannot && f.Reason != "The vendor has no adjustments." {
			t.Errorf("%+v", f)
		}
	}
	if len(report.Checks) != len(want) {
		t.Errorf("%d checks", len(report.Checks))
	}
	c.Only = []string{"nothing"}
	if _, err := conformance.Run(t.Context(), c); err == nil {
		t.Error("an unknown check was run")
	}
}

// TestChecks: each check has an id of its own, a promise and a meaning, each one sentence.
func TestChecks(t *testing.T) {
	var ids []string
	for _, c := range conformance.Checks() {
		ids = append(ids, c.ID)
		for _, sentence := range []string{c.Promise, c.Meaning} {
			if !strings.HasSuffix(sentence, ".") || strings.Contains(sentence, ". ") {
				t.Errorf("%s: %q is not one sentence", c.ID, sentence)
			}
		}
	}
	if slices.Sort(ids); len(slices.Compact(ids)) != len(conformance.Checks()) {
		t.Error("two checks have the same id")
	}
}

// TestMutants: each check finds its fault. A mutant breaks the promises that it names.
func TestMutants(t *testing.T) {
	found := map[string]bool{}
	for _, m := range mutants() {
		t.Run(m.name, func(t *testing.T) {
			w := connector(t, m, false)
			c := w.config()
			if c.Only = m.breaks; m.soon {
				c.Patience = 300 * time.Millisecond
			}
			report, err := conformance.Run(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range report.Checks {
				if f.Result != conformance.Broken {
					t.Errorf("%s %s: the fault was not found", f.ID, f.Result)
					continue
				}
				found[f.ID] = true
				t.Logf("%s: %s", f.ID, f.Reason)
				shows(t, f)
			}
		})
	}
	for _, c := range conformance.Checks() {
		if !found[c.ID] {
			t.Errorf("no mutant breaks %s", c.ID)
		}
	}
}

// shows checks that a broken promise comes with its exchanges, without secrets.
func shows(t *testing.T, f conformance.Finding) {
	t.Helper()
	if len(f.Exchanges) == 0 {
		t.Errorf("%s: no exchange shows the fault", f.ID)
	}
	for _, e := range f.Exchanges {
		for _, text := range []string{e.Path, e.Request, e.Answer, e.Error, f.Reason} {
			for _, hidden := range []string{"4242424242424242", "4000000000000002", `"739"`, token, secret} {
				if strings.Contains(text, hidden) && !strings.Contains(e.Answer, `"testCards"`) {
					t.Errorf("%s: an exchange has a secret: %s", f.ID, text)
				}
			}
		}
	}
}

// TestUnsure: a connector that often does not know the outcome breaks no promise: the suite goes on
// as the ledger does.
func TestUnsure(t *testing.T) {
	var n atomic.Int64
	unavailable := func(w http.ResponseWriter) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(`{"error":{"code":"unavailable","message":"the outcome is not known"}}`))
	}
	w := connector(t, mutant{wrap: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !posted("")(r, "") {
				next.ServeHTTP(w, r)
				return
			}
			switch n.Add(1) % 4 {
			case 1: // before it acts
				unavailable(w)
			case 3: // after it acted
				next.ServeHTTP(httptest.NewRecorder(), r)
				unavailable(w)
			default:
				next.ServeHTTP(w, r)
			}
		})
	}}, false)
	c := w.config()
	c.Only = []string{"authorize", "authorize.declined", "capture", "capture.several", "capture.above", "refund", "refund.parts", "void", "pending.capture", "dispute"}
	report, err := conformance.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range report.Checks {
		if f.Result != conformance.Holds {
			t.Errorf("%s is %s: %s", f.ID, f.Result, f.Reason)
		}
	}
	if len(report.Checks) != len(c.Only) {
		t.Errorf("%d checks", len(report.Checks))
	}
}
