//go:build system && !race

package browser

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// testSessionOver: a page that is watched while its session ends says so in sight, at its next
// refresh, also if the focus is in the part that is refreshed. After a sign-in in another tab it
// goes on.
func (o *office) testSessionOver(t *testing.T) {
	w := o.browser.tab(t, 1280, expected...)
	o.signIn(w, "/dashboard")
	eval[string](w, `sessionStorage.removeItem("paused"); ""`)
	w.load(o.app.Ready().API + "/dashboard")
	w.untilText("[data-live-state]", "Refreshes every 5 seconds.")
	w.focus("[data-live] summary")
	eval[int](w, `fetch("/dashboard/logout", {method: "POST"}).then((answer) => answer.status)`)
	w.untilText("#connection", "Your session is over. This page shows an earlier state.")
	w.untilText("[data-live-state]", "Your session is over.")
	const inSight = `(() => { scrollTo(0, document.body.scrollHeight); const r = document.getElementById("connection").getBoundingClientRect(); return r.top >= 0 && r.bottom <= innerHeight })()`
	if !eval[bool](w, inSight) {
		t.Error("the message is out of sight")
	}
	w.picture("dashboard-session-over")
	login := `fetch("/dashboard/login", {method: "POST", body: new URLSearchParams({email: "` + o.app.Credentials.DashboardUser + `", password: "` + o.app.Credentials.DashboardPassword + `"})}).then((answer) => answer.status)`
	if status := eval[int](w, login); status != 200 {
		t.Fatalf("the sign-in is answered with %d", status)
	}
	w.until(`document.getElementById("connection").hidden`)
	w.untilText("[data-live-state]", "Refreshes every 5 seconds.")
}

// refresh is what the script does when somebody comes back to the page: it reads the page again.
const refresh = `document.dispatchEvent(new Event("visibilitychange")); ""`

// testLive: a page that is open follows what happens elsewhere, in its heading and title, too. A
// focus without input stays where it is; while somebody fills in a field the page stays as it is,
// and says so.
func (o *office) testLive(t *testing.T) {
	w := o.browser.tab(t, 1280, expected...)
	o.signIn(w, "/dashboard")
	eval[string](w, `sessionStorage.removeItem("paused"); ""`)
	w.load(o.app.Ready().API + "/dashboard/payments")
	w.untilText("[data-live-state]", "Refreshes every 5 seconds.")
	w.focus("[data-live] .scroll")
	id := o.payFor(t, approvedCard, "order-live", 4200)
	eval[string](w, refresh)
	w.untilText("[data-live]", "order-live")
	w.until(`document.activeElement.matches("[data-live] .scroll")`)

	m, title := o.merchant, "Payment of €42.00, "
	w.load(o.app.Ready().API + "/dashboard/payments/" + id)
	w.untilText("main .heading", "Authorized")
	w.focus("#raw-1 summary")
	m.Must(t, "POST", "/payments/"+id+"/capture", m.Headers(), nil)
	eval[string](w, refresh)
	w.untilText("main .heading", "Settled")
	w.until(`document.activeElement.matches("#raw-1 summary") && document.title.startsWith("` + title + `settled")`)
	w.untilText("[data-live-state]", "Refreshes every 5 seconds.")

	w.focus("#at-time")
	m.Must(t, "POST", "/payments/"+id+"/refund", m.Headers(), map[string]any{"amount": 200})
	eval[string](w, refresh)
	w.untilText("[data-live-state]", "Not refreshed while you work in it.")
	if heading := w.text("main .heading"); strings.Contains(heading, "refunded") {
		t.Errorf("the page is replaced: %s", heading)
	}
	w.focus(`main .heading a[href$="/refund"]`)
	eval[string](w, refresh)
	w.untilText("main .heading", "€2.00 refunded")
	w.until(`document.activeElement.matches('main .heading a[href$="/refund"]')`)
	w.untilText("[data-live-state]", "Refreshes every 5 seconds.")
}

