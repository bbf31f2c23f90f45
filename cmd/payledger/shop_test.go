package main

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"payledger/cmd/payledger/demo"
	"payledger/cmd/payledger/options"
)

// openShop opens the demo's shop on a running service.
func (s till) openShop(t *testing.T) *demo.Shop {
	t.Helper()
	shop, err := demo.OpenShop(context.Background(), demo.Stage{
		API: s.api, APIKey: s.key, SigningSecret: s.app.credentials.SigningSecret,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := shop.Close(); err != nil {
			t.Error(err)
		}
	})
	return shop
}

// testShop: a customer buys in the demo's shop, pays on the hosted page and comes back to a receipt that a signed
// webhook fills in.
func (s till) testShop(t *testing.T) {
	s = s.browser.openTill(t, func(*options.Options) {}) // whose account takes the shop's name
	shop := s.openShop(t)
	for _, width := range widths() {
		w := s.browser.tab(t, width)
		w.load(shop.URL)
		w.picture(map[int64]string{1280: "shop-1280", 390: "shop-390"}[width])
		if got := w.names("combobox"); !slices.Equal(got, []string{"Pieces of Notebook", "Pieces of Fountain pen", "Pieces of Desk lamp"}) {
			t.Errorf("the fields of the cart are called %q", got)
		}
		w.click("button")
		w.until(usable)
		if got, title := w.text("#merchant")+" "+w.text("#amount"), eval[string](w, "document.title"); got != "Desk & Paper €92.50" || !strings.Contains(title, "Desk & Paper") {
			t.Errorf("the checkout shows %s, and is called %s", got, title)
		}
		w.payWith(approvedCard)
		w.untilText("h1", "Thank you for your order")
		w.untilText("section", "is AUTHORIZED")
		if says := w.text("main"); strings.Contains(strings.ToLower(says), "paid") || !strings.Contains(says, "Reserved on your card") {
			t.Errorf("the receipt of an authorization says %q", says)
		}
		if got := eval[int](w, `[...document.querySelectorAll(".id")].filter((id) => id.getClientRects().length === 1).length`); got != 2 {
			t.Errorf("%d ids of 2 stand in one line", got)
		}
		w.picture(map[int64]string{1280: "receipt-1280", 390: "receipt-390"}[width])
		for _, r := range w.sent("", "/") {
			if strings.Contains(postData(r)+r.URL, s.key) || strings.Contains(postData(r)+r.URL, "plsec_") {
				t.Errorf("%s carries a secret of the shop", r.URL)
			}
		}
	}
}

// testReceiptFillsIn: a receipt that is open before the payment changes by itself when the webhook arrives; a decline
// and a second card change it in turn.
func (s till) testReceiptFillsIn(t *testing.T) {
	s = s.browser.openTill(t, func(*options.Options) {})
	shop := s.openShop(t)
	customer, receipt := s.browser.tab(t, 1280), s.browser.tab(t, 390)
	customer.load(shop.URL)
	customer.click("button")
	customer.until(usable)
	receipt.load(eval[string](customer, `document.body.dataset.return`))
	receipt.untilText("#told", "We are waiting")
	receipt.picture("receipt-waiting-390")
	customer.payWith(declinedCard)
	receipt.untilText("#told", "is DECLINED; nothing was charged")
	customer.click(`[data-state="declined"] [data-retry]`)
	customer.until(usable)
	customer.payWith(approvedCard)
	receipt.untilText("section", "is AUTHORIZED")
	id := receipt.text("section .quiet:last-child .id")
	s.must(t, "POST", "/payments/"+id+"/capture", s.headers(), nil)
	receipt.untilText("h1", "Thank you, it is paid")
	receipt.untilText("section", "is SETTLED")
}

// TestShopBelievesWebhooksOnly: neither the address that a customer comes back with, nor an unsigned message, nor a
// form of another site does anything.
func TestShopBelievesWebhooksOnly(t *testing.T) {
	t.Parallel()
	app := startApp(t, testOptions(t.TempDir()))
	s := till{merchant: newMerchant(app.ready().API, app.credentials.APIKey), app: app}
	shop := s.openShop(t)
	visit := func(method, path, origin, contentType, body string) (int, string, string) {
		t.Helper()
		q, err := http.NewRequest(method, shop.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Origin", origin)
		q.Header.Set("Content-Type", contentType)
		a, err := http.DefaultTransport.RoundTrip(q)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Body.Close()
		var text bytes.Buffer
		if _, err := text.ReadFrom(a.Body); err != nil {
			t.Fatal(err)
		}
		return a.StatusCode, text.String(), a.Header.Get("Location")
	}
	const form = "application/x-www-form-urlencoded"
	if status, _, _ := visit("POST", "/buy", "https://evil.example", form, "pen=1"); status != http.StatusForbidden {
		t.Errorf("a form of another site: %d", status)
	}
	if status, _, _ := visit("POST", "/buy", shop.URL, form, "pen=-1&lamp=99&notebook=x"); status != http.StatusBadRequest {
		t.Errorf("an order of nothing: %d", status)
	}
	status, _, checkout := visit("POST", "/buy", shop.URL, form, "pen=2&price=1")
	if status != http.StatusSeeOther || !strings.HasPrefix(checkout, s.api+"/checkout?clientToken=") {
		t.Fatalf("an order: %d %s", status, checkout)
	}
	a, err := s.call("GET", strings.TrimPrefix(checkout, s.api), nil, nil)
	if err != nil || !bytes.Contains(a.body, []byte("€160.00")) {
		t.Fatalf("the checkout shows %s %v", a.body, err)
	}
	_, after, _ := strings.Cut(string(a.body), "/orders/")
	order, _, _ := strings.Cut(after, `"`)
	forged := `{"eventType":"PAYMENT.STATUS","sequence":9,"payment":{"id":"x","status":"SETTLED","orderId":"` + order + `"}}`
	if status, _, _ := visit("POST", "/webhooks", "", "application/json", forged); status != http.StatusBadRequest {
		t.Errorf("an unsigned webhook: %d", status)
	}
	if status, text, _ := visit("GET", "/orders/"+order+"?paymentId=x&status=SETTLED", "", "", ""); status != 200 || !strings.Contains(text, "We are waiting") {
		t.Errorf("the receipt believes its address: %d %s", status, text)
	}
	if status, _, _ := visit("GET", "/orders/order-none", "", "", ""); status != http.StatusNotFound {
		t.Errorf("an order that is none: %d", status)
	}
}
