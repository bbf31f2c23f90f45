//go:build system && !race

package browser

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"payledger/cmd/payledger/app"
	"payledger/cmd/payledger/apptest"
)

// office is a running service with payments, and a browser.
type office struct {
	browser  browser
	app      *app.App
	merchant *apptest.Merchant
	axe      string
	payment  string // captured in part
	delivery string
	workflow string
}

// newOffice starts a service without payments, and a browser; false if a tool is missing.
func newOffice(t *testing.T) (o office, there bool) {
	t.Helper()
	browser, there := startBrowser(t)
	if !there {
		return o, false
	}
	source, there := axe(t)
	if !there {
		return o, false
	}
	app := apptest.StartApp(t, apptest.TestOptions(t.TempDir()))
	return office{browser: browser, app: app, merchant: apptest.NewMerchant(app.Ready().API, app.Credentials.APIKey), axe: source}, true
}

// TestDashboard: the screens in Chromium, against a running service.
func TestDashboard(t *testing.T) {
	t.Parallel()
	o, there := newOffice(t)
	if !there {
		return
	}
	o.fill(t)
	t.Run("actions", o.testActions)
	t.Run("accessible", o.testAccessible)
	t.Run("connection lost", o.testConnectionLost)
	t.Run("keyboard", o.testKeyboard)
	t.Run("rows", o.testRows)
	t.Run("saved views", o.testSavedViews)
	t.Run("bulk", o.testBulk)
	t.Run("download", o.testDownload)
	t.Run("brand", o.testBrand)
	t.Run("travel", o.testTravel)
	t.Run("paste", o.testPaste)
	t.Run("read only", o.testReadOnly)
	t.Run("room", o.testRoom)
	t.Run("long words", o.testLongWords)
	t.Run("live", o.testLive)
	t.Run("short", o.testShort)
	t.Run("session over", o.testSessionOver)
}

// fill makes a payment that is captured in part, a declined one, one with large amounts and a long
// order, workflows, an endpoint with a delivery, and a key and a user with long names.
func (o *office) fill(t *testing.T) {
	t.Helper()
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	t.Cleanup(receiver.Close)
	m := o.merchant
	m.Must(t, "POST", "/management/webhook-endpoints", m.Headers(), map[string]any{"url": receiver.URL, "description": "The shop's receiver"})
	var made struct{ ID string }
	m.Must(t, "POST", "/management/workflows", m.Headers(), map[string]any{
		"name": "Capture small orders", "trigger": map[string]any{"eventType": "PAYMENT.STATUS", "status": "AUTHORIZED"},
		"condition": "payment.amount < 100", "actions": []any{map[string]any{"type": "capture"}},
	}).Decode(t, &made)
	o.workflow = made.ID
	o.payment = o.pay(t, approvedCard)
	o.pay(t, rejectedCard)
	long := strings.Repeat("0123456789abcdef", 7) + "01234567"
	m.Must(t, "POST", "/management/api-keys", m.Headers(), map[string]any{"name": long, "scopes": []string{"account:read"}})
	m.Must(t, "POST", "/management/users", m.Headers(), map[string]any{"email": long[:60] + "@shop.example", "role": "auditor"})
	m.Must(t, "POST", "/management/workflows", m.Headers(), map[string]any{
		"name": long[:100], "trigger": map[string]any{"eventType": "PAYMENT.STATUS", "status": "CANCELLED"},
		"condition": "true", "actions": []any{map[string]any{"type": "http_request", "url": receiver.URL + "/" + long}},
	})
	large := o.payFor(t, mastercard, long, 12345678901)
	m.Must(t, "POST", "/payments/"+large+"/capture", m.Headers(), map[string]any{"amount": 12345678801, "final": false})
	m.Must(t, "POST", "/payments/"+large+"/refund", m.Headers(), map[string]any{"amount": 12345678701})
	m.Must(t, "POST", "/payments/"+o.payment+"/capture", m.Headers(), map[string]any{"amount": 1000, "final": false})
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); o.delivery == ""; <-tick.C {
		var list struct {
			Data []struct{ ID, Outcome string }
		}
		m.Must(t, "GET", "/management/webhook-deliveries?paymentId="+o.payment, m.Headers(), nil).Decode(t, &list)
		if len(list.Data) > 0 {
			o.delivery = list.Data[0].ID
		}
		if time.Since(began) > patience {
			t.Fatal("no webhook was planned")
		}
	}
}

// pay makes a payment with a card.
func (o *office) pay(t *testing.T, card string) string {
	t.Helper()
	return o.payFor(t, card, "order-"+card[12:], 2500)
}

