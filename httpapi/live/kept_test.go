package live

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"payledger/domain"
	"payledger/projections/paymentjson"
)

// TestKeptRequests checks that the newest requests of an account are kept, the newest first, and
// that the bodies of a second's further requests are not looked at: those of failures have a number
// of their own.
func TestKeptRequests(t *testing.T) {
	t.Parallel()
	l, looked := NewRequestLog(), 0
	at := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	add := func(account string, n, status int, at time.Time) {
		l.Add(domain.AccountID(account), status, at, func() Request {
			return Request{Time: paymentjson.Time{Time: at}, Status: status, Path: fmt.Sprint(n)}
		}, func() (any, []byte) {
			looked++
			return map[string]any{"amount": 5.0}, []byte(`{"status":"SETTLED"}`)
		})
	}
	const seconds = 8
	for i := range seconds * 2 * keptASecond { // twice as many a second as are kept
		add("a", i, 200, at.Add(time.Duration(i/(2*keptASecond))*time.Second))
	}
	add("a", 0, 500, at)
	add("b", 0, 200, at.Add(time.Minute))
	if looked != seconds*bodiesASecond+2 {
		t.Errorf("%d bodies were looked at", looked)
	}
	all := l.newest("a", func(*Exchange) bool { return true }, 10000)
	if len(all) != requestsKept || all[0].Status != 500 || all[0].Body == "" || !strings.Contains(all[0].Answer, "SETTLED") || all[1].Path != fmt.Sprint((seconds-1)*2*keptASecond+keptASecond-1) || all[1].Body != "" {
		t.Errorf("%d are kept: %+v, %+v", len(all), all[0], all[1])
	}
	if some := l.newest("a", func(e *Exchange) bool { return e.Status == 200 }, 3); len(some) != 3 {
		t.Errorf("%d", len(some))
	}
	bytes := 0
	for _, at := range l.kept {
		k := at.Value.(*keptRequests)
		if len(k.all) > 2*requestsKept {
			t.Errorf("%d are in memory", len(k.all))
		}
		for _, e := range k.all {
			bytes += e.size()
		}
	}
	if bytes != l.bytes {
		t.Errorf("%d bytes are counted, and %d in memory", l.bytes, bytes)
	}
}

// TestKeptOfTwoSeconds checks that requests of an earlier second, which come between those of a
// later one, have no budget of their own.
func TestKeptOfTwoSeconds(t *testing.T) {
	t.Parallel()
	l, kept, looked := NewRequestLog(), 0, 0
	at := time.Date(2026, 3, 14, 12, 0, 1, 0, time.UTC)
	for i := range 4 * keptASecond {
		switch l.place(200, at.Add(-time.Duration(i%2)*time.Second)) {
		case withBodies:
			looked++
			kept++
		case withoutBodies:
			kept++
		}
	}
	if kept != keptASecond || looked != bodiesASecond {
		t.Errorf("%d requests are kept, %d of them with bodies", kept, looked)
	}
	l.place(200, at.Add(24*time.Hour))
	if l.place(200, at) != withBodies {
		t.Error("nothing is kept after the clock was set back")
	}
}

// TestKeptBytes checks that the kept requests of all accounts have a bound: the account that has
// made none for longest is left out.
func TestKeptBytes(t *testing.T) {
	t.Parallel()
	l := NewRequestLog()
	l.mostBytes = 20 * exchangeSize
	at := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	add := func(account string) {
		at = at.Add(time.Second)
		l.Add(domain.AccountID(account), 200, at, func() Request { return Request{Status: 200} }, func() (any, []byte) { return nil, []byte(`{"amount":5}`) })
		if l.bytes > l.mostBytes {
			t.Fatalf("%d bytes are kept", l.bytes)
		}
	}
	add("first")
	add("second")
	for i := range 30 {
		add(fmt.Sprint("other ", i))
		if i%10 == 0 {
			add("first")
		}
	}
	all := func(account string) int {
		return len(l.newest(domain.AccountID(account), func(*Exchange) bool { return true }, requestsKept))
	}
	if first, second := all("first"), all("second"); first == 0 || second != 0 || l.byUse.Len() != len(l.kept) {
		t.Errorf("%d requests of the account in use are kept, and %d of the other one", first, second)
	}
}

// TestShown checks that no secret, card, token, key, person's data and merchant's text is in a
// shown body, under whatever name, while the facts about a payment are.
func TestShown(t *testing.T) {
	t.Parallel()
	hidden := []string{
		"4111111111111111", "737", "Ada", "Lovelace", "ada@example.com", "plk_sandbox", "secret", "eyJ", "order-17", "my own words", "0123token", "Main Street", "4111",
	}
	text := shownText([]byte(`{
		"id": "01kzckyspad8av3fjghkvvb93n4c", "status": "AUTHORIZED", "amount": 2500, "currencyCode": "EUR", "isVaulted": true, "orderId": "order-17",
		"customerId": "Ada", "customer": {"emailAddress": "ada@example.com", "status": "Lovelace"}, "metadata": {"status": "my own words", "type": "Ada"},
		"paymentInstrument": {"number": "4111111111111111", "cvv": "737", "type": "Ada"}, "token": "0123token", "paymentMethodToken": "0123token",
		"apiKey": "plk_sandbox_x", "clientToken": "eyJx", "signingSecret": "secret", "password": "secret", "number": 4111111111111111,
		"reason": "my own words", "descriptor": "my own words", "type": "4111 1111 1111 1111", "description": "my own words",
		"4111111111111111": "x", "Ada Lovelace": 1, "paymentId": "Ada", "transactions": [{"type": "SALE", "processorName": "ADYEN", "unknownField": "my own words"}],
		"paymentMethod": {"paymentMethodData": {"cardholderName": "Ada Lovelace", "network": "4111"}}, "order": {"lineItems": [{"description": "my own words"}]},
		"billing": {"addressLine1": "Main Street"}
	}`))
	for _, part := range hidden {
		if strings.Contains(text, part) {
			t.Errorf("%q is shown: %s", part, text)
		}
	}
	for _, part := range []string{"01kzckyspad8av3fjghkvvb93n4c", "AUTHORIZED", "2500", "EUR", "true", "SALE", "ADYEN", `"orderId": "…"`, `"customer": "…"`} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not shown: %s", part, text)
		}
	}
	refusal := shownText([]byte(`{"error":{"errorId":"RequestValidationError","description":"The request is not valid.","recoverySuggestion":"Erase Ada","validationErrors":[{"model":"Payment","errors":[{"path":"$.amount","description":"must be above 0"}]}]}}`))
	for _, part := range []string{"RequestValidationError", "The request is not valid.", "$.amount", "must be above 0"} {
		if !strings.Contains(refusal, part) {
			t.Errorf("%q is not shown: %s", part, refusal)
		}
	}
	if strings.Contains(refusal, "Ada") {
		t.Error(refusal)
	}
	for _, whole := range []string{"", "no JSON", `"text"`, `["4111111111111111"]`, strings.Repeat(" ", mostLookedBody+1) + "{}"} {
		if text := shownText([]byte(whole)); strings.ContainsAny(text, "tx4") {
			t.Errorf("%q is shown as %q", whole, text)
		}
	}
}
