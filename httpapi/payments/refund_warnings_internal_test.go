package payments

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"payledger/domain"
	"payledger/domain/dispute"
	"payledger/httpapi/request"
)

// stuck is a Reader whose views do not catch up.
type stuck struct{ Reader }

func (stuck) DisputesBesideRefund(ctx context.Context, _ domain.AccountID, _ domain.PaymentID) ([]dispute.State, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestWarningsDoNotDelayARefund: the answer about a refund waits at most 2 s for the disputes of
// the payment, and then says that they were not read. The client's own time limit may be as short
// as the payment timeout.
func TestWarningsDoNotDelayARefund(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		h := &Handlers{Reader: stuck{}}
		warnings := h.refundWarnings(&request.Call{Ctx: ctx, Vars: map[string]string{"id": "01a"}}, false)
		if took := time.Since(began); took != 2*time.Second || len(warnings) != 1 || warnings[0].Code != "DISPUTES_NOT_READ" {
			t.Errorf("after %s: %+v", took, warnings)
		}
	})
}
