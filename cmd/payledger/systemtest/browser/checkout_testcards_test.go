//go:build system && !race

package browser

import (
	"fmt"
	"testing"

	"payledger/httpapi/checkout"
)

// testTestCards: in the sandbox a click on a test card fills the form, and the form can be sent.
// That also holds if the page shows saved cards first. Errors of earlier input disappear.
func (s till) testTestCards(t *testing.T) {
	s.customer = "customer of the test cards"
	order, address := s.order(t, map[string]any{"paymentMethod": map[string]any{"vaultOnSuccess": true}})
	w := s.browser.tab(t, 390)
	w.open(address)
	w.click("#pay") // an empty form has mistakes
	w.untilText("#number-error", "Enter the card number.")
	for _, card := range checkout.TestCards {
		w.click(fmt.Sprintf("[data-test=%q]", card.Grouped()))
		code := map[bool]string{true: "1234", false: "123"}[len(card.Number) == 15]
		if number, cvv := w.value("#number"), w.value("#cvv"); number != card.Grouped() || cvv != code {
			t.Errorf("%s fills in %q and %q", card.Outcome, number, cvv)
		}
		if wrong := eval[int](w, `document.querySelectorAll("[aria-invalid]").length`); wrong != 0 {
			t.Errorf("%s leaves %d mistakes", card.Outcome, wrong)
		}
		if focus := eval[string](w, `document.activeElement.id`); focus != "pay" {
			t.Errorf("after %s the focus is on %s", card.Outcome, focus)
		}
	}
	w.picture("testcards-390")
	w.click(`[data-test="4111 1111 1111 1111"]`)
	w.click("#pay")
	w.shown("succeeded")
	s.wants(t, order, "AUTHORIZED")

	_, address = s.order(t, nil)
	w = s.browser.tab(t, 1280)
	w.open(address)
	if w.visible("#number") {
		t.Error("the card that was saved does not come first")
	}
	w.click(`[data-test="4000 0000 0000 0002"]`)
	w.picture("testcards-1280")
	w.click("#pay")
	w.shown("declined")
}
