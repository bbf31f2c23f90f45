package users

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"payledger/domain/account"
)

// TestNames: ten failures within an hour of each other lock a name for 15 minutes. Failures of a locked name do not count. A name that
// another account has is another one, and so is each of many names.
func TestNames(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	until := func(err error) time.Time {
		var refusal *Refusal
		if err == nil {
			return time.Time{}
		}
		if !errors.As(err, &refusal) || refusal.Reason != LockedUser {
			t.Fatalf("the refusal is %v", err)
		}
		return refusal.Until
	}
	var n names
	fails := func(times int, at time.Time) {
		t.Helper()
		for i := range times {
			if err := n.fail("a", "ada", at); err != nil {
				t.Fatalf("failure %d: %v", i+1, err)
			}
		}
	}
	fails(account.MaxFailures-1, start)
	late := start.Add(forgetName)
	fails(account.MaxFailures-1, late) // the older ones do not count any more
	end := late.Add(time.Minute + account.LockFor)
	for _, at := range []time.Time{late.Add(time.Minute), late.Add(time.Minute + account.LockFor/2)} { // the second one does not make the lock longer
		if got := until(n.fail("a", " ADA ", at)); !got.Equal(end) {
			t.Errorf("the lock is until %s, expected %s", got, end)
		}
	}
	if got := until(n.locked("a", "ada", end.Add(-1))); !got.Equal(end) {
		t.Errorf("just before its end the lock is until %s, expected %s", got, end)
	}
	for _, free := range []struct {
		err  error
		name string
	}{{n.locked("a", "ada", end), "after the lock"}, {n.locked("b", "ada", late.Add(time.Minute)), "in another account"}, {n.locked("a", "eve", late.Add(time.Minute)), "another name"}} {
		if free.err != nil {
			t.Errorf("%s: %v", free.name, free.err)
		}
	}
	fails(account.MaxFailures-1, end)
	if got := until(n.fail("a", "ada", end)); !got.Equal(end.Add(account.LockFor)) {
		t.Errorf("the second lock is until %s", got)
	}
	for i := range 2 * mostNames {
		if err := n.fail("", fmt.Sprint(i), end); err != nil {
			t.Fatal(err)
		}
	}
	if len(n.by) > mostNames {
		t.Errorf("%d names are remembered, at most %d are allowed", len(n.by), mostNames)
	}
}
