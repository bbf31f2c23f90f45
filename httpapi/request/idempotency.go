package request

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"payledger/domain"
	"payledger/httpapi/nearmiss"
	"payledger/httpapi/validation"
)

// maxIdempotencyKey is the greatest length of an idempotency key (D9).
const maxIdempotencyKey = 255

// IdempotencyKey reads the header: one, of visible ASCII (D9); "" when there is none. A header that looks like a misspelled one
// is refused: the caller relies on it. The header is checked after the body and after the payment of the path (D3).
func IdempotencyKey(h http.Header) (string, error) {
	values := h.Values("X-Idempotency-Key")
	if len(values) == 0 {
		return "", headerFault(h, "X-Idempotency-Key")
	}
	key := values[0]
	bad := strings.IndexFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) >= 0
	if len(values) > 1 || key == "" || bad || len(key) > maxIdempotencyKey {
		return "", domain.Invalid(validation.ModelHeaders, domain.Violation{
			Path: "$['X-Idempotency-Key']", Description: fmt.Sprintf("must be one header of 1 to %d visible ASCII characters", maxIdempotencyKey),
		})
	}
	return key, nil
}

// headerFault refuses a header that resembles the wanted one, which is missing.
func headerFault(h http.Header, wanted string) error {
	near := NearHeader(h, wanted)
	if near == "" {
		return nil
	}
	return domain.Invalid(validation.ModelHeaders, domain.Violation{
		Path: "$" + validation.Member(near), Description: "is not a known header; did you mean " + wanted + "?",
	})
}

// plainHeaders are usual headers of requests, which are no misspellings.
var plainHeaders = []string{"Accept", "Accept-Encoding", "Accept-Language", "Connection", "Content-Length", "Content-Type", "Cookie", "Host", "Origin", "Referer", "User-Agent"}

// NearHeader returns the request's header that resembles the wanted one, "" if none does.
func NearHeader(h http.Header, wanted string) string {
	bare := func(name string) string { return strings.TrimPrefix(http.CanonicalHeaderKey(name), "X-") }
	var found []string
	for name := range h {
		if name != http.CanonicalHeaderKey(wanted) && !slices.Contains(plainHeaders, name) && nearmiss.Of(bare(name), []string{bare(wanted)}) != "" {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return strings.Join(found[:min(1, len(found))], "")
}
