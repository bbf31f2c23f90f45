package engine_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"

	"payledger/domain"
)

// clusterRun is a run of a test on replicas. The run proves nothing if its first failure is the
// answer of a store that it is unavailable: servers on a machine that stops for seconds hold an
// election, and during an election this is the right answer. Later failures may follow from the
// first. A wrong result before such an answer counts.
type clusterRun struct {
	testing.TB

	mu                  sync.Mutex
	failed, unavailable bool
}

// Error, and the other methods that report a failure, are those of testing.TB. They keep the
// error's kind, and log the message.
func (a *clusterRun) Error(args ...any) { a.TB.Helper(); a.fail(fmt.Sprintln(args...), args) }

func (a *clusterRun) Errorf(format string, args ...any) {
	a.TB.Helper()
	a.fail(fmt.Sprintf(format, args...), args)
}

func (a *clusterRun) Fatal(args ...any) { a.TB.Helper(); a.Error(args...); runtime.Goexit() }

func (a *clusterRun) Fatalf(format string, args ...any) {
	a.TB.Helper()
	a.Errorf(format, args...)
	runtime.Goexit()
}

func (a *clusterRun) fail(message string, args []any) {
	a.TB.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.TB.Log(message)
	if a.failed {
		return
	}
	a.failed = true
	for _, arg := range args {
		if err, is := arg.(error); is && saysUnavailable(err) {
			a.unavailable = true
		}
	}
}

func saysUnavailable(err error) bool {
	return domain.ReasonOf(err) == domain.ReasonServiceUnavailable || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, nats.ErrNoResponders) || errors.Is(err, nats.ErrTimeout)
}

// clusterRuns is the largest number of runs of a test on replicas.
const clusterRuns = 4

// runOn runs a test on a rig, and reports whether the run proved something. The last run always
// does.
func runOn(t *testing.T, r *rig, last bool, test func(testing.TB, *rig)) bool {
	if r.replicas() == 1 {
		test(t, r)
		return true
	}
	a := &clusterRun{TB: t}
	ended := make(chan struct{})
	go func() { // Fatal ends the goroutine
		defer close(ended)
		test(a, r)
	}()
	<-ended
	if a.failed && a.unavailable && !last {
		t.Log("a store was unavailable: the test runs again on a new cluster")
		return false
	}
	if a.failed {
		t.Fail()
	}
	return true
}

// promise is one property of a log, and its test.
type promise struct {
	name string
	test func(testing.TB, *rig)
}

// runPromises tests promises on one rig, one after the other. After a run that proves nothing, it
// builds a new rig.
func runPromises(t *testing.T, build func(testing.TB, int) *rig, all []promise) {
	t.Parallel()
	r := build(t, 2)
	for _, p := range all {
		proved := false
		for n := 1; !proved; n++ {
			if n > 1 {
				r = build(t, 2)
			}
			proved = true // unless it says otherwise, also if the command line leaves it out
			t.Run(p.name, func(t *testing.T) {
				proved = runOn(t, r, n == clusterRuns, p.test)
			})
		}
	}
}

// TestClusterRun: a run distinguishes an unavailable store from a wrong result.
func TestClusterRun(t *testing.T) {
	for name, c := range map[string]struct {
		test                func(testing.TB)
		failed, unavailable bool
	}{
		"passes":             {func(testing.TB) {}, false, false},
		"a wrong result":     {func(t testing.TB) { t.Errorf("%d", 2) }, true, false},
		"another error":      {func(t testing.TB) { t.Fatal(errors.New("damage")) }, true, false},
		"an unknown outcome": {func(t testing.TB) { t.Error(domain.OutcomeUnknown(nil), 1) }, true, true},
		"unavailable":        {func(t testing.TB) { t.Fatalf("%v", domain.Unavailable(nil)) }, true, true},
		"wrong before it":    {func(t testing.TB) { t.Error("wrong"); t.Error(domain.Unavailable(nil)) }, true, false},
		"wrong after it":     {func(t testing.TB) { t.Error(domain.Unavailable(nil)); t.Error("wrong") }, true, true},
		"no answer":          {func(t testing.TB) { t.Error(fmt.Errorf("read: %w", context.DeadlineExceeded)) }, true, true},
	} {
		a := &clusterRun{TB: t}
		var group sync.WaitGroup
		group.Go(func() { c.test(a) })
		group.Wait()
		if a.failed != c.failed || a.unavailable != c.unavailable {
			t.Errorf("%s: failed %t, unavailable %t", name, a.failed, a.unavailable)
		}
	}
}
