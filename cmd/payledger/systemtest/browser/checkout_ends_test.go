//go:build system && !race

package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/fetch"
)

// testCancelled: the merchant cancels a payment while the customer works on it. The page shows
// that, and offers no second try.
func (s till) testCancelled(t *testing.T) {
	for _, width := range widths() {
		order, address := s.order(t, nil)
		w := s.browser.tab(t, width, "status of 400") // of the check that is over
		w.open(address)
		w.payWith(challengeCard)
		w.atChallenge()
		paid := s.payments(t, order)[0]
		s.Must(t, "POST", "/payments/"+paid.ID+"/cancel", s.Headers(), nil)
		w.do(reload())
		w.shown("cancelled")
		w.picture(map[int64]string{390: "cancelled-390", 1280: "cancelled-1280"}[width])
		if says := w.text(`[data-state="cancelled"]`); !strings.Contains(says, "Nothing stays reserved on your card") || strings.Contains(says, "Try again") {
			t.Errorf("the page says %q", says)
		}
		if w.visible("#card-form") || w.visible(`[data-state="succeeded"]`) {
			t.Error("the form, or a success, is shown beside it")
		}
	}
}

// testUnclear: the service refuses queries about a payment that was made. The page claims neither
// success nor failure, and offers no second payment.
func (s till) testUnclear(t *testing.T) {
	made := 0
	for _, width := range widths() {
		order, address := s.order(t, nil)
		w := s.browser.tab(t, width, "status of 400")
		w.open(address)
		w.refuse("*/checkout/payments/*")
		w.payWith(laterCard)
		w.shown("unclear")
		w.picture(map[int64]string{390: "unclear-390", 1280: "unclear-1280"}[width])
		if says := w.text(`[data-state="unclear"]`); !strings.Contains(says, "before you pay again") || strings.Contains(says, "not been charged") || !strings.Contains(says, "may have been charged") {
			t.Errorf("the page says %q", says)
		}
		if w.visible("#card-form") || w.visible("[data-retry]") {
			t.Error("the page offers to pay again")
		}
		made++
		if n := len(s.payments(t, order)); n != made {
			t.Errorf("%d payments of %d sessions", n, made)
		}
	}
}

// refuse answers calls as the service does about a payment that it does not know.
func (w *tab) refuse(pattern string) {
	w.t.Helper()
	w.paused(pattern, fetch.RequestStageRequest, func(paused *fetch.EventRequestPaused) {
		fulfil(w, paused, 400, `{"error":{"errorId":"PaymentError","description":"","diagnosticsId":""}}`)
	})
}

// testAmountChanged: the shop changes the session while the page is open. Nothing is charged. The
// page says so and shows the new amount, which can be paid (D12).
func (s till) testAmountChanged(t *testing.T) {
	order, address := s.order(t, nil)
	w := s.browser.tab(t, 390, "status of 409")
	w.open(address)
	s.change(t, address, 990000)
	w.payWith(approvedCard)
	w.untilText("#trouble", "The amount has changed: it is €9,900.00 now. You have not been charged")
	w.picture("amount-changed-390")
	s.wants(t, order)
	if says := w.text("#pay"); says != "Pay €9,900.00" {
		t.Errorf("the button says %q", says)
	}
	w.reload()
	if w.visible("#trouble") {
		t.Errorf("a reload still says %q", w.text("#trouble"))
	}
	w.payWith(approvedCard)
	w.shown("succeeded")
	if says := w.text(`[data-state="succeeded"]`); !strings.Contains(says, "€9,900.00 is reserved on your card for the shop") {
		t.Errorf("the page says %q", says)
	}
	s.wants(t, order, "AUTHORIZED")
}

// testAmountChangedUnseen: the answer to the click is lost, the session changes, and the reloaded
// page repeats its request. The request has the amount that the customer clicked on, not the amount
// of the reloaded page.
func (s till) testAmountChangedUnseen(t *testing.T) {
	order, address := s.order(t, nil)
	w := s.browser.tab(t, 1280, "ERR_CONNECTION_RESET", "ERR_FAILED", "status of 409")
	w.open(address)
	w.paused("*/checkout/payments", fetch.RequestStageRequest, func(paused *fetch.EventRequestPaused) { cut(w, paused) })
	w.payWith(approvedCard)
	w.untilText("#trouble", "Do not pay again")
	s.change(t, address, 990000)
	enable(w, fetch.Disable, empty)
	w.do(reload())
	w.untilText("#trouble", "The amount has changed")
	w.picture("amount-changed-1280")
	s.wants(t, order)
}

// testAmountChangedManual: the same for an attempt that a merchant approves (§3.3).
func (s till) testAmountChangedManual(t *testing.T) {
	order, address := s.order(t, map[string]any{"approvalMode": "MANUAL"})
	w := s.browser.tab(t, 390, "status of 409")
	w.open(address)
	s.change(t, address, 990000)
	w.payWith(approvedCard)
	w.untilText("#trouble", "The amount has changed")
	w.payWith(approvedCard)
	s.decide(t, s.attempt(w), "approve")
	w.shown("succeeded")
	s.wants(t, order, "AUTHORIZED")
}

// testAmountChangedWaiting: the shop changes the session while the customer waits for the merchant,
// who cannot approve then. The page asks the customer again, and the merchant can approve the new
// amount (D12).
func (s till) testAmountChangedWaiting(t *testing.T) {
	order, address := s.order(t, map[string]any{"approvalMode": "MANUAL"})
	w := s.browser.tab(t, 390)
	w.open(address)
	w.payWith(approvedCard)
	first := s.attempt(w)
	s.change(t, address, 990000)
	w.wake()
	w.untilText("#trouble", "The amount has changed: it is €9,900.00 now. You have not been charged")
	s.wants(t, order)
	w.payWith(approvedCard)
	second := s.attempt(w)
	if second == first {
		t.Error("the attempt at the old price is asked for again")
	}
	s.decide(t, second, "approve")
	w.wake()
	w.shown("succeeded")
	s.wants(t, order, "AUTHORIZED")
}

// change sets the amount of the session of a page's address.
func (s till) change(t *testing.T, address string, amount int64) {
	t.Helper()
	_, token, _ := strings.Cut(address, "clientToken=")
	s.Must(t, "PATCH", "/client-session", s.Headers(), map[string]any{"clientToken": token, "amount": amount, "order": nil})
}
