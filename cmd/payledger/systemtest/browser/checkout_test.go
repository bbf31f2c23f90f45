//go:build system && !race

package browser

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/options"
)

// Cards of the simulator's table (D13).
const (
	approvedCard  = "4111111111111111"
	rejectedCard  = "4000000000000010"
	challengeCard = "4916994064252017"
	laterCard     = "4000000000003220"
	silentCard    = "4000000000006470"
	mastercard    = "5555555555554444"
)

// order returns a new order with a session, and the address of its page.
func (s till) order(t *testing.T, fields map[string]any) (order, address string) {
	t.Helper()
	order = "order " + t.Name()
	if fields == nil {
		fields = map[string]any{}
	}
	fields["orderId"] = order
	address, _ = s.session(t, fields)
	return order, address
}

// payments reads the payments of an order, newest first.
func (s till) payments(t *testing.T, order string) []apptest.PaymentAnswer {
	t.Helper()
	var listed struct {
		Data []apptest.PaymentAnswer `json:"data"`
	}
	s.Must(t, "GET", "/payments?order_id="+url.QueryEscape(order), s.Headers(), nil).Decode(t, &listed)
	return listed.Data
}

// wants compares the statuses of an order's payments, newest first.
func (s till) wants(t *testing.T, order string, statuses ...string) {
	t.Helper()
	var got []string
	for _, p := range s.payments(t, order) {
		got = append(got, p.Status)
	}
	if fmt.Sprint(got) != fmt.Sprint(statuses) {
		t.Errorf("the order's payments are %v, want %v", got, statuses)
	}
}

// payWith enters a card and clicks on the button.
func (w *tab) payWith(card string) {
	w.t.Helper()
	w.fill(card, goodThrough, "737", "Ada Lovelace")
	w.click("#pay")
}

// testPay: a card pays; its number goes to one call and nowhere else.
func (s till) testPay(t *testing.T) {
	order, address := s.order(t, nil)
	for _, width := range widths() {
		if s.browser.pictures == "" {
			break // they are all that it is for
		}
		w := s.browser.tab(t, width)
		w.open(address)
		w.picture(fmt.Sprintf("pay-%d", width))
		w.dark()
		w.picture(fmt.Sprintf("pay-dark-%d", width))
	}
	w := s.browser.tab(t, 1280, "PerformanceIssue") // of asking for cookies below
	w.open(address)
	if got := w.text("#pay"); got != "Pay €109.90" {
		t.Errorf("the button says %q", got)
	}
	w.payWith(approvedCard)
	w.shown("succeeded")
	w.picture("succeeded-1280")
	s.wants(t, order, "AUTHORIZED")
	if got := eval[string](w, `document.activeElement.textContent`); got != "Payment authorized" {
		t.Errorf("the focus is on %q: a screen reader does not say what happened", got)
	}
	for _, r := range w.sent("", "/") {
		body := postData(r)
		if cardDigits.MatchString(body+r.URL) != strings.HasSuffix(r.URL, "/payment-instruments") {
			t.Errorf("%s carries %q", r.URL, body)
		}
	}
	if says := w.text(`[data-state="succeeded"]`); strings.Contains(strings.ToLower(says), "paid") || !strings.Contains(says, "€109.90 is reserved on your card for the shop") {
		t.Errorf("the page shows an authorization as %q", says)
	}
	kept := eval[string](w, `JSON.stringify({...sessionStorage, ...localStorage}) + document.cookie + document.documentElement.outerHTML`)
	if strings.Contains(kept, "4111 1111 1111 1111 1") || strings.Contains(kept, approvedCard) {
		t.Errorf("the browser keeps the card: %s", kept)
	}
	w.reload2("succeeded") // a reload shows the same
	s.wants(t, order, "AUTHORIZED")
}

// cardDigits are the first eight digits of approvedCard, grouped or not; four digits can also be
// part of random ids.
var cardDigits = regexp.MustCompile(`4111\D{0,3}1111`)

// postData is the body of a request.
func postData(r *network.Request) (body string) {
	for _, part := range r.PostDataEntries {
		body += string(part.Bytes)
	}
	return body
}

// reload2 loads the page again and waits for a state.
func (w *tab) reload2(state string) {
	w.t.Helper()
	w.do(chromedp.Reload())
	w.shown(state)
}

