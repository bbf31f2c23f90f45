package payments

import (
	"math/rand/v2"
	"sync"
	"time"

	"payledger/domain"
	"payledger/domain/process"
	"payledger/domain/processor"
)

const logRetryMost = 2 * time.Second // the longest wait before an operation is tried again after a failure of the log

// tries counts the tries to learn and record the outcome of an operation.
type tries struct {
	asked    int // look-ups without an answer (D8)
	failures int // log failures in a row
}

// wait counts a try without an outcome, and returns the wait before the next try. A failure of the
// log does not lengthen the interval of the look-ups (D8). Up to half of the wait after such a
// failure is random, so that the operations do not all repeat at once.
func (t *tries) wait(logFailed bool) time.Duration {
	if logFailed {
		most := min(process.NextInterval(t.failures), logRetryMost)
		t.failures++
		return most/2 + rand.N(most/2) //nolint:gosec // not security-relevant
	}
	t.failures = 0
	wait := process.NextInterval(t.asked)
	t.asked++
	return wait
}

func logFailed(err error) bool {
	reason := domain.ReasonOf(err)
	return err != nil && (reason == domain.ReasonServiceUnavailable || reason == domain.ReasonConcurrentModification)
}

// logPlace is a shard of the log and a processor. A processor that does not answer delays no try at
// another.
type logPlace struct {
	shard     int
	processor processor.Name
}

// logFailures holds the pairs of shard and processor whose newest try failed because of the log. Of
// a pair's operations without waiting callers one at a time is tried: a failure can take many
// seconds, and the tries of all would take all goroutines of a processor.
type logFailures struct {
	mu    sync.Mutex
	tried map[logPlace]domain.OperationKey // the operation that is tried now; "": none
}

// startTry reports whether an operation may be tried now. After the try the caller must call
// finishTry.
func (l *logFailures) startTry(place logPlace, key domain.OperationKey) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	trying, failed := l.tried[place]
	if failed && trying != "" {
		return false
	}
	if failed {
		l.tried[place] = key
	}
	return true
}

func (l *logFailures) finishTry(place logPlace, key domain.OperationKey, failed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !failed:
		delete(l.tried, place)
	case l.tried[place] == key || l.tried[place] == "":
		l.tried[place] = ""
	}
}
