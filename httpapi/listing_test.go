package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"payledger/domain"
	"payledger/eventstore"
)

// TestListingFails: a list that cannot be read from its first element on is answered as any other
// request that fails. A log that is damaged, full or silent is 503.
func TestListingFails(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]int{
		eventstore.ErrUnhealthy:    http.StatusServiceUnavailable,
		eventstore.ErrFull:         http.StatusServiceUnavailable,
		context.DeadlineExceeded:   http.StatusServiceUnavailable,
		errors.New("not foreseen"): http.StatusInternalServerError,
	} {
		c := testAPI(t).postCall("createPayment", "")
		done := c.list(func(func(any) error) (uint64, error) { return 0, fmt.Errorf("history: %w", err) })
		if sent := c.w.(*httptest.ResponseRecorder).Code; done.status != want || sent != want {
			t.Errorf("%v: %d was noted and %d sent, not %d", err, done.status, sent, want)
		}
		if reason := reasonOf(done.failure); (want == http.StatusServiceUnavailable) != (reason == domain.ReasonServiceUnavailable) {
			t.Errorf("%v: the log line says %s", err, reason)
		}
	}
}
