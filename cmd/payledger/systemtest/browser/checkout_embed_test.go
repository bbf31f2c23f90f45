//go:build system && !race

package browser

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"payledger/cmd/payledger/apptest"
	"payledger/httpapi/docs/docstest"
)

// shopPage is the page of a shop on an origin of its own: that of the guide, with the guide's
// script.
type shopPage struct {
	*httptest.Server
	token atomic.Pointer[string] // of the session that the page shows
}

// openShopPage serves the guide's page of a shop.
func openShopPage(t *testing.T, api string) *shopPage {
	t.Helper()
	const guide = docstest.Guides + "checkout-in-your-page.md"
	text, script := docstest.Block(t, guide, "html"), docstest.Block(t, guide, "js")
	s := &shopPage{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if token := s.token.Load(); r.URL.Path == "/" && token != nil {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self' "+api+"; frame-src "+api+"; img-src 'self'")
			fmt.Fprint(w, strings.NewReplacer("{{url}}", api, "CLIENT_TOKEN", *token).Replace(text))
			return
		}
		if r.URL.Path == "/shop.js" {
			w.Header().Set("Content-Type", "text/javascript")
			fmt.Fprint(w, script)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(s.Close)
	return s
}

// sell shows a new session's checkout in the shop's page.
func (w *tab) sell(s till, shop *shopPage, fields map[string]any) (order string) {
	w.t.Helper()
	order, address := s.order(w.t, fields)
	_, token, _ := strings.Cut(address, "clientToken=")
	shop.token.Store(&token)
	w.load(shop.URL)
	return order
}

// framed evaluates an expression in the frame of the shop's page, in a world of its own: the page's
// scripts see its events and not its variables. The zero value while the frame has no such
// document.
func framed[T any](w *tab, expression string) (value T) {
	w.t.Helper()
	tree, err := chromedp.Call(w.ctx, page.GetFrameTree, empty)
	w.ok(err)
	if len(tree.FrameTree.ChildFrames) != 1 {
		return value
	}
	world, err := chromedp.Call(w.ctx, page.CreateIsolatedWorld, page.CreateIsolatedWorldParams{FrameID: tree.FrameTree.ChildFrames[0].Frame.ID})
	if err != nil {
		return value // it is loading
	}
	yes := true
	got, err := chromedp.Call(w.ctx, runtime.Evaluate, runtime.EvaluateParams{Expression: expression, ContextID: world.ExecutionContextID, ReturnByValue: &yes, AwaitPromise: &yes, UserGesture: &yes})
	if err != nil || got.ExceptionDetails != nil || json.Unmarshal(got.Result.Value, &value) != nil {
		var zero T
		return zero
	}
	return value
}

// inFrame waits for a condition of the frame's document.
func (w *tab) inFrame(condition string) {
	w.t.Helper()
	apptest.Eventually(w.t, func() bool { return framed[bool](w, "Boolean("+condition+")") })
}

// payInFrame enters a card in the frame with the keyboard and clicks on its button.
func (w *tab) payInFrame(card string) {
	w.t.Helper()
	w.inFrame(usable)
	framed[bool](w, `document.getElementById("number").focus(), true`)
	for i, text := range []string{card, goodThrough, "737", "Ada Lovelace"} {
		if i > 0 {
			w.keys(kb.Tab)
		}
		w.keys(text)
	}
	w.untilText("#news", "The card is complete.")
	framed[bool](w, `document.getElementById("pay").click(), true`)
}

// TestCheckoutInShopPage: the example shop of the guide, on another origin, takes a card in its own
// page, and a 3-D Secure check is in the frame, too. The shop's page learns the result and no card.
// Pages of other origins can show the checkout in no way, and their messages do nothing.
func TestCheckoutInShopPage(t *testing.T) {
	t.Parallel()
	b, found := startBrowser(t)
	if !found {
		return
	}
	app := apptest.StartApp(t, apptest.TestOptions(t.TempDir()))
	s := till{Merchant: apptest.NewMerchant(app.Ready().API, app.Credentials.APIKey), browser: b, app: app}
	api := strings.TrimSuffix(app.Ready().API, "/")
	shop, evil := openShopPage(t, api), openShopPage(t, api)
	s.Must(t, "PATCH", "/management/settings", s.Headers(), map[string]any{"checkoutOrigins": []string{shop.URL}, "brandColor": "#0a7d5c"})
	t.Run("pays", func(t *testing.T) { s.testPaysInShop(t, shop) })
	t.Run("check in the frame", func(t *testing.T) { s.testChecksInShop(t, shop) })
	t.Run("declined", func(t *testing.T) { s.testDeclinedInShop(t, shop) })
	t.Run("other origin", func(t *testing.T) { s.testOtherShop(t, shop, evil) })
	t.Run("looks", func(t *testing.T) { s.testLooksInShop(t, shop) })
}

// heard are the messages that the shop's page has got, as text. A page has them from its start.
const heard = `JSON.stringify(window.heard)`

// listen records every message that reaches a page of the tab.
func (w *tab) listen() {
	w.t.Helper()
	enable(w, page.Enable, page.EnableParams{})
	enable(w, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
		Source: `window.heard = []; addEventListener("message", (event) => window.heard.push([event.origin, event.data]))`,
	})
}

func (s till) testPaysInShop(t *testing.T, shop *shopPage) {
	w := s.browser.tab(t, 1280)
	w.listen()
	order := w.sell(s, shop, nil)
	w.inFrame(usable)
	w.picture("in-shop-1280")
	for _, forged := range []string{`{payledger: 1, type: "success", paymentId: "forged", status: "SETTLED"}`, `{payledger: 1, type: "constructor"}`, `null`} {
		eval[bool](w, `(postMessage(`+forged+`, "*"), true)`) // from the shop's own origin: it is no frame of the service
	}
	w.payInFrame(approvedCard)
	w.untilText("#news", "Thank you. Your payment is")
	s.wants(t, order, "AUTHORIZED")
	if news := w.text("#news"); !strings.Contains(news, s.payments(t, order)[0].ID) {
		t.Errorf("the shop's page has got %q", news)
	}
	messages := eval[string](w, heard)
	if cardDigits.MatchString(messages) || strings.Contains(messages, "737") || strings.Contains(messages, "Lovelace") || !strings.Contains(messages, `"type":"success"`) {
		t.Errorf("the shop's page has got %s", messages)
	}
	for _, r := range w.sent("", "/") {
		if cardDigits.MatchString(postData(r)+r.URL) != strings.HasSuffix(r.URL, "/payment-instruments") {
			t.Errorf("%s carries %q", r.URL, postData(r))
		}
	}
	if frames := eval[int](w, `document.querySelectorAll("iframe").length`); frames != 0 {
		t.Errorf("%d frames stay after destroy", frames)
	}
}

func (s till) testChecksInShop(t *testing.T, shop *shopPage) {
	w := s.browser.tab(t, 390)
	order := w.sell(s, shop, map[string]any{"returnUrl": "https://shop.example/thanks"})
	w.payInFrame(challengeCard)
	w.inFrame(`document.querySelector("[data-outcome]").disabled === false`)
	w.picture("in-shop-challenge-390")
	framed[bool](w, `document.querySelector('[data-outcome="AUTHENTICATED"]').click(), true`)
	w.untilText("#news", "Thank you. Your payment is")
	s.wants(t, order, "AUTHORIZED")
	if at := eval[string](w, `location.origin`); at != shop.URL {
		t.Errorf("the customer is at %s", at)
	}
}

func (s till) testDeclinedInShop(t *testing.T, shop *shopPage) {
	w := s.browser.tab(t, 390)
	order := w.sell(s, shop, nil)
	w.payInFrame("4000000000000002")
	w.untilText("#news", "You have not paid: DECLINED.")
	w.inFrame(`document.querySelector('[data-state="declined"]').hidden === false`)
	framed[bool](w, `document.querySelector('[data-state="declined"] [data-retry]').click(), true`)
	w.payInFrame(approvedCard)
	w.untilText("#news", "Thank you.")
	s.wants(t, order, "AUTHORIZED", "DECLINED")
}

// testOtherShop: a page of an origin that is not in the list shows no checkout: neither with its
// own name in the frame's address, nor with that of the shop, nor with none. A page in the middle
// gets no message of a payment.
func (s till) testOtherShop(t *testing.T, shop, evil *shopPage) {
	w := s.browser.tab(t, 1280, "frame-ancestors", "403", "ancestor", "NavigationEntryMarkedSkippable", "QuirksModeIssue") // the browser's own page for a refused frame
	w.listen()
	_, address := s.order(t, nil)
	_, token, _ := strings.Cut(address, "clientToken=")
	evil.token.Store(&token)
	w.load(evil.URL)
	w.until(`document.querySelector("iframe") !== null`)
	w.untilText("#news", "You have not paid: NOT_LOADED.")
	for _, embed := range []string{"", "&embed=" + url.QueryEscape(shop.URL), "&embed=" + url.QueryEscape(evil.URL)} {
		loaded := eval[bool](w, fmt.Sprintf(`new Promise((done) => {
			const frame = document.querySelector("iframe");
			frame.addEventListener("load", () => done(true), { once: true });
			frame.src = %q;
		})`, address+embed))
		if form := framed[bool](w, `document.getElementById("card-form") !== null`); form || !loaded {
			t.Errorf("the other page shows the form with %q", embed)
		}
	}
	if got := eval[string](w, heard); got != "[]" {
		t.Errorf("the other page has got %s", got)
	}
}

// testLooksInShop: the page in the frame has no fault that axe-core finds, in light and dark, on a
// telephone and on a desk, and neither has the hosted page with any brand.
func (s till) testLooksInShop(t *testing.T, shop *shopPage) {
	source, there := axe(t)
	if !there {
		return
	}
	s.Must(t, "PATCH", "/management/settings", s.Headers(), map[string]any{"logo": shopLogo(t)})
	for _, l := range looks() {
		w := s.browser.look(t, l)
		w.withAxe(source)
		look := fmt.Sprintf("%d-%s", l.width, map[bool]string{true: "dark", false: "light"}[l.dark])
		for _, color := range []string{"#0a7d5c", "#ffd400", "#ffffff", "#000000"} {
			s.Must(t, "PATCH", "/management/settings", s.Headers(), map[string]any{"brandColor": color})
			_, address := s.order(t, nil)
			w.open(address)
			w.until(`document.querySelector(".logo").complete`)
			if wide := eval[int](w, `document.querySelector(".logo").naturalWidth`); wide != 240 {
				t.Errorf("the logo is %d pixels wide", wide)
			}
			w.accessible("brand " + color + " " + look)
			w.picture("brand-" + color[1:] + "-" + look)
		}
		_, address := s.order(t, nil)
		w.open(address + "&embed=" + url.QueryEscape(shop.URL))
		w.accessible("in a frame " + look)
		w.sell(s, shop, nil)
		w.inFrame(usable)
		w.picture("in-shop-" + look)
	}
}

// shopLogo is the logo of a shop, a PNG file in base64.
func shopLogo(t *testing.T) string {
	t.Helper()
	logo := image.NewNRGBA(image.Rect(0, 0, 240, 60))
	for x := range 240 {
		for y := range 60 {
			if (x/30+y/30)%2 == 0 {
				logo.Set(x, y, color.NRGBA{10, 125, 92, 255})
			}
		}
	}
	var file bytes.Buffer
	if err := png.Encode(&file, logo); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(file.Bytes())
}
