package httpapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/eventstore/commands/reconcile"
	"payledger/eventstore/eventstoretest"
)

// compared contains the lines of an answer of GET /management/reconciliation.
type compared struct {
	differences []reconcile.Difference
	summary     *reconcile.Counts
	failure     string
}

// compared reads the lines; nothing may follow the last.
func (a answer) compared(t *testing.T) (out compared) {
	t.Helper()
	if got := a.header.Get("Content-Type"); got != "application/jsonl" {
		t.Errorf("answered as %s", got)
	}
	for line := range strings.Lines(a.text) {
		var one struct {
			Difference *reconcile.Difference `json:"difference"`
			Progress   *reconcile.Progress   `json:"progress"`
			Summary    *reconcile.Counts     `json:"summary"`
			Error      *struct {
				ErrorID       string `json:"errorId"`
				Description   string `json:"description"`
				DiagnosticsID string `json:"diagnosticsId"`
			} `json:"error"`
		}
		decoder := json.NewDecoder(strings.NewReader(line))
		decoder.DisallowUnknownFields()
		must(t, decoder.Decode(&one))
		switch {
		case out.summary != nil || out.failure != "":
			t.Fatalf("after the last line: %s", line)
		case one.Difference != nil:
			out.differences = append(out.differences, *one.Difference)
		case one.Error != nil:
			out.failure = one.Error.ErrorID
			if one.Error.DiagnosticsID != a.header.Get("X-Request-Id") || one.Error.Description == "" {
				t.Errorf("the last line is %s", line)
			}
		default:
			out.summary = one.Summary
		}
	}
	return out
}

// TestReconciliation: the ledger against a processor's books, as JSON lines that end with a summary
// (D14).
func TestReconciliation(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	at := r.paid(goodCard, "")
	r.want(r.post(at+"/capture", `{"amount":1000,"final":false}`), 200, "")
	same := r.want(r.manage("GET", "/reconciliation?processor=ADYEN", ""), 200, "").compared(t)
	if want := (reconcile.Counts{Payments: 1, Operations: 2, Records: 2}); len(same.differences) != 0 || same.summary == nil || *same.summary != want {
		t.Fatalf("%+v", same)
	}
	r.act(at, processor.Refund, 300)
	found := r.want(r.manage("GET", "/reconciliation?processor=ADYEN&from=2026-01-01T00:00:00Z&to=2999-01-01", ""), 422, "RequestValidationError")
	if faults := found.faults(); len(faults) != 1 || !strings.Contains(faults[0], "$.to") {
		t.Errorf("faults %v", faults)
	}
	got := r.want(r.manage("GET", "/reconciliation?processor=ADYEN&from=2026-01-01T00:00:00Z", ""), 200, "").compared(t)
	if len(got.differences) != 1 || got.differences[0].Kind != reconcile.MissingHere || got.differences[0].There.Amount != 300 ||
		"/payments/"+string(got.differences[0].Payment) != at || got.summary == nil || got.summary.Differences != 1 {
		t.Errorf("%+v %+v", got, got.summary)
	}
	r.want(r.post(at+"/refund", `{"amount":900}`), 200, "") // refused there, and so it is found
	if now := r.want(r.manage("GET", "/reconciliation?processor=ADYEN", ""), 200, "").compared(t); len(now.differences) != 0 {
		t.Errorf("found, and still reported: %+v", now.differences)
	}
	other := r.want(r.manage("GET", "/reconciliation?processor=STRIPE", ""), 200, "").compared(t)
	if want := (reconcile.Counts{Payments: 1}); other.summary == nil || *other.summary != want {
		t.Errorf("another processor: %+v", other.summary)
	}
}

// TestReconcileVerifications: the verification of a card is known here, whatever its result. It is
// no payment. Of another operation under its reference the ledger knows nothing.
func TestReconcileVerifications(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	verify := `{"customerId":"customer-7","verify":true}`
	kept := r.tokenize(r.session(someSession), goodCard)
	r.want(r.vault(kept, verify), 200, "")
	r.want(r.vault(r.tokenize(r.session(someSession), declinedCard), verify), 400, "FailedVerification")
	fallback := r.tokenize(r.session(someSession), "4000000000005266") // the first processor cannot, the second can
	r.want(r.vault(fallback, verify), 200, "")
	r.want(r.pay(repeatedly(kept)), 200, "")
	for name, operations := range map[string]int{"ADYEN": 4, "BRAINTREE": 1, "STRIPE": 0} {
		got := r.want(r.manage("GET", "/reconciliation?processor="+name, ""), 200, "").compared(t)
		want := reconcile.Counts{Payments: 1, Operations: operations, Records: operations}
		if len(got.differences) != 0 || got.summary == nil || *got.summary != want {
			t.Errorf("%s: %+v %+v, want %+v", name, got.differences, got.summary, want)
		}
	}
	reference := domain.VerificationReference(r.account.AccountID, domain.Token(kept))
	r.act("/payments/"+string(reference), processor.Void)
	got := r.want(r.manage("GET", "/reconciliation?processor=ADYEN", ""), 200, "").compared(t)
	if len(got.differences) != 1 || got.differences[0].Kind != reconcile.MissingHere || got.differences[0].Payment != reference {
		t.Errorf("an operation behind a verification: %+v", got.differences)
	}
}

// TestReconciliationRefused checks that invalid requests are refused, and that the last line of an
// interrupted answer reports the failure.
func TestReconciliationRefused(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r := newRig(t)
	for query, path := range map[string]string{
		"": "$.processor", "?processor=NOBODY": "$.processor", "?processor=ADYEN&from=yesterday": "$.from", "?processor=ADYEN&page=1": "$.page",
		"?from=2026-01-01T00:00:00Z": "$.processor",
		"?processor=ADYEN&from=2026-03-02T00:00:00Z&to=2026-03-02T00:59:59%2B01:00": "$.from must not be after to",
	} {
		a := r.want(r.manage("GET", "/reconciliation"+query, ""), 422, "RequestValidationError")
		if faults := a.faults(); len(faults) != 1 || !strings.Contains(faults[0], path) {
			t.Errorf("%q: faults %v", query, faults)
		}
	}
	r.paid(goodCard, "")
	cut := func(*http.Request) bool { return true }
	r.cut.Store(&cut)
	got := r.want(r.manage("GET", "/reconciliation?processor=ADYEN", ""), 200, "").compared(t)
	if got.summary != nil || got.failure != "ServiceUnavailable" {
		t.Errorf("%+v", got)
	}
}
