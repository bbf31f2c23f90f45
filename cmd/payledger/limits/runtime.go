package limits

import (
	"runtime"
	"runtime/debug"
)

const (
	// minProcs is the least GOMAXPROCS. A goroutine in fsync keeps its place in the scheduler until the runtime's monitor
	// notices: with two places, two fsyncs stop the whole process (measured on two cores: 3,500 events/s with 2, 5,000
	// with 8).
	minProcs = 8
	// gcPercent lets the small heap grow further between collections, so that collections take a third less CPU time.
	gcPercent = 300
)

// TuneRuntime tunes the Go runtime for a process that mostly waits for the disk. Higher values in GOMAXPROCS and GOGC stay in
// force.
func TuneRuntime() {
	if runtime.GOMAXPROCS(0) < minProcs {
		runtime.GOMAXPROCS(minProcs)
	}
	if before := debug.SetGCPercent(gcPercent); before > gcPercent || before < 0 {
		debug.SetGCPercent(before)
	}
}