// payFor makes a payment with a card for an order of an amount in minor units.
func (o *office) payFor(t *testing.T, card, order string, amount int64) string {
	t.Helper()
	var session struct{ ClientToken string }
	m := o.merchant
	m.Must(t, "POST", "/client-session", m.Headers(), map[string]any{"orderId": order, "currencyCode": "EUR", "amount": amount}).Decode(t, &session)
	var tool struct{ Token string }
	m.Must(t, "POST", "/payment-instruments", map[string]string{"X-Client-Token": session.ClientToken}, map[string]any{
		"paymentInstrument": map[string]any{"number": card, "cvv": "737", "expirationMonth": "03", "expirationYear": "2031", "cardholderName": "Ada Lovelace"},
	}).Decode(t, &tool)
	var paid struct{ ID string }
	m.Must(t, "POST", "/payments", m.Headers(), map[string]any{"paymentMethodToken": tool.Token}).Decode(t, &paid)
	return paid.ID
}

// signIn opens a page and signs in there.
func (o *office) signIn(w *tab, path string) {
	w.t.Helper()
	w.load(o.app.Ready().API + path)
	w.until(`document.querySelector("#password") !== null`)
	w.focus("#email")
	w.keys(o.app.Credentials.DashboardUser)
	w.focus("#password")
	w.keys(o.app.Credentials.DashboardPassword)
	w.click("main button")
	w.until(`document.body.className === "inside"`)
	eval[string](w, `sessionStorage.setItem("paused", "yes"); ""`) // from the next page on: no refresh takes a link away under a click
}

// testLongWords: on a telephone, the longest texts of badges and of rates stay in sight, and their
// tables do not scroll.
func (o *office) testLongWords(t *testing.T) {
	w := o.browser.tab(t, 390, expected...)
	o.signIn(w, "/dashboard/api-keys")
	eval[string](w, `const badge = document.createElement("span"); badge.className = "badge bad"; badge.textContent = "The deadline passed 1,193 days ago";
		document.querySelector(".list .cards td[data-label]").replaceChildren(badge); ""`)
	w.inSight("a long badge")
	w.load(o.app.Ready().API + "/dashboard/statistics")
	eval[string](w, `for (const cell of document.querySelectorAll(".thirds .bars td.amount[title]")) cell.textContent = "1,334,014 / 159,983 / 16,068"; ""`)
	w.inSight("large numbers of authorizations")
	if wide := eval[int](w, `[...document.querySelectorAll(".thirds .scroll")].filter((box) => box.scrollWidth > box.clientWidth).length`); wide != 0 {
		t.Errorf("%d tables of rates scroll", wide)
	}
	w.picture("statistics-long")
}

// unsigned is the browser's message about the page for signing in.
const unsigned = "401 (Unauthorized)"

// testActions: sign in, find a payment by its id, refund it, see the refund in the timeline, travel
// back, sign out.
func (o *office) testActions(t *testing.T) {
	w := o.browser.tab(t, 1280, expected...)
	o.signIn(w, "/dashboard/payments/"+o.payment)
	w.untilText("main", "Partially settled")
	w.click(`a[href$="/refund"]`)
	w.until(`document.querySelector("#amount")?.value === "10.00"`)
	w.do(chromedp.Clear(chromedp.CSS("#amount")))
	w.focus("#amount")
	w.keys("99")
	w.click("main button.primary")
	w.until(`document.activeElement?.matches("[data-refusal]")`)
	w.untilText("[data-refusal]", "Nothing was done.")
	w.do(chromedp.Clear(chromedp.CSS("#amount")))
	w.focus("#amount")
	w.keys("1,004.5")
	w.untilText("main button.primary", "Refund €1,004.50")
	const empty = `document.getElementById("amount").value = ""`
	eval[string](w, empty)
	for _, unclear := range []string{"4,00", "0,500"} {
		w.keys("1")
		w.untilText("main button.primary", "Refund €1.00")
		eval[string](w, empty)
		w.keys(unclear)
		w.until(`document.querySelector("main button.primary").textContent === "Refund"`)
		eval[string](w, empty)
	}
	w.keys("4.00 EUR")
	w.untilText("main button.primary", "Refund €4.00")
	w.click("main button.primary")
	w.untilText("main", "was refunded.")
	w.untilText(".timeline", "Payment refunded")
	w.untilText(".timeline", "by admin")
	w.load(o.app.Ready().API + "/dashboard/payments/" + o.payment + "?at=1")
	w.untilText("main", "You look at an earlier state.")
	w.picture("dashboard-payment")
	w.click("details.account summary")
	w.click(`form[action="/dashboard/logout"] button`)
	w.untilText("main", "You are signed out.")
}

