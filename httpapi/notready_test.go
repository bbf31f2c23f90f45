package httpapi_test

import (
	"errors"
	"testing"
)

// TestUnknownWhileNotReady: a damaged log, or views that are behind, may not show what exists.
// While the service is not ready, nothing is said to be missing but a path (I1).
func TestUnknownWhileNotReady(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const payment, attempt = "/payments/01unknownunknownunknownunk", "/payment-attempts/01unknownunknownunknownunk/abort"
	r.want(r.get(payment), 400, "PaymentError")
	r.want(r.post(attempt, ""), 404, "EntityNotFound")
	damaged := errors.New("the log is damaged")
	r.ready.Store(&damaged)
	r.want(r.get(payment), 503, "ServiceUnavailable")
	r.want(r.post(payment+"/capture", ""), 503, "ServiceUnavailable")
	r.want(r.post(attempt, ""), 503, "ServiceUnavailable")
	r.want(r.get("/nothing"), 404, "NotFound")
	r.ready.Store(nil)
	r.want(r.get(payment), 400, "PaymentError")
}
