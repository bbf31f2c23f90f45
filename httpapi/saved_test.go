package httpapi_test

import (
	"net/url"
	"slices"
	"strconv"
	"testing"
)

// TestSavedCards: a client token saves at most 20 cards; the customer's list has pages, and the
// checkout shows 20 cards at most (D22).
func TestSavedCards(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	client := r.session(`{"orderId":"order-1","currencyCode":"EUR","amount":1000,"customerId":"customer-7"}`)
	save := func() answer {
		return r.browser(client, `{"paymentFlow":"VAULT","paymentInstrument":{"number":"`+goodCard+`","cvv":"737","expirationMonth":"03","expirationYear":"2030"}}`)
	}
	var tokens []string
	for range 20 {
		tokens = append(tokens, r.want(save(), 200, "").text1("token"))
	}
	refused := r.want(save(), 429, "RateLimitExceeded")
	if after, err := strconv.Atoi(refused.header.Get("Retry-After")); err != nil || after < 3500 || after > 3600 {
		t.Errorf("Retry-After: %q", refused.header.Get("Retry-After"))
	}
	configuration := func() ([]string, bool) {
		a := r.want(r.inBrowser(client, "GET", "/checkout/configuration", ""), 200, "")
		var shown []string
		for _, one := range a.field("vaultedPaymentMethods").([]any) {
			shown = append(shown, one.(map[string]any)["token"].(string))
		}
		return shown, a.field("hasMore").(bool)
	}
	if shown, more := configuration(); more || !slices.Equal(shown, tokens) {
		t.Errorf("the checkout shows %d cards, more: %v", len(shown), more)
	}
	another := r.cardOf(client)
	r.want(r.vault(another, ofCustomer7), 200, "") // by the merchant: no limit
	r.want(r.post("/payment-instruments/"+tokens[0]+"/default", ""), 200, "")
	tokens = append(tokens, another)
	if shown, more := configuration(); !more || !slices.Equal(shown, slices.Concat(tokens[:1], tokens[2:])) {
		t.Errorf("the checkout shows %d cards, more: %v", len(shown), more)
	}
	var listed []string
	for cursor := "&"; cursor != ""; {
		page := r.want(r.get("/payment-instruments?customer_id=customer-7&limit=8"+cursor), 200, "")
		for _, one := range page.field("data").([]any) {
			instrument := one.(map[string]any)
			if listed = append(listed, instrument["token"].(string)); instrument["default"] != (instrument["token"] == tokens[0]) {
				t.Error(instrument)
			}
		}
		next, _ := page.field("nextCursor").(string)
		if cursor = ""; next != "" {
			cursor = "&cursor=" + url.QueryEscape(next)
			r.want(r.get("/payment-instruments?customer_id=customer-8"+cursor), 422, "RequestValidationError")
		}
	}
	if !slices.Equal(listed, tokens) {
		t.Errorf("pages have %d of %d cards", len(listed), len(tokens))
	}
	for _, wrong := range []string{"limit=0", "limit=101", "limit=x", "cursor=x", "cursor="} {
		r.want(r.get("/payment-instruments?customer_id=customer-7&"+wrong), 422, "RequestValidationError")
	}
}
