//go:build system && !race

package browser

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"payledger/domain/seedtest"
)

// TestDashboardWebhooks: in Chromium, against a running service: an endpoint is made, tested,
// back-filled and deleted, a delivery is resent, and the signing secret is rotated. No page on the
// way breaks a rule of axe-core or is wider than the screen, on a desk in light and on a telephone
// in dark.
func TestDashboardWebhooks(t *testing.T) {
	t.Parallel()
	o, there := newOffice(t)
	if !there {
		return
	}
	o.pay(t, approvedCard)
	for i, l := range []look{{1280, false}, {390, true}} {
		if !seedtest.Turn(i, 2) {
			continue
		}
		receiver := &refusing{}
		server := httptest.NewServer(receiver)
		t.Cleanup(server.Close)
		w := o.browser.look(t, l, expected...)
		w.withAxe(o.axe)
		o.signIn(w, "/dashboard/endpoints/new")
		receiver.makeAndTest(o, w, server.URL)
		receiver.replayAndResend(o, w)
		o.rotate(w)
	}
}

// refusing is a receiver that refuses webhooks until takes is set.
type refusing struct {
	takes atomic.Bool
	came  atomic.Int64
}

// ServeHTTP implements http.Handler.
func (r *refusing) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	r.came.Add(1)
	if !r.takes.Load() {
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, "the database is down") // the sender may be gone
	}
}

// fits checks the page that the tab shows.
func (w *tab) fits(name string) {
	w.t.Helper()
	width := eval[int64](w, `innerWidth`)
	at := fmt.Sprintf("%s at %d", name, width)
	w.accessible(at)
	w.inSight(at)
	w.picture(fmt.Sprintf("dashboard-%s-%d", name, width))
}

// visit opens a page of the dashboard.
func (o *office) visit(w *tab, path, heading string) {
	w.t.Helper()
	w.load(o.app.Ready().API + path)
	w.untilText("main h1", heading)
}

// makeAndTest makes an endpoint, first with a missing choice, changes it, and sends tests.
func (r *refusing) makeAndTest(o office, w *tab, address string) {
	w.untilText("main h1", "New webhook endpoint")
	w.focus("#url")
	w.keys(address)
	w.click(`input[name="which"][value="some"]`)
	w.click("main button.primary")
	w.until(`document.activeElement?.matches("[data-refusal]")`)
	w.fits("endpoint-refused")
	if kept := w.value("#url"); kept != address {
		w.t.Errorf("the URL is %q", kept)
	}
	w.click(`input[name="eventTypes"][value="PAYMENT.STATUS"]`)
	w.click("main button.primary")
	w.untilText("main", "The endpoint is made.")
	w.fits("endpoint")
	w.click(`a[href$="/test"]`)
	w.untilText("main h1", "Test a webhook endpoint")
	w.click("main button.primary")
	w.untilText("main", "the database is down")
	w.fits("endpoint-test")
	r.takes.Store(true)
	w.click("main button.primary")
	w.untilText("main", "Your receiver took the test")
	w.click("main p a")
	w.click(`a[href$="/edit"]`)
	w.untilText("main h1", "Change a webhook endpoint")
	w.fits("endpoint-edit")
	w.focus("#description")
	w.keys("Shop")
	w.click("main button.primary")
	w.untilText("main h1", "Shop")
}

// replayAndResend back-fills the payment's webhook, resends it, and deletes the endpoint.
func (r *refusing) replayAndResend(o office, w *tab) {
	w.click(`a[href*="/replays/new"]`)
	w.untilText("main h1", "Replay webhooks")
	w.fits("replay")
	eval[string](w, `document.querySelector("#from").value = "2020-01-01T00:00"`)
	eval[string](w, `document.querySelector("#to").value = "2099-01-01T00:00"`)
	before := r.came.Load()
	w.click("main button.primary")
	w.untilText("main h1", "Send 1 webhook?")
	w.fits("replay-confirm")
	if n := r.came.Load() - before; n != 0 {
		w.t.Errorf("%d webhooks came before the confirmation", n)
	}
	w.leave(`history.back()`)
	w.until(`document.querySelector("#from")?.value === "2020-01-01T00:00" && document.querySelector("#to").value === "2099-01-01T00:00"`)
	w.leave(`history.forward()`)
	w.untilText("main h1", "Send 1 webhook?")
	w.click("main button.primary")
	w.untilText("main h1", "Replay of webhooks")
	w.leave(`document.querySelector("[data-live-toggle]")?.click()`) // the page refreshes itself until the replay is done
	w.untilText("main", "1 of 1")
	w.fits("replay-progress")
	w.click(`main a[href*="endpointId="]`)
	w.untilText("main tbody", "Succeeded")
	w.fits("deliveries-of-one")
	w.leave(`document.querySelector("main tbody a").click()`)
	w.untilText("main", "Attempt 1: HTTP 200")
	w.click(`a[href$="/resend"]`)
	w.untilText("main h1", "Resend a webhook")
	w.fits("resend")
	w.click("main button.primary")
	w.untilText("main", "Attempt 2: HTTP 200")
	if n := r.came.Load() - before; n != 2 {
		w.t.Errorf("%d webhooks came", n)
	}
	endpoint := eval[string](w, `document.querySelector('main a[href^="/dashboard/endpoints/"]').getAttribute("href")`)
	o.visit(w, endpoint+"/delete", "Delete a webhook endpoint")
	w.fits("endpoint-delete")
	w.click("main button.danger")
	w.untilText("main", "It is deleted.")
}

// rotate rotates the signing secret, and sees it once.
func (o *office) rotate(w *tab) {
	o.visit(w, "/dashboard/signing-secret/rotate", "Rotate the signing secret")
	w.fits("rotate")
	w.click("main button.danger")
	w.untilText("main", "It is shown this once.")
	w.fits("rotated")
	made := w.text("#made")
	o.visit(w, "/dashboard/signing-secret", "Signing secret")
	w.untilText("main", "The previous secret signs for another")
	w.fits("signing-secret-overlap")
	if !strings.HasPrefix(made, "plsec_") || strings.Contains(w.text("main"), made) {
		w.t.Errorf("the secret %q is shown again", made)
	}
}
