package proofpage_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"payledger/httpapi/proofpage"
)

// TestPage: the page names each way to a proof file, has the whole key in a field that wraps it,
// and leads back to the dashboard.
func TestPage(t *testing.T) {
	t.Parallel()
	page, err := proofpage.Page("payledger+42495 <key>")
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	if err := page.Write(w); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"“Download the proof”", "GET /payments/{id}/proof", "payledger prove", `href="/dashboard"`, `href="/docs/guides/check.py"`, `href="/docs/guides/auditors"`, "come from the service whose ledger you check", `<textarea id="key"`, `payledger&#43;42495 &lt;key&gt;</textarea>`} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}

// TestWrongFile: a file that is no proof has a verdict of its own.
func TestWrongFile(t *testing.T) {
	t.Parallel()
	script, there := proofpage.Asset("proof.js")
	w := httptest.NewRecorder()
	if err := script.Write(w); err != nil || !there || !strings.Contains(w.Body.String(), `error instanceof NoProof ? "This is no proof file of payledger"`) {
		t.Errorf("%v, %t: %s", err, there, w.Body)
	}
}
