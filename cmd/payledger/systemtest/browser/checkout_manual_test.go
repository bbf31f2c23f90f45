//go:build system && !race

package browser

import (
	"testing"

	"payledger/cmd/payledger/apptest"
)

// Sessions whose merchant decides about every attempt (§3.3, D12).

// waiting opens a MANUAL session, pays in it with a card, and returns the attempt that waits for
// the merchant's decision.
func (s till) waiting(t *testing.T, w *tab, card string) (order, attempt string) {
	t.Helper()
	order, address := s.order(t, map[string]any{"approvalMode": "MANUAL"})
	w.open(address)
	w.payWith(card)
	return order, s.attempt(w)
}

// attempt waits until the page waits, and returns the attempt.
func (s till) attempt(w *tab) string {
	w.t.Helper()
	w.shown("waiting")
	return eval[string](w, `JSON.parse(sessionStorage.getItem("payledger.checkout")).attempt`)
}

// decide approves or aborts as the merchant.
func (s till) decide(t *testing.T, attempt, verb string) {
	t.Helper()
	s.Must(t, "POST", "/payment-attempts/"+attempt+"/"+verb, s.Headers(), nil)
}

func (s till) testApproved(t *testing.T) {
	w := s.browser.tab(t, 390)
	order, attempt := s.waiting(t, w, approvedCard)
	w.picture("waiting-390")
	s.wants(t, order)
	w.reload2("waiting")
	s.decide(t, attempt, "approve")
	w.wake()
	w.shown("succeeded")
	s.wants(t, order, "AUTHORIZED")
}

func (s till) testApprovedWithChallenge(t *testing.T) {
	w := s.browser.tab(t, 1280)
	order, attempt := s.waiting(t, w, challengeCard)
	w.picture("waiting-1280")
	s.decide(t, attempt, "approve")
	w.atChallenge()
	w.click(`[data-outcome="AUTHENTICATED"]`)
	w.shown("succeeded")
	s.wants(t, order, "AUTHORIZED")
}

func (s till) testAborted(t *testing.T) {
	w := s.browser.tab(t, 390)
	order, attempt := s.waiting(t, w, approvedCard)
	s.decide(t, attempt, "abort")
	w.shown("aborted")
	w.picture("aborted-390")
	s.wants(t, order)
	w.click(`[data-state="aborted"] [data-retry]`)
	w.until(usable)
	w.payWith(approvedCard)
	second := s.attempt(w)
	if second == attempt {
		t.Error("the aborted attempt is asked for again")
	}
	s.decide(t, second, "approve")
	w.shown("succeeded")
	s.wants(t, order, "AUTHORIZED")
}

// testApprovedAndDeclined: the merchant said yes and the issuer no.
func (s till) testApprovedAndDeclined(t *testing.T) {
	w := s.browser.tab(t, 1280)
	order, attempt := s.waiting(t, w, apptest.DeclinedCard)
	s.decide(t, attempt, "approve")
	w.shown("declined")
	w.click(`[data-state="declined"] [data-retry]`)
	w.until(usable)
	w.payWith(approvedCard)
	s.decide(t, s.attempt(w), "approve")
	w.shown("succeeded")
	s.wants(t, order, "AUTHORIZED", "DECLINED")
}

// testLostAttempt: the answer is lost, and the page repeats its request and waits for the same
// attempt; so does another tab.
func (s till) testLostAttempt(t *testing.T) {
	order, address := s.order(t, map[string]any{"approvalMode": "MANUAL"})
	w := s.browser.tab(t, 1280, "ERR_CONNECTION_RESET")
	w.open(address)
	w.cutAnswers("*/payment-attempts", 1)
	w.payWith(approvedCard)
	attempt := s.attempt(w)
	other := s.browser.tab(t, 390)
	other.load(address)
	if seen := s.attempt(other); seen != attempt {
		t.Errorf("another tab waits for %s, not %s", seen, attempt)
	}
	s.decide(t, attempt, "approve")
	w.shown("succeeded")
	other.shown("succeeded")
	s.wants(t, order, "AUTHORIZED")
}
