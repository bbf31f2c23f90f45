package httpapi_test

import (
	"context"
	"hash/crc32"
	"math/big"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore/secrets/apikey"
	"payledger/httpapi"
)

// accountReads counts the reads of accounts from the log.
type accountReads struct {
	httpapi.Reader
	n atomic.Int64
}

func (a *accountReads) AccountByKey(ctx context.Context, id domain.APIKeyID) (account.State, bool, error) {
	a.n.Add(1)
	return a.Reader.AccountByKey(ctx, id)
}

// withSecret is an API key of the same id with another secret, and the check that belongs to it
// (D2).
func withSecret(key string) string {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	parts := strings.Split(key, "_")
	text := strings.Join(parts[:3], "_") + "_" + strings.Repeat("0", 32)
	check, base, digit := big.NewInt(int64(crc32.ChecksumIEEE([]byte(text)))), big.NewInt(62), new(big.Int)
	end := make([]byte, 6)
	for i := len(end) - 1; i >= 0; i-- {
		check.DivMod(check, base, digit)
		end[i] = digits[digit.Int64()]
	}
	return text + string(end)
}

// TestKeysWithoutReading checks that an unknown key, an expired key and a key above its rate limit
// are refused without reading the log, which in a cluster is a request to another node. An accepted
// key is read at every request.
func TestKeysWithoutReading(t *testing.T) {
	t.Parallel()
	reads := &accountReads{}
	r := newRig(t, func(c *httpapi.Config) {
		reads.Reader, c.Reader, c.RateLimit = c.Reader, reads, 0.001 // one request
	})
	call := func(key string) request {
		return request{method: "GET", path: "/management/settings", header: map[string]string{"X-Api-Version": "", "X-Api-Key": key}}
	}
	ends := r.now().Add(time.Hour)
	made := r.want(r.manage("POST", "/api-keys", `{"name":"n","scopes":["account:read"],"expiresAt":"`+ends.UTC().Format(time.RFC3339)+`"}`), 200, "")
	key := made.text1("apiKey")
	before := reads.n.Load()
	want := func(when string, n int64) {
		t.Helper()
		if got := reads.n.Load() - before; got != n {
			t.Errorf("%s: %d readings, not %d", when, got, n)
		}
	}
	guess := withSecret(key)
	if _, id, err := apikey.Parse(guess); err != nil || string(id) != made.text1("id") {
		t.Fatalf("%s is read as %s, %v", guess, id, err)
	}
	for range 5 {
		r.want(r.do(call(guess)), http.StatusUnauthorized, "Unauthorized")
		r.want(r.do(call(apikey.New(account.Sandbox, [apikey.RandomSize]byte{9}).Text)), http.StatusUnauthorized, "Unauthorized")
		r.want(r.do(call(apikey.New(account.Production, [apikey.RandomSize]byte{9}).Text)), http.StatusUnauthorized, "Unauthorized")
	}
	want("of keys that nobody has", 0)
	r.want(r.do(call(key)), http.StatusOK, "")
	want("of a key that is let in", 1)
	for range 5 {
		r.want(r.do(call(key)), http.StatusTooManyRequests, "RateLimitExceeded")
	}
	want("of a key that calls too often", 1)
	r.late.Add(3601)
	for range 5 {
		r.want(r.do(call(key)), http.StatusUnauthorized, "Unauthorized")
	}
	want("of a key that has ended", 1)
}
