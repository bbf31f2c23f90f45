package limits

import (
	"runtime"
	"runtime/debug"
)

const (
	// minProcs is how many goroutines may run, or wait for the disk, at once at least. A goroutine in fsync
	// keeps its place in the scheduler until the runtime's monitor notices: with two places, two fsyncs stand
	// the whole process still (measured on two cores: 3,500 events/s with 2, 5,000 with 8).
	minProcs = 8
	// gcPercent lets the small heap grow further between collections: a third less processor time for it.
	gcPercent = 300
)

// TuneRuntime fits the Go runtime to a process that waits for the disk more than it computes. What the
// operator sets in GOMAXPROCS or GOGC above these stays.
func TuneRuntime() {
	if runtime.GOMAXPROCS(0) < minProcs {
		runtime.GOMAXPROCS(minProcs)
	}
	if before := debug.SetGCPercent(gcPercent); before > gcPercent || before < 0 {
		debug.SetGCPercent(before)
	}
}
