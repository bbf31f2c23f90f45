package limits

import (
	"runtime"
	"runtime/debug"
)

const (
	// minProcs is the least GOMAXPROCS. A goroutine in fsync keeps its place in the scheduler until
	// the runtime's monitor notices: with one place, an fsync stops the whole process. More places
	// than processors cost CPU time: on two cores a payment took 0.90 ms with 2 and 1.09 ms with 8,
	// and with fsyncs of 2 ms the rate was the same.
	minProcs = 2
	// gcPercent lets the small heap grow further between collections, so that collections take a
	// third less CPU time.
	gcPercent = 300
)

// TuneRuntime tunes the Go runtime for a process that mostly waits for the disk. Higher GOMAXPROCS
// and GOGC stay in force.
func TuneRuntime() {
	if runtime.GOMAXPROCS(0) < minProcs {
		runtime.GOMAXPROCS(minProcs)
	}
	if before := debug.SetGCPercent(gcPercent); before > gcPercent || before < 0 {
		debug.SetGCPercent(before)
	}
}