// testTravel: the arrow keys on the slider show the payment of each revision without a new page:
// the focus stays, and heading, label and buttons follow. A drag changes the label before its end.
func (o *office) testTravel(t *testing.T) {
	for _, width := range widths() {
		w := o.browser.tab(t, width, expected...)
		o.signIn(w, "/dashboard/payments/"+o.payment)
		w.load(o.app.Ready().API + "/dashboard/payments/" + o.payment)
		w.untilText("main .heading", "Partially settled")
		last := w.value("#at")
		eval[string](w, `window.same = "page"; ""`)
		w.focus("#at")
		w.keys(kb.Home)
		w.untilText("main .heading", "After revision 1")
		w.keys(kb.ArrowRight)
		w.untilText("main .heading", "After revision 2")
		w.untilText("main .heading", "Authorized")
		w.untilText("label[for=at]", "After revision 2 of "+last)
		if !eval[bool](w, `window.same === "page" && document.activeElement.id === "at" && location.search === "?at=2" && !document.querySelector('a[href$="/refund"]')`) {
			t.Error("the page was loaded again, lost the focus, or has the buttons of now")
		}
		w.picture(fmt.Sprintf("dashboard-travel-%d", width))
		eval[string](w, `const slider = document.getElementById("at"); slider.value = 1; slider.dispatchEvent(new Event("input", {bubbles: true})); ""`)
		if label := w.text("label[for=at]"); label != "After revision 1 of "+last {
			t.Errorf("during the drag the label is %q", label)
		}
		w.keys(kb.End)
		w.until(`document.querySelector('a[href$="/refund"]') !== null && location.search === ""`)
		if !eval[bool](w, `window.same === "page" && document.activeElement.id === "at"`) {
			t.Error("the way to now loads the page again, or loses the focus")
		}
		o.travelToTime(t, w)
	}
}

// travelToTime: the form for a time leads to the answer, which is in sight, also on a telephone.
func (o *office) travelToTime(t *testing.T, w *tab) {
	t.Helper()
	w.load(o.app.Ready().API + "/dashboard/payments/" + o.payment)
	w.click("#at-time ~ button")
	w.until(`location.hash === "#travel-h" && location.search.includes("unit=second") && document.getElementById("at-time") !== null`)
	const top = `document.getElementById("travel-h").getBoundingClientRect().top`
	w.until(top + " >= 0 && " + top + " < innerHeight / 2")
}

// testReadOnly: the button that ticks the reading scopes keeps the name that was typed.
func (o *office) testReadOnly(t *testing.T) {
	w := o.browser.tab(t, 1280, expected...)
	o.signIn(w, "/dashboard/api-keys")
	w.load(o.app.Ready().API + "/dashboard/api-keys")
	w.focus("#name")
	w.keys("Monthly report")
	w.click("[data-ticks]")
	const ticked = `[...document.querySelectorAll("input[name=scopes]:checked")].map((box) => box.value).join(" ")`
	w.until(ticked + ` === "transactions:retrieve payment_instrument:read events:read account:read"`)
	if name := w.value("#name"); name != "Monthly report" {
		t.Errorf("the name is %q", name)
	}
}

