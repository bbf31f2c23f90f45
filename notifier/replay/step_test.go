package replay

import (
	"testing"

	"payledger/notifier/delivery"
)

// TestReplayStep: a delivery's step follows from its status at the count and its present status.
func TestReplayStep(t *testing.T) {
	t.Parallel()
	const none = delivery.Status("")
	for _, c := range []struct {
		was, is         delivery.Status
		all, onlyFailed step
	}{
		{none, delivery.Planned, stepHandled, stepNone}, {none, delivery.Succeeded, stepHandled, stepNone}, {none, delivery.Exhausted, stepHandled, stepNone},
		{delivery.Planned, delivery.Planned, stepResend, stepNone}, {delivery.Planned, delivery.Succeeded, stepResend, stepNone}, {delivery.Planned, delivery.Failed, stepResend, stepNone},
		{delivery.Succeeded, delivery.Succeeded, stepResend, stepNone},
		{delivery.Failed, delivery.Failed, stepResend, stepResend}, {delivery.Failed, delivery.Exhausted, stepResend, stepResend}, {delivery.Failed, delivery.Succeeded, stepResend, stepHandled},
		{delivery.Exhausted, delivery.Exhausted, stepResend, stepResend}, {delivery.Exhausted, delivery.Succeeded, stepResend, stepHandled},
		{delivery.Cancelled, delivery.Cancelled, stepResend, stepResend}, {delivery.Cancelled, delivery.Succeeded, stepResend, stepHandled},
	} {
		for onlyFailed, want := range map[bool]step{false: c.all, true: c.onlyFailed} {
			if got := (&record{OnlyFailed: onlyFailed}).stepFor(c.was, c.is); got != want {
				t.Errorf("was %q, is %q, only failed %v: %d, want %d", c.was, c.is, onlyFailed, got, want)
			}
		}
	}
}
