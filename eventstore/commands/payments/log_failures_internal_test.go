package payments

import (
	"errors"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/process"
	"payledger/domain/processor"
)

// TestWaits checks that failures of the log do not change the intervals between look-ups at a
// processor. The waits after such failures double up to two seconds, are at least half of that
// value, and start again after a try without a failure (D8).
func TestWaits(t *testing.T) {
	var soFar tries
	for asked := range 15 {
		for failures := range 6 {
			most := min(100*time.Millisecond<<failures, logRetryMost)
			if wait := soFar.wait(true); wait < most/2 || wait >= most {
				t.Errorf("failure %d after %d lookups: %s, expected %s to %s", failures, asked, wait, most/2, most)
			}
		}
		if wait := soFar.wait(false); wait != process.NextInterval(asked) {
			t.Errorf("lookup %d: %s", asked, wait)
		}
	}
	for range 100 {
		soFar.wait(true)
	}
	if wait := soFar.wait(true); wait < logRetryMost/2 || wait >= logRetryMost {
		t.Errorf("after many failures: %s", wait)
	}
}

// TestWaitsApart: operations that fail together do not go on together.
func TestWaitsApart(t *testing.T) {
	waits := map[time.Duration]bool{}
	for range 100 {
		soFar := tries{failures: 10}
		waits[soFar.wait(true)] = true
	}
	if len(waits) < 50 {
		t.Errorf("100 operations have %d different waits", len(waits))
	}
}

// TestLogFailures: where the log failed, one operation at a time is tried until a try succeeds.
// Other shards and processors do not wait.
func TestLogFailures(t *testing.T) {
	l := logFailures{tried: map[logPlace]domain.OperationKey{}}
	here := logPlace{1, processor.Adyen}
	if !l.startTry(here, "a.1") || !l.startTry(here, "b.1") {
		t.Fatal("operations wait although nothing failed")
	}
	l.finishTry(here, "a.1", true)
	if !l.startTry(here, "c.1") || l.startTry(here, "a.1") {
		t.Fatal("not one operation at a time")
	}
	for _, there := range []logPlace{{2, processor.Adyen}, {1, processor.Stripe}} {
		if !l.startTry(there, "d.1") || !l.startTry(there, "e.1") {
			t.Errorf("%v waits", there)
		}
	}
	l.finishTry(here, "b.1", true) // it began before the failure
	if l.startTry(here, "a.1") {
		t.Error("two are tried at a time")
	}
	l.finishTry(here, "c.1", true)
	if !l.startTry(here, "a.1") || l.startTry(here, "b.1") {
		t.Error("the place is not given on")
	}
	l.finishTry(here, "a.1", false)
	if !l.startTry(here, "b.1") || !l.startTry(here, "c.1") || len(l.tried) > 0 {
		t.Error("operations wait although the log takes events")
	}
}

// TestLogFailed: only an error of the log counts as a failure of the log.
func TestLogFailed(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{domain.Unavailable(errors.New("no majority")), true},
		{domain.OutcomeUnknown(errors.New("no answer")), true},
		{domain.Refuse(domain.KindConflict, domain.ReasonConcurrentModification, "others came first"), true},
		{processor.ErrUnknown, false},
		{errors.New("another"), false},
	} {
		if logFailed(c.err) != c.want {
			t.Errorf("%v", c.err)
		}
	}
}
