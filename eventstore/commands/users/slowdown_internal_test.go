package users

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"payledger/domain/account"
)

// TestSlowdown: ten failures within an hour of each other stop a pair of name and network for 15
// minutes (D22.13). Further failures do not count. The name in another account is another pair, and
// so is each of many names, and the name in another network.
func TestSlowdown(t *testing.T) {
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
	var n slowdown
	ada := pairOf("a", "ada", "192.0.2.0/24")
	fails := func(times int, at time.Time) {
		t.Helper()
		for i := range times {
			if until := n.fail(ada, at); !until.IsZero() {
				t.Fatalf("failure %d stops the pair until %s", i+1, until)
			}
		}
	}
	fails(account.MaxFailures-1, start)
	late := start.Add(forgetPair)
	fails(account.MaxFailures-1, late) // the older ones do not count any more
	end := late.Add(time.Minute + account.LockFor)
	for _, at := range []time.Time{late.Add(time.Minute), late.Add(time.Minute + account.LockFor/2)} { // the second one does not make the lock longer
		if got := n.fail(ada, at); !got.Equal(end) {
			t.Errorf("the lock is until %s, expected %s", got, end)
		}
	}
	if got := until(n.waits(ada, end.Add(-1))); !got.Equal(end) {
		t.Errorf("just before its end the lock is until %s, expected %s", got, end)
	}
	for _, free := range []struct {
		err  error
		name string
	}{{n.waits(ada, end), "after the wait"}, {n.waits(pairOf("b", "ada", "192.0.2.0/24"), late.Add(time.Minute)), "in another account"},
		{n.waits(pairOf("a", "eve", "192.0.2.0/24"), late.Add(time.Minute)), "another name"}, {n.waits(pairOf("a", "ada", "198.51.100.0/24"), late.Add(time.Minute)), "another network"}} {
		if free.err != nil {
			t.Errorf("%s: %v", free.name, free.err)
		}
	}
	fails(account.MaxFailures-1, end)
	if got := n.fail(ada, end); !got.Equal(end.Add(account.LockFor)) {
		t.Errorf("the second lock is until %s", got)
	}
	for i := range 2 * mostPairs {
		if until := n.fail(pairOf("", fmt.Sprint(i)), end); !until.IsZero() {
			t.Fatal(until)
		}
	}
	if len(n.by) > mostPairs {
		t.Errorf("%d pairs are remembered, at most %d are allowed", len(n.by), mostPairs)
	}
}
