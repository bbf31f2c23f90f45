package httpapi

import (
	"fmt"
	"net/http"
	"strings"

	"payledger/domain"
)

// maxIdempotencyKey is the length of the longest idempotency key (D9).
const maxIdempotencyKey = 255

// idempotencyKey reads the header: one, of visible ASCII (D9); "" when there is none. A header that looks like a misspelled one is refused. It is looked at after
// the body, and where the call has one after the payment (D3).
func idempotencyKey(h http.Header) (string, error) {
	values := h.Values("X-Idempotency-Key")
	if len(values) == 0 {
		return "", headerFault(h, "X-Idempotency-Key")
	}
	key := values[0]
	bad := strings.IndexFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) >= 0
	if len(values) > 1 || key == "" || bad || len(key) > maxIdempotencyKey {
		return "", domain.Invalid(modelHeaders, domain.Violation{
			Path: "$['X-Idempotency-Key']", Description: fmt.Sprintf("must be one header of 1 to %d visible ASCII characters", maxIdempotencyKey),
		})
	}
	return key, nil
}
