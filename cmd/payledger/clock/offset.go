//go:build clockoffset

package clock

import (
	"fmt"
	"os"
	"time"
)

var offset = func() time.Duration {
	text := os.Getenv("PAYLEDGER_TEST_CLOCK_OFFSET")
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		fmt.Fprintln(os.Stderr, "payledger: PAYLEDGER_TEST_CLOCK_OFFSET:", err)
		os.Exit(2)
	}
	return d
}()

// Now returns the time of a clock that differs from the machine's by the offset.
func Now() time.Time { return time.Now().Add(offset) }
