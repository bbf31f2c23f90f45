package sender

import (
	"net/http"
	"strings"
	"testing"

	"payledger/domain"
)

// TestExcerpt: an answer that repeats secrets, personal data or the webhook itself is not kept.
func TestExcerpt(t *testing.T) {
	t.Parallel()
	const secretText = "plsec_0123456789abcdefghijABCDEFGHIJ"
	m := Message{Keys: []Key{{Name: "signing-secret.acct1.1", Text: secretText}}}
	m.Private.CardholderName = "Ada Exämple"
	m.Private.Customer = &domain.Customer{Email: "ada@example.com", LastName: "O'Brien"}
	filled := strings.Repeat(".", ExcerptLimit-len(secretText)/2)
	for answer, want := range map[string]string{
		"hello ADA EXÄMPLE": withheld, filled + secretText: withheld, filled + secretText[:9]: withheld, "ends in " + secretText[:20]: withheld,
		"split Ada\x00 Ex\x1bämple": withheld, `as JSON: Ada Ex\u00e4mple`: withheld, "as HTML: O&#39;Brien": withheld, "lines: Ada\r\nExämple": withheld,
		`body: "{\"eventType\":\"PAYMENT.STATUS\",\"notificationConfig\":{\"id\":`: withheld, "as a query: ada%40example.com": withheld,
		"your address is ada@": "your address is ada@", "100% fine": "100% fine", `C:\unknown`: `C:\unknown`, filled + "plsec": filled + "plsec",
		"": "", "  thanks\n": "thanks", "key " + secretText: withheld,
		"card4111111111111111x": withheld, "0.4111111111111111": withheld, "41 111-111 1111 1111-1": withheld, "4222222222222": withheld, "4111111111111112": "4111111111111112",
		`{"notificationConfig":{}}`: withheld, strings.Repeat("é", 400): strings.Repeat("é", 256), "a\u202eb": "ab",
	} {
		if got := excerpt([]byte(answer), m); got != want {
			t.Errorf("%q: kept %q, want %q", answer, got, want)
		}
	}
}

// TestNoProxy: the environment's proxy is never used. Go's transport ignores it for addresses of
// this machine, so that requests of a test would not show it.
func TestNoProxy(t *testing.T) {
	t.Parallel()
	if New(Config{}).client.Transport.(*http.Transport).Proxy != nil {
		t.Error("the transport has a proxy")
	}
}
