package httpapi_test

import (
	"fmt"
	"slices"
	"testing"

	"payledger/eventstore/eventstoretest"
)

// TestPaymentTotals: the totals are of the payments that the list has with the same filters, by
// currency.
func TestPaymentTotals(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r := newRig(t)
	r.sold("4000000000000002", someSession)
	at := r.paid(goodCard, "")
	r.want(r.post(at+"/capture", `{"amount":2000}`), 200, "")
	r.want(r.post(at+"/refund", `{"amount":500}`), 200, "")
	r.sold(goodCard, `{"orderId":"order-2","currencyCode":"USD","amount":700}`)
	for query, want := range map[string]string{
		"":                               `{"payments":3,"more":false,"currencies":[{"currencyCode":"EUR","payments":2,"amount":4840,"amountCaptured":2000,"amountRefunded":500},{"currencyCode":"USD","payments":1,"amount":700,"amountCaptured":0,"amountRefunded":0}]}`,
		"status=DECLINED":                `{"payments":1,"more":false,"currencies":[{"currencyCode":"EUR","payments":1,"amount":2420,"amountCaptured":0,"amountRefunded":0}]}`,
		"order_id=order-2&min_amount=1":  `{"payments":1,"more":false,"currencies":[{"currencyCode":"USD","payments":1,"amount":700,"amountCaptured":0,"amountRefunded":0}]}`,
		"from_date=2099-01-01T00:00:00Z": `{"payments":0,"more":false,"currencies":[]}`,
	} {
		if got := r.want(r.manage("GET", "/payment-totals?"+query, ""), 200, ""); got.text != want+"\n" && got.text != want {
			t.Errorf("%s: %s", query, got.text)
		}
	}
	r.want(r.manage("GET", "/payment-totals?min_amount=2&max_amount=1", ""), 422, "RequestValidationError")
	r.want(r.manage("GET", "/payment-totals?limit=1", ""), 422, "RequestValidationError")
	r.want(r.with(r.keyWith("account:write"), "GET", "/payment-totals", ""), 403, "MissingScope")
}

// TestOldestFirst: with sort=oldest, pages have the payments of the list the other way round.
func TestOldestFirst(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i := range 5 {
		r.sold(goodCard, fmt.Sprintf(`{"orderId":"order-%d","currencyCode":"EUR","amount":700}`, i))
	}
	read := func(query string) (found []string, a answer) {
		a = r.want(r.manage("GET", "/payments?"+query, ""), 200, "")
		for _, one := range a.field("data").([]any) {
			found = append(found, one.(map[string]any)["id"].(string))
		}
		return found, a
	}
	newest, _ := read("sort=newest")
	var oldest, back []string
	query, last := "sort=oldest&limit=2", answer{}
	for {
		page, a := read(query)
		oldest, last = append(oldest, page...), a
		if first := query == "sort=oldest&limit=2"; first != (a.text1("prevCursor") == "") {
			t.Errorf("%s leads back to %q", query, a.text1("prevCursor"))
		}
		if a.text1("nextCursor") == "" {
			break
		}
		query = "sort=oldest&limit=2&cursor=" + a.text1("nextCursor")
	}
	slices.Reverse(newest)
	if len(oldest) != 5 || !slices.Equal(oldest, newest) {
		t.Errorf("oldest first %v, newest first %v", oldest, newest)
	}
	for cursor := last.text1("prevCursor"); cursor != ""; {
		page, a := read("sort=oldest&limit=2&cursor=" + cursor)
		back, cursor = append(page, back...), a.text1("prevCursor")
	}
	if !slices.Equal(back, oldest[:4]) {
		t.Errorf("back %v", back)
	}
	r.want(r.manage("GET", "/payments?cursor="+last.text1("prevCursor"), ""), 422, "RequestValidationError")
	r.want(r.manage("GET", "/payments?sort=amount", ""), 422, "RequestValidationError")
}
