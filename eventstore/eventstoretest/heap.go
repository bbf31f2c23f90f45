package eventstoretest

import (
	"runtime"
	"time"

	"payledger/eventstore/workers"
)

// LargestHeap returns the largest heap that was seen during do, in bytes.
func LargestHeap(do func()) (largest uint64) {
	runtime.GC()
	look := func() {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		largest = max(largest, m.HeapInuse)
	}
	look()
	end := workers.Repeat(20*time.Millisecond, look)
	do()
	end()
	return largest
}
