package httpapi_test

import (
	"strconv"
	"sync"
	"testing"
)

// callers is how many send the same at once.
const callers = 32

// TestConcurrentCreation: concurrent requests with one key make one payment and one request to the
// processor (D5, D9).
func TestConcurrentCreation(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	tokens := func(n int) []string {
		made := make([]string, n)
		for i := range made {
			made[i] = r.tokenize(r.session(someSession), goodCard)
		}
		return made
	}
	for _, c := range []struct {
		name    string
		tokens  []string
		key     func(i int) string
		errorID string // of all but one
	}{
		{"one key, one token", tokens(1), func(int) string { return "race-1" }, "IdempotencyKeyAlreadyExists"},
		{"one key, a token each", tokens(callers), func(int) string { return "race-2" }, "IdempotencyKeyAlreadyExists"},
		{"a key each, one token", tokens(1), func(i int) string { return "race-3-" + strconv.Itoa(i) }, "PaymentError"},
		{"no key, one token", tokens(1), nil, "PaymentError"},
	} {
		t.Run(c.name, func(t *testing.T) {
			linesBefore := len(r.books(""))
			answers := make([]answer, callers)
			var start, all sync.WaitGroup
			start.Add(1)
			for i := range callers {
				all.Go(func() {
					var header []string
					if c.key != nil {
						header = []string{"X-Idempotency-Key", c.key(i)}
					}
					start.Wait()
					answers[i] = r.pay(payWith(c.tokens[i%len(c.tokens)]), header...)
				})
			}
			start.Done()
			all.Wait()
			id := ""
			for _, a := range answers {
				if a.status == 200 && id != "" {
					t.Fatalf("two payments: %s and %s", id, a.text)
				}
				if a.status == 200 {
					id = a.text1("id")
				}
			}
			for _, a := range answers {
				if a.status != 200 && (a.errorID() != c.errorID || c.errorID == "IdempotencyKeyAlreadyExists" && a.text1("error", "paymentId") != id) {
					t.Errorf("%d %s, the payment is %q", a.status, a.text, id)
				}
			}
			if paid := r.want(r.get("/payments/"+id), 200, ""); paid.text1("status") != "AUTHORIZED" {
				t.Errorf("payment %s", paid.text)
			}
			if lines := r.books(""); len(lines) != linesBefore+1 || string(lines[linesBefore].Reference) != id {
				t.Errorf("the processors' books grew by %d lines", len(lines)-linesBefore)
			}
		})
	}
}
