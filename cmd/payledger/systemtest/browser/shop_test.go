//go:build system

package browser

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"testing"

	"payledger/cmd/payledger/app"
	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/demo"
)

// openShop opens the demo's shop on a running service.
func openShop(t *testing.T, app *app.App) *demo.Shop {
	t.Helper()
	shop, err := demo.OpenShop(context.Background(), demo.Stage{
		API: app.Ready().API, APIKey: app.Credentials.APIKey, SigningSecret: app.Credentials.SigningSecret,
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

// TestShopBelievesWebhooksOnly: neither the address that a customer comes back with, nor an
// unsigned message, nor a form of another site does anything.
func TestShopBelievesWebhooksOnly(t *testing.T) {
	t.Parallel()
	app := apptest.StartApp(t, apptest.TestOptions(t.TempDir()))
	s := apptest.NewMerchant(app.Ready().API, app.Credentials.APIKey)
	shop := openShop(t, app)
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
	if status != http.StatusSeeOther || !strings.HasPrefix(checkout, s.API+"/checkout?clientToken=") {
		t.Fatalf("an order: %d %s", status, checkout)
	}
	a, err := s.Call("GET", strings.TrimPrefix(checkout, s.API), nil, nil)
	if err != nil || !bytes.Contains(a.Body, []byte("€160.00")) {
		t.Fatalf("the checkout shows %s %v", a.Body, err)
	}
	_, after, _ := strings.Cut(string(a.Body), "/orders/")
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