// testKeyboard: from the address line to the receipt without a mouse, and the focus can be seen all
// the way.
func (s till) testKeyboard(t *testing.T) {
	order, address := s.order(t, nil)
	w := s.browser.tab(t, 1280)
	w.open(address)
	visited := []string{}
	for _, text := range []string{approvedCard, goodThrough, "737", "Ada Lovelace", ""} {
		w.keys(kb.Tab)
		visited = append(visited, eval[string](w, `document.activeElement.id`))
		if style := eval[string](w, `getComputedStyle(document.activeElement).outlineStyle`); style != "solid" {
			t.Errorf("the focus on %s is %q", visited[len(visited)-1], style)
		}
		w.keys(text)
	}
	if got := strings.Join(visited, " "); got != "number expiry cvv name pay" {
		t.Errorf("the keyboard goes to %s", got)
	}
	w.keys(kb.Enter)
	w.shown("succeeded")
	s.wants(t, order, "AUTHORIZED")
}

// testDecline: the page reports a declined card, and another card pays the same order. A failed
// payment can be repeated, too.
func (s till) testDecline(t *testing.T) {
	order, address := s.order(t, nil)
	w := s.browser.tab(t, 390)
	w.open(address)
	w.payWith(apptest.DeclinedCard)
	w.shown("declined")
	w.picture("declined-390")
	w.click(`[data-state="declined"] [data-retry]`)
	w.until(usable)
	if got := w.value("#number"); got != "" {
		t.Errorf("the declined card is still there: %s", got)
	}
	w.payWith(rejectedCard)
	w.shown("failed")
	w.picture("failed-390")
	w.click(`[data-state="failed"] [data-retry]`)
	w.until(usable)
	w.payWith(approvedCard)
	w.shown("succeeded")
	s.wants(t, order, "AUTHORIZED", "FAILED", "DECLINED")
}

// atChallenge waits for the issuer's page.
func (w *tab) atChallenge() {
	w.t.Helper()
	w.until(`document.querySelector("[data-outcome]")?.disabled === false`)
}

// testChallengePassed: the customer sees who wants how much, passes, and has paid.
func (s till) testChallengePassed(t *testing.T) {
	order, address := s.order(t, nil)
	w := s.browser.tab(t, 390)
	w.open(address)
	w.payWith(challengeCard)
	w.atChallenge()
	w.picture("challenge-390")
	if shop, amount, at := w.text("#merchant"), w.text("#amount"), eval[string](w, "location.href"); shop != "The shop" || amount != "€109.90" || at != s.API+"/checkout/challenge" {
		t.Errorf("the challenge shows %q, %q at %s", shop, amount, at)
	}
	s.wants(t, order, "PENDING")
	w.do(chromedp.Reload())
	w.atChallenge()
	w.keys(kb.Tab + kb.Enter)
	w.shown("succeeded")
	w.picture("succeeded-390")
	s.wants(t, order, "AUTHORIZED")
}

// testChallengeFailed: the payment is declined, and the customer can try another card.
func (s till) testChallengeFailed(t *testing.T) {
	order, address := s.order(t, nil)
	w := s.browser.tab(t, 1280)
	w.open(address)
	w.payWith(challengeCard)
	w.atChallenge()
	w.picture("challenge-1280")
	w.click(`[data-outcome="FAILED"]`)
	w.shown("declined")
	s.wants(t, order, "DECLINED")
	w.click(`[data-state="declined"] [data-retry]`)
	w.until(usable)
	w.payWith(challengeCard)
	w.atChallenge()
	w.click(`[data-outcome="AUTHENTICATED"]`)
	w.shown("succeeded")
	s.wants(t, order, "AUTHORIZED", "DECLINED")
}

// testPending: the page waits for a processor that answers later, also across a reload.
func (s till) testPending(t *testing.T) {
	order, address := s.order(t, nil)
	w := s.browser.tab(t, 390)
	w.open(address)
	release := w.hold("*/checkout/payments/*")
	w.payWith(laterCard)
	w.shown("pending")
	w.picture("pending-390")
	if _, err := s.app.Processors.Control().Settle(context.Background()); err != nil {
		t.Fatal(err)
	}
	w.do(reload())
	w.shown("working")
	release()
	w.shown("succeeded")
	s.wants(t, order, "AUTHORIZED")
}

// testClickStorm: however often the button is pressed, one payment is made.
func (s till) testClickStorm(t *testing.T) {
	order, address := s.order(t, nil)
	w := s.browser.tab(t, 1280)
	w.open(address)
	w.fill(approvedCard, goodThrough, "737", "Ada Lovelace")
	eval[bool](w, `(() => { const pay = document.querySelector("#pay"), form = document.querySelector("#card-form");
		for (let i = 0; i < 50; i++) { pay.click(); form.requestSubmit(); form.dispatchEvent(new SubmitEvent("submit", {cancelable: true})); } return true })()`)
	w.shown("succeeded")
	s.wants(t, order, "AUTHORIZED")
	for _, path := range []string{"/payment-instruments", "/checkout/payments"} {
		if n := len(w.sent("POST", path)); n != 1 {
			t.Errorf("%d calls of %s", n, path)
		}
	}
}

