package main

import (
	"os/exec"
	"strings"
	"testing"
)

// ledger returns the ledger's program, built once.
func ledger(t *testing.T) string {
	t.Helper()
	program, err := builtLedger()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// TestDemo: the ledger's demo plays its story at this connector, with the double behind it.
func TestDemo(t *testing.T) {
	double, err := build("stripe-double", ".", "./stripe-double")
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), ledger(t), "demo", "--once", "--processor", double)
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
