package paymentpages

import (
	"fmt"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/dispute"
	"payledger/domain/processor"
)

// TestCorrectedDispute: a fact that changes the amount alone is noted, and changes no status. Its
// difference is a row, so that the rows add up to what the processor withholds. An older fact and a
// refused one are no rows.
func TestCorrectedDispute(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	fact := func(minute int, status processor.DisputeStatus, verdict dispute.Disposition, amount domain.Amount) step {
		at := noon.Add(time.Duration(minute) * time.Minute)
		return step{At: at, RecordedAt: at, Type: processor.Chargeback, Status: status, Verdict: verdict, Amount: amount, Currency: "EUR"}
	}
	d := disputed{History: []step{
		fact(1, processor.DisputeOpen, dispute.DispositionOpened, 2420),
		fact(2, processor.DisputeLost, dispute.DispositionChanged, 2420),
		fact(0, processor.DisputeOpen, dispute.DispositionNoted, 900),
		fact(3, processor.DisputeWon, dispute.DispositionRejected, 2420),
		fact(3, processor.DisputeLost, dispute.DispositionNoted, 1210),
	}}
	for _, m := range (disputed{History: []step{ // both of one second: the second one came first
		fact(1, processor.DisputeCancelled, dispute.DispositionOpened, 2420), fact(1, processor.DisputeOpen, dispute.DispositionNoted, 2420),
	}}).movements() {
		t.Errorf("a cancelled dispute moved %+v", m)
	}
	got, sum := "", domain.Amount(0)
	for _, m := range d.movements() {
		got += fmt.Sprintln(m.kind, m.amount)
		sum += m.amount
	}
	if want := "DISPUTE_OPEN -2420\nDISPUTE_LOST 0\nDISPUTE_LOST 1210\n"; got != want || sum != -1210 {
		t.Errorf("%d by\n%swant\n%s", sum, got, want)
	}
}