// testRoom: figures stay in their cards, no id of 120 characters takes the link of its payment out
// of the window, the first rows of a filtered list are in sight, and the times follow the local
// zone on request.
func (o *office) testRoom(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", 7) + "01234567"
	o.payFor(t, approvedCard, long, 1234567890)
	for _, width := range widths() {
		w := o.browser.tab(t, width, expected...)
		enable(w, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Asia/Kolkata"})
		o.signIn(w, "/dashboard")
		w.load(o.app.Ready().API + "/dashboard")
		w.until(`document.querySelector(".figure") !== null`)
		const broken = `[...document.querySelectorAll(".figure")].filter((f) => f.scrollWidth > f.clientWidth).length`
		if n := eval[int](w, broken); n > 0 {
			t.Errorf("%d figures break out of their cards at %d", n, width)
		}
		w.picture(fmt.Sprintf("dashboard-room-home-%d", width))
		w.load(o.app.Ready().API + "/dashboard/payments?order=" + long)
		w.until(`document.querySelector("td a") !== null`)
		const inSight = `(() => { const r = [...document.querySelectorAll('td a[href^="/dashboard/payments/"]')].filter((a) => a.checkVisibility()).at(-1).getBoundingClientRect(); return r.right <= innerWidth && r.bottom <= innerHeight })()`
		if !eval[bool](w, inSight) {
			t.Errorf("the payment's link is out of sight at %d: %s", width, eval[string](w, `JSON.stringify([innerHeight, [...document.querySelectorAll("td a")].map((a) => a.getBoundingClientRect().bottom)])`))
		}
		w.click("[data-zone-toggle]")
		w.untilText("td time", "GMT+5:30")
		w.untilText("[data-zone]", "Times are in Asia/")
		w.picture(fmt.Sprintf("dashboard-room-list-%d", width))
		w.click("[data-zone-toggle]")
		w.untilText("td time", "UTC")
	}
}

// testShort: the timeline of ten events with five endpoints, and the list on a telephone, are no
// longer than a reader wants to scroll.
func (o *office) testShort(t *testing.T) {
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(receiver.Close)
	m := o.merchant
	for n := range 4 {
		m.Must(t, "POST", "/management/webhook-endpoints", m.Headers(), map[string]any{"url": receiver.URL, "description": fmt.Sprint("Receiver ", n)})
	}
	id := o.pay(t, approvedCard)
	for _, part := range []int{100, 200} {
		m.Must(t, "POST", "/payments/"+id+"/capture", m.Headers(), map[string]any{"amount": part, "final": false})
		m.Must(t, "POST", "/payments/"+id+"/refund", m.Headers(), map[string]any{"amount": part})
	}
	w := o.browser.tab(t, 1280, expected...)
	o.signIn(w, "/dashboard/payments/"+id)
	w.load(o.app.Ready().API + "/dashboard/payments/" + id)
	w.until(`document.querySelectorAll(".timeline > li").length >= 10`)
	if high := eval[int](w, `document.querySelector(".timeline").offsetHeight`); high > 2400 {
		t.Errorf("the timeline has %d pixels", high)
	}
	w.picture("dashboard-short-timeline")
	phone := o.browser.tab(t, 390, expected...)
	o.signIn(phone, "/dashboard/payments")
	phone.load(o.app.Ready().API + "/dashboard/payments")
	phone.until(`document.querySelector("main tbody tr") !== null`)
	if high := eval[int](phone, `Math.round(document.querySelector("main tbody").offsetHeight / document.querySelectorAll("main tbody tr").length)`); high > 130 {
		t.Errorf("a payment of the list has %d pixels on a telephone", high)
	}
	phone.picture("dashboard-short-list")
}

// testBrand: a logo is chosen as a file and shown once it is saved.
func (o *office) testBrand(t *testing.T) {
	file := filepath.Join(t.TempDir(), "logo.png")
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 120, 40))); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, picture.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, width := range widths() {
		w := o.browser.tab(t, width, expected...)
		w.withAxe(o.axe)
		o.signIn(w, "/dashboard/settings")
		w.load(o.app.Ready().API + "/dashboard/settings")
		w.do(chromedp.SetUploadFiles(chromedp.CSS("#logoFile"), []string{file}))
		w.untilText("[data-file-said]", "logo.png is chosen.")
		w.do(chromedp.Clear(chromedp.CSS("#brandColor")))
		w.focus("#brandColor")
		w.keys("#1A7F5A")
		w.click("main button.primary")
		w.untilText("main", "Before you save")
		w.fits("brand-compared")
		w.click("main button.primary")
		w.untilText("main", "The change is saved.")
		w.until(`document.querySelector("img.logo")?.naturalWidth === 120`)
		w.fits("brand")
		w.click("input[name=removeLogo]")
		w.click("main button.primary")
		w.untilText("main", "Before you save")
		w.click("main button.primary")
		w.until(`document.querySelector("[data-done]") !== null && document.querySelector("img.logo") === null`)
	}
}