// testLostAnswer: the connection breaks when the payment is made and its answer is on its way. The
// page finds the payment out and makes no other.
func (s till) testLostAnswer(t *testing.T) {
	order, address := s.order(t, nil)
	w := s.browser.tab(t, 1280, "ERR_CONNECTION_RESET", "status of 409")
	w.open(address)
	w.cutAnswers("*/checkout/payments", 2)
	w.payWith(approvedCard)
	w.untilText("#trouble", "Do not pay again")
	w.wake()
	w.shown("succeeded")
	s.wants(t, order, "AUTHORIZED")
	if n := len(w.sent("POST", "/checkout/payments")); n != 3 {
		t.Errorf("the page asked %d times, want 3", n)
	}
}

// testNoNetwork: without a network nothing is lost and nothing is paid; when it is back, the same
// click goes on.
func (s till) testNoNetwork(t *testing.T) {
	order, address := s.order(t, nil)
	w := s.browser.tab(t, 390, "ERR_INTERNET_DISCONNECTED")
	w.open(address)
	w.offline(true)
	w.payWith(approvedCard)
	w.untilText("#trouble", "You have not been charged")
	w.until(usable)
	w.picture("no-network-390")
	if got := w.value("#number"); got != "4111 1111 1111 1111" {
		t.Errorf("the card is gone: %q", got)
	}
	w.offline(false)
	w.click("#pay")
	w.shown("succeeded")
	s.wants(t, order, "AUTHORIZED")
}

// offline takes the network away, or gives it back. Some versions of Chromium have one flag for all
// rules, others a flag per rule; each version ignores the flag that it does not know.
func (w *tab) offline(off bool) {
	w.t.Helper()
	enable(w, cdp.Command[networkRules, cdp.Empty]{Method: network.CommandEmulateNetworkConditionsByRule}, networkRules{
		Offline: off,
		Rules:   []network.Conditions{{Offline: off, DownloadThroughput: -1, UploadThroughput: -1}},
	})
}

// networkRules are the parameters of the browser's command for a worse network, in the forms of all
// supported versions.
type networkRules struct {
	Offline bool                 `json:"offline"`
	Rules   []network.Conditions `json:"matchedNetworkConditions"`
}

// testAnotherTab: an order that is paid shows so wherever its link is opened again.
func (s till) testAnotherTab(t *testing.T) {
	order, address := s.order(t, nil)
	first, second := s.browser.tab(t, 1280), s.browser.tab(t, 390)
	first.open(address)
	second.open(address)
	first.payWith(apptest.DeclinedCard)
	first.shown("declined")
	second.payWith(approvedCard)
	second.shown("succeeded")
	first.click(`[data-state="declined"] [data-retry]`)
	first.shown("succeeded")
	third := s.browser.tab(t, 390)
	third.load(address)
	third.shown("succeeded")
	s.wants(t, order, "AUTHORIZED", "DECLINED")
}

// testSilent: the processor never answers. The page claims no outcome.
func (s till) testSilent(t *testing.T) {
	s = s.browser.openTill(t, func(o *options.Options) { o.PaymentTimeout = 2 * time.Second })
	order, address := s.order(t, nil)
	w := s.browser.tab(t, 1280)
	w.open(address)
	release := w.hold("*/checkout/payments/*")
	w.payWith(silentCard)
	w.shown("pending")
	release()
	w.shown("succeeded")
	s.wants(t, order, "AUTHORIZED")
}

// testExpired: a customer who takes longer than the token lives.
func (s till) testExpired(t *testing.T) {
	order, address := s.order(t, nil)
	w := s.browser.tab(t, 390, "status of 400")
	w.open(address)
	w.expire("*/payment-instruments")
	w.payWith(approvedCard)
	w.shown("expired")
	w.picture("expired-390")
	s.wants(t, order)
}

// testReturn: the customer is sent back to the shop, with the payment (D4).
func (s till) testReturn(t *testing.T) {
	back := make(chan string, 4)
	shop := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/done" {
			back <- r.URL.RawQuery + r.Header.Get("Referer")
		}
	}))
	t.Cleanup(shop.Close)
	order, address := s.order(t, map[string]any{"returnUrl": shop.URL + "/done?basket=7"})
	w := s.browser.tab(t, 1280, "favicon.ico")
	w.open(address)
	w.payWith(approvedCard)
	came := <-back // the page does not stay for long
	paid := s.payments(t, order)
	if want := "basket=7&paymentId=" + paid[0].ID + "&status=AUTHORIZED"; came != want {
		t.Errorf("the customer comes back with %s, not %s", came, want)
	}
	w.until(`location.pathname === "/done"`)
	w.do(chromedp.NavigateBack()) // to see it again: no form, and no way out but the customer's own
	w.shown("succeeded")
	w.click(`[data-state="succeeded"] [data-back]`)
	<-back
}
