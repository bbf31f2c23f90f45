package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// build builds a program of a module, given by its folder.
func build(t *testing.T, module, folder string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), filepath.Base(folder))
	if text, err := exec.CommandContext(t.Context(), "go", "build", "-C", module, "-o", file, folder).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return file
}

// TestDemo: the ledger's demo plays its story at this connector, with the double behind it.
func TestDemo(t *testing.T) {
	ledger, double := build(t, "../../..", "./cmd/payledger"), build(t, ".", "./stripe-double")
	command := exec.CommandContext(t.Context(), ledger, "demo", "--once", "--processor", double)
	stderr := &lockedBuffer{}
	command.Stderr = stderr
	text, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %s\n%s", err, stderr, text)
	}
	for _, fact := range []string{
		"The processor STRIPE is the program of a connector, payledger-stripe/", "PARTIALLY_SETTLED at STRIPE, captured 10.00 EUR",
		"SETTLED at STRIPE, captured 25.00 EUR, refunded 15.00 EUR", "DECLINED at STRIPE (ISSUER_DECLINED DO_NOT_HONOR", "the customer must act: 3DS_AUTHENTICATION",
		"comes back to http://127.0.0.1:", `left out: STRIPE declares no test card with the outcome "pending".`,
		"DISPUTE OPEN of 35.00 EUR: FRAUD", "PENDING at STRIPE (GATEWAY_TIMEOUT)", "payment.authorization_timed_out", "the proof holds: 8 events",
		"of 5 payments, each once: 60.00 EUR captured, 15.00 EUR refunded", "STRIPE: 1 of 5 authorizations refused", "Everything as expected: ",
		"Left out: 2 chapters",
	} {
		if !strings.Contains(string(text), fact) {
			t.Errorf("the demo does not say %q", fact)
		}
	}
	if t.Failed() || strings.Contains(stderr.String(), "error") {
		t.Errorf("%s\n%s", text, stderr)
	}
}
