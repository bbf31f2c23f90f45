package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"payledger/eventstore/eventstoretest"
)

// aLogo is a PNG file of one pixel.
const aLogo = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// frames returns the value of frame-ancestors.
func frames(h http.Header) string {
	_, value, _ := strings.Cut(h.Get("Content-Security-Policy"), "frame-ancestors ")
	return value
}

// TestEmbedder: the payment page and the page of a 3-D Secure check can be shown in a frame by the
// named page if the account's checkoutOrigins have it, and by no other (D22.6). Without a name no
// page can.
func TestEmbedder(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r := newRig(t)
	const shop = "https://shop.example"
	token := r.session(someSession)
	body := `{"paymentMethodToken":"` + r.tokenize(r.session(someSession), "4916994064252017") + `"}`
	action := r.want(r.do(request{method: "POST", path: "/payments", body: body}), 200, "").text1("requiredAction", "clientToken")
	pages := []string{"/checkout?clientToken=" + token, "/checkout/challenge?clientToken=" + action}
	shows := func(page, embed string, status int, ancestors string) {
		t.Helper()
		got, header, text := r.page(page + embed)
		if got != status || frames(header) != ancestors || strings.Contains(text, `data-embed="`) != (ancestors == shop) {
			t.Errorf("%s%s is %d for %s, want %d for %s\n%s", page[:20], embed, got, frames(header), status, ancestors, text)
		}
	}
	for _, page := range pages {
		shows(page, "&embed="+shop, 403, "'none'") // nothing is allowed at first
	}
	r.want(r.manage("PATCH", "/settings", `{"checkoutOrigins":["`+shop+`","http://localhost:3000"]}`), 200, "")
	for _, page := range pages {
		shows(page, "&embed="+shop, 200, shop)
		shows(page, "", 200, "'none'")
		for _, other := range []string{"https://evil.example", "https://shop.example.evil.example", "*", "https://shop.example/", "https://shop.example%20*", "'self'", "HTTPS://SHOP.EXAMPLE"} {
			shows(page, "&embed="+other, 403, "'none'")
		}
	}
	if status, header, _ := r.page("/checkout/payledger-checkout.js"); status != 200 || header.Get("Cross-Origin-Resource-Policy") != "cross-origin" || !strings.HasPrefix(header.Get("Content-Type"), "text/javascript") {
		t.Errorf("the script is %d %v", status, header)
	}
}

// TestBrandedPage: the payment page has the shop's colour and logo, which are served from the
// service's own origin; a removed logo is not served any more (D20).
func TestBrandedPage(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	page := "/checkout?clientToken=" + r.session(someSession)
	if _, _, text := r.page(page); strings.Contains(text, "<img") || strings.Contains(text, "brand-") {
		t.Errorf("without a brand the page is\n%s", text)
	}
	set := r.want(r.manage("PATCH", "/settings", `{"brandColor":"#0A7D5C","logo":"`+aLogo+`"}`), 200, "")
	if !strings.Contains(set.text, `"brandColor":"#0a7d5c","logo":"`+aLogo+`"`) {
		t.Errorf("set: %s", set.text)
	}
	_, header, text := r.page(page)
	_, rest, _ := strings.Cut(text, `<img class="logo" src="`)
	address, _, _ := strings.Cut(rest, `"`)
	if !strings.HasPrefix(address, "/checkout/logos/") || !strings.Contains(text, `/brand-0a7d5c.css">`) || !strings.Contains(header.Get("Content-Security-Policy"), "img-src 'self';") {
		t.Fatalf("the page is\n%s\n%v", text, header)
	}
	status, header, file := r.page(address)
	if status != 200 || header.Get("Content-Type") != "image/png" || header.Get("X-Content-Type-Options") != "nosniff" || !strings.HasPrefix(file, "\x89PNG") {
		t.Errorf("the logo is %d %v %q", status, header, file)
	}
	for _, other := range []string{address + "x", "/checkout/logos/nobody/" + address[strings.LastIndex(address, "/")+1:]} {
		if status, _, _ := r.page(other); status != 404 {
			t.Errorf("%s is %d", other, status)
		}
	}
	for sent, want := range map[string]string{
		`{"logo":"PHN2Zz4="}`: "$.logo must be a PNG file in base64", `{"brandColor":"red"}`: "$.brandColor must be a colour", `{"logo":""}`: "$.logo",
	} {
		if got := r.want(r.manage("PATCH", "/settings", sent), 422, "RequestValidationError").faults(); len(got) != 1 || !strings.Contains(got[0], "SettingsRequest "+want[:6]) {
			t.Errorf("%s: %q, want %s", sent, got, want)
		}
	}
	r.want(r.manage("PATCH", "/settings", `{"brandColor":null,"logo":null}`), 200, "")
	if status, _, _ := r.page(address); status != 404 {
		t.Errorf("a removed logo is %d", status)
	}
}
