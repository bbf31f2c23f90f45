package httpapi

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"payledger/domain"
	"payledger/eventstore"
)

// TestRecordedThenUnavailable checks the answer when a request records an event and then a read for
// the answer fails. The answer must not say that nothing was recorded: a merchant who believes it
// refunds the customer twice.
func TestRecordedThenUnavailable(t *testing.T) {
	for _, c := range []struct {
		recorded bool
		err      error
		says     string
	}{
		{false, domain.Unavailable(eventstore.ErrNoMajority), "Nothing was recorded."},
		{true, domain.Unavailable(eventstore.ErrNoMajority), "The outcome of the request is unknown."},
		{true, fmt.Errorf("the answer: %w", eventstore.ErrUnhealthy), "The outcome of the request is unknown."},
		{true, domain.OutcomeUnknown(errors.New("no answer")), "The outcome of the request is unknown."},
		{true, domain.Refuse(domain.KindUnavailable, domain.ReasonServiceUnavailable, "The change is recorded."), "The change is recorded."},
		{true, domain.Refuse(domain.KindConflict, domain.ReasonConcurrentModification, "Busy."), "Busy."},
	} {
		call := testAPI(t).postCall("createPayment", smallPayment)
		call.recorded = func() bool { return c.recorded }
		done := call.failed(c.err)
		body := call.w.(*httptest.ResponseRecorder).Body.String()
		if !strings.Contains(body, c.says) || c.says != "Nothing was recorded." && strings.Contains(body, "Nothing was recorded") {
			t.Errorf("%v after an event %t: %d %s", c.err, c.recorded, done.status, body)
		}
	}
}
