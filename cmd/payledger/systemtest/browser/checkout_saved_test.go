//go:build system && !race

package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// testSaved: a customer with a vaulted card pays the next order without entering the card (D5), can
// enter another card, and sees no card of other customers.
func (s till) testSaved(t *testing.T) {
	s.customer = "customer-7"
	keep := map[string]any{"paymentMethod": map[string]any{"vaultOnSuccess": true}}
	first, address := s.order(t, keep)
	w := s.browser.tab(t, 1280)
	w.open(address)
	if got := w.text("#new-card"); !strings.Contains(got, "The shop keeps this card") {
		t.Errorf("the page does not say that the card is saved: %s", got)
	}
	w.payWith(challengeCard)
	w.atChallenge()
	w.click(`[data-outcome="AUTHENTICATED"]`)
	w.shown("succeeded")
	s.wants(t, first, "AUTHORIZED")

	t.Run("pays again", func(t *testing.T) { s.testSavedCard(t, 390) })
	if testing.Short() {
		return
	}
	t.Run("and again", func(t *testing.T) { s.testSavedCard(t, 1280) })
	t.Run("another card", s.testAnotherCard)
	t.Run("lost answer", s.testLostAnswerOfSaved)
	t.Run("another customer", func(t *testing.T) {
		_, address := s.order(t, map[string]any{"customerId": "customer-8"})
		w := s.browser.tab(t, 1280)
		w.open(address)
		if eval[bool](w, `document.querySelector(".saved") !== null || document.documentElement.outerHTML.includes("2017 ")`) {
			t.Error("another customer's cards are shown")
		}
	})
}

// testSavedCard pays with the card that is chosen from the start, by the keyboard: every order
// anew.
func (s till) testSavedCard(t *testing.T, width int64) {
	order, address := s.order(t, nil)
	w := s.browser.tab(t, width)
	w.open(address)
	w.picture(map[int64]string{390: "saved-390", 1280: "saved-1280"}[width])
	if got := w.text(".saved"); !strings.Contains(got, "Visa") || !strings.Contains(got, "2017") {
		t.Errorf("the saved cards are %s", got)
	}
	if eval[bool](w, `document.querySelector("#number").checkVisibility()`) {
		t.Error("the form is open beside the saved card")
	}
	w.keys(kb.Tab + kb.Tab + kb.Enter)
	w.pass()
	s.wants(t, order, "AUTHORIZED")
	if calls := w.sent("POST", "/payment-instruments"); len(calls) > 0 {
		t.Error("the saved card was entered again")
	}
}

// pass passes the challenge of a card that has one, and waits for the end.
func (w *tab) pass() {
	w.t.Helper()
	w.atChallenge()
	w.click(`[data-outcome="AUTHENTICATED"]`)
	w.shown("succeeded")
}

func (s till) testAnotherCard(t *testing.T) {
	order, address := s.order(t, nil)
	w := s.browser.tab(t, 390)
	w.open(address)
	w.click(`input[name="method"][value=""]`)
	w.picture("saved-another-390")
	w.payWith(approvedCard)
	w.shown("succeeded")
	s.wants(t, order, "AUTHORIZED")
}

// testLostAnswerOfSaved: a token that pays many times pays this order once.
func (s till) testLostAnswerOfSaved(t *testing.T) {
	order, address := s.order(t, nil)
	w := s.browser.tab(t, 1280, "ERR_CONNECTION_RESET", "status of 409")
	w.open(address)
	w.cutAnswers("*/checkout/payments", 1)
	w.click("#pay")
	w.pass()
	s.wants(t, order, "AUTHORIZED")
}
