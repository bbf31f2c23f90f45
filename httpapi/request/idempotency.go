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

const maxIdempotencyKey = 255

// IdempotencyKey returns the key of the header X-Idempotency-Key; "" if it is missing. A malformed,
// repeated or misspelled header is an error: the sender relies on the key (D9). Errors of the body
// and of the payment in the path come first (D3).
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

func headerFault(h http.Header, wanted string) error {
	near := NearHeader(h, wanted)
	if near == "" {
		return nil
	}
	return domain.Invalid(validation.ModelHeaders, domain.Violation{
		Path: "$" + validation.Member(near), Description: "is not a known header; did you mean " + wanted + "?",
	})
}

// plainHeaders are common request headers. NearHeader ignores them.
var plainHeaders = []string{"Accept", "Accept-Encoding", "Accept-Language", "Connection", "Content-Length", "Content-Type", "Cookie", "Host", "Origin", "Referer", "User-Agent"}

// NearHeader returns the name of a header that resembles wanted; "" if there is none.
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
