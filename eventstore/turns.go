package eventstore

import "time"

const (
	// contended is how long a group of another process counts as a sign that it wants to append again.
	contended = 5 * time.Second
	// leastWay and mostWay bound the pause after an own group.
	leastWay = 2 * time.Millisecond
	mostWay  = 100 * time.Millisecond
)

// turns makes processes that append to one shard take turns. The process with the newest group could send the next one at once. All
// others must first read that group: without a pause they would lose again and again.
type turns struct {
	others time.Time // the newest group of another process was read
	until  time.Time // this process sends nothing
}

// theirs notes a group of another process: it had its turn.
func (t *turns) theirs() { t.others, t.until = time.Now(), time.Time{} }

// wait returns how long the turn of the others still takes.
func (t *turns) wait() time.Duration { return time.Until(t.until) }

// giveWay pauses after an own group, which took a time, if other processes append as well. The caller holds the lock.
func (h *shard) giveWay(took time.Duration) {
	if h.s.replicas == 1 || time.Since(h.turns.others) > contended {
		return
	}
	pause := min(max(2*took, leastWay), mostWay)
	h.turns.until = time.Now().Add(pause)
	time.AfterFunc(pause, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.sendNext()
	})
}
