package eventstoretest

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// leaksEnd is the time that goroutines have to end after the last test. The retries of
// goleak.VerifyTestMain end after 0.4 s, and thousands of closed connections take longer on a busy
// machine.
const leaksEnd = time.Minute

// RunWithoutLeaks runs the tests of a package, from its TestMain, and ends the process. It fails if
// goroutines are left.
func RunWithoutLeaks(m *testing.M) {
	code := m.Run()
	if code == 0 {
		if err := leaks(time.Now().Add(leaksEnd)); err != nil {
			fmt.Fprintln(os.Stderr, "goroutines are left:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// WithoutLeaks makes a test fail, at its end, if goroutines are left that it started. Call it
// first, in a test that is not parallel.
func WithoutLeaks(t *testing.T) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		if err := leaks(time.Now().Add(leaksEnd), before); err != nil {
			t.Error("goroutines are left:", err)
		}
	})
}

// leaks waits until no goroutine is left, and returns an error if some are left at the deadline. A
// server that is shut down while it makes the next segment leaves its goroutines for that stream: a
// fault of the library, which ends with the process.
func leaks(deadline time.Time, besides ...goleak.Option) error {
	for {
		err := goleak.Find(append(besides, goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server.(*fileStore).flushStreamStateLoop"),
			goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server/ats.Register.func1"))...)
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}
