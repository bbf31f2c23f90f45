package payments

import (
	"testing"

	"payledger/domain/payment"
)

// TestWithoutVoid: an intended cancellation for which no void decides succeeded only if no money
// was taken. A capture at the processor can come first.
func TestWithoutVoid(t *testing.T) {
	t.Parallel()
	for status, want := range map[payment.Status]Outcome{
		payment.StatusPending:          {},
		payment.StatusDeclined:         {Known: true, Succeeded: true},
		payment.StatusFailed:           {Known: true, Succeeded: true},
		payment.StatusCancelled:        {Known: true, Succeeded: true},
		payment.StatusAuthorized:       {Known: true, Message: "The payment was not cancelled: it is AUTHORIZED."},
		payment.StatusPartiallySettled: {Known: true, Message: "The payment was not cancelled: it is PARTIALLY_SETTLED."},
		payment.StatusSettled:          {Known: true, Message: "The payment was not cancelled: it is SETTLED."},
	} {
		if got := withoutVoid(status); got != want {
			t.Errorf("%s: %+v, want %+v", status, got, want)
		}
	}
}