// screens are the addresses of all screens, by a name.
func (o *office) screens() map[string]string {
	return map[string]string{
		"home": "/dashboard", "payments": "/dashboard/payments", "payments-none": "/dashboard/payments?order=none", "payments-wrong": "/dashboard/payments?min=x",
		"payment": "/dashboard/payments/" + o.payment, "payment-past": "/dashboard/payments/" + o.payment + "?at=1", "refund": "/dashboard/payments/" + o.payment + "/refund",
		"disputes": "/dashboard/disputes", "workflows": "/dashboard/workflows", "workflow": "/dashboard/workflows/" + o.workflow,
		"deliveries": "/dashboard/deliveries", "delivery": "/dashboard/deliveries/" + o.delivery, "endpoints": "/dashboard/endpoints",
		"signing-secret": "/dashboard/signing-secret", "api-keys": "/dashboard/api-keys", "processors": "/dashboard/processors", "users": "/dashboard/users",
		"audit-log": "/dashboard/audit-log", "me": "/dashboard/me", "search": "/dashboard/search", "search-none": "/dashboard/search?q=nothing",
		"missing": "/dashboard/nothing", "workflow-skipped": "/dashboard/workflows/" + o.workflow + "?status=SKIPPED", "bulk-resend": "/dashboard/bulk/resend?outcome=SUCCEEDED",
	}
}

// expected are the browser's messages about pages with an error status.
var expected = []string{unsigned, "404 (Not Found)", "422 (Unprocessable"}

// testAccessible: no screen breaks a rule of axe-core, in light and dark, on a telephone and a
// desk, none is wider than the screen, and the browser has nothing to complain of.
func (o *office) testAccessible(t *testing.T) {
	for _, l := range looks() {
		t.Run(l.String(), func(t *testing.T) {
			t.Parallel() // axe-core works for the whole time
			o.testScreens(t, l)
		})
	}
}

// testScreens opens every screen in one width and one colour scheme.
func (o *office) testScreens(t *testing.T, l look) {
	w := o.browser.look(t, l, expected...)
	w.withAxe(o.axe)
	w.load(o.app.Ready().API + "/dashboard/login")
	w.accessible("login at " + l.String())
	o.signIn(w, "/dashboard/login")
	for name, path := range o.screens() {
		w.load(o.app.Ready().API + path)
		w.until(`document.querySelector("main h1") !== null`)
		at := name + " at " + l.String()
		w.accessible(at)
		w.inSight(at)
		w.picture(fmt.Sprintf("dashboard-%s-%d-%t", name, l.width, l.dark))
	}
}

// testConnectionLost: a form whose answer is lost keeps its input and can be sent again, and the
// refund happens once.
func (o *office) testConnectionLost(t *testing.T) {
	id := o.pay(t, approvedCard)
	o.merchant.Must(t, "POST", "/payments/"+id+"/capture", o.merchant.Headers(), nil)
	w := o.browser.tab(t, 1280, unsigned, "net::ERR")
	o.signIn(w, "/dashboard/payments/"+id+"/refund")
	w.until(`document.querySelector("#amount")?.value === "25.00"`)
	w.do(chromedp.Clear(chromedp.CSS("#amount")))
	w.focus("#amount")
	w.keys("5.00")
	w.cutAnswers("*/refund", 1)
	w.click("main button.primary")
	w.untilText("#connection", "nothing happens twice")
	if kept := w.value("#amount"); kept != "5.00" {
		t.Errorf("the amount is %q", kept)
	}
	w.click("main button.primary")
	w.untilText("main", "Nothing was done a second time.")
	var p struct {
		Processor struct{ AmountRefunded int64 }
	}
	o.merchant.Must(t, "GET", "/payments/"+id, o.merchant.Headers(), nil).Decode(t, &p)
	if p.Processor.AmountRefunded != 500 {
		t.Errorf("%d is refunded", p.Processor.AmountRefunded)
	}
}

// testKeyboard: "/" leads to the search from anywhere, and the search for an id to its page.
func (o *office) testKeyboard(t *testing.T) {
	w := o.browser.tab(t, 1280, expected...)
	o.signIn(w, "/dashboard/audit-log")
	eval[bool](w, `document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "/", bubbles: true, cancelable: true}))`)
	w.until(`document.activeElement?.id === "search"`)
	w.keys(o.payment + "\r")
	w.untilText("main", "Time travel")
	if at := eval[string](w, `location.pathname`); !strings.HasSuffix(at, o.payment) {
		t.Errorf("the search leads to %s", at)
	}
	var names []string
	text := eval[string](w, `JSON.stringify([...document.querySelectorAll("h1,h2,h3")].map((h) => h.tagName))`)
	if err := json.Unmarshal([]byte(text), &names); err != nil || len(names) < 5 || names[0] != "H1" {
		t.Errorf("headings %v %v", names, err)
	}
}
