package httpapi_test

import (
	"strings"
	"testing"
)

// TestNoCardNumberInURLs checks that a URL with a card number, in any part and notation, is not
// stored. The number reaches no answer and no log (D1, D18).
func TestNoCardNumberInURLs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	events := r.events()
	id := r.want(r.manage("POST", "/webhook-endpoints", `{"url":"https://shop.example/"}`), 200, "").text1("id")
	for _, url := range []string{
		"https://shop.example/of/4111111111111111", "https://shop.example/?card=4111-1111-1111-1111", "https://shop.example/?a=4111+1111+1111+1111",
		"https://shop.example/%34%31%31%31111111111111", "https://shop.example/%2534%2531%2531%2531111111111111", "https://shop.example/#4111111111111111",
		"https://4111111111111111.shop.example/", "https://pay.4111-1111-1111-1111.example/", "https://shop.example/４１１１１１１１１１１１１１１１", "https://shop.example/?4111111111111111",
		"https://shop.example/%EF%BC%94111111111111111", "https://4111111111111111@shop.example/", "https://shop.example/?a=%34111%201111%201111%201111;b",
	} {
		for path, fault := range map[string]string{
			"POST /webhook-endpoints":        "WebhookEndpointRequest $.url must not hold a card number: it holds 16 digits ",
			"PATCH /webhook-endpoints/" + id: "WebhookEndpointChange $.url must not hold a card number: it holds 16 digits ",
		} {
			method, to, _ := strings.Cut(path, " ")
			a := r.want(r.manage(method, to, `{"url":"`+url+`"}`), 422, "RequestValidationError")
			if faults := a.faults(); len(faults) != 1 || !strings.HasPrefix(faults[0], fault) || strings.Contains(a.text, "111111") {
				t.Errorf("%s %s: %s", path, url, a.text)
			}
		}
		for _, body := range []string{
			`{"returnUrl":"` + url + `"}`, `{"order":{"lineItems":[{"itemId":"i","amount":1,"quantity":1,"productData":{"pageUrl":"` + url + `"}}]}}`,
		} {
			a := r.want(r.post("/client-session", body), 422, "RequestValidationError")
			if !strings.Contains(a.text, "must not hold a card number") || strings.Contains(a.text, "111111") {
				t.Errorf("%s: %s", body, a.text)
			}
		}
	}
	r.want(r.manage("POST", "/webhook-endpoints", `{"url":"https://shop.example/4111111111111112?at=1735689600000"}`), 200, "")
	r.want(r.post("/client-session", `{"returnUrl":"https://4111.1111.1111.1111.shop.example/"}`), 200, "") // labels of a name are no groups of a number
	if now := r.events(); now != events+3 {
		t.Errorf("%d events were recorded", now-events)
	}
	if log := r.log.String(); strings.Contains(log, "1111111") {
		t.Errorf("the log has a card number: %s", log)
	}
}
