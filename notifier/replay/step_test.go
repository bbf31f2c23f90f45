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
		{delivery.Planned, delivery.Planned, stepAgain, stepNone}, {delivery.Planned, delivery.Succeeded, stepAgain, stepNone}, {delivery.Planned, delivery.Failed, stepAgain, stepNone},
		{delivery.Succeeded, delivery.Succeeded, stepAgain, stepNone},
		{delivery.Failed, delivery.Failed, stepAgain, stepAgain}, {delivery.Failed, delivery.Exhausted, stepAgain, stepAgain}, {delivery.Failed, delivery.Succeeded, stepAgain, stepHandled},
		{delivery.Exhausted, delivery.Exhausted, stepAgain, stepAgain}, {delivery.Exhausted, delivery.Succeeded, stepAgain, stepHandled},
		{delivery.Cancelled, delivery.Cancelled, stepAgain, stepAgain}, {delivery.Cancelled, delivery.Succeeded, stepAgain, stepHandled},
	} {
		for onlyFailed, want := range map[bool]step{false: c.all, true: c.onlyFailed} {
			if got := (&record{OnlyFailed: onlyFailed}).stepFor(c.was, c.is); got != want {
				t.Errorf("was %q, is %q, only failed %v: %d, want %d", c.was, c.is, onlyFailed, got, want)
			}
		}
	}
}
