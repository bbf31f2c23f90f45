package eventstoretest

import (
	"runtime"
	"time"
)

// LargestHeap returns the largest heap that was seen during do, in bytes.
func LargestHeap(do func()) (largest uint64) {
	runtime.GC()
	ended, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			largest = max(largest, m.HeapInuse)
			select {
			case <-ended:
				return
			case <-tick.C:
			}
		}
	}()
	do()
	close(ended)
	<-watched
	return largest
}
