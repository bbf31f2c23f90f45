package eventstore

import "sync"

// tips remembers the newest event of aggregates that this store appended to, or looked up at
// the leader. It serves a store that is its
// log's only writer (an embedded server: the folder is locked): there it is never behind, because what it
// does not know was not written since. Events are immutable and shared.
type tips struct {
	mu       sync.Mutex
	recent   map[Key]*Recorded
	doubted  map[Key]bool      // an append of unknown outcome may still arrive: never remembered again
	older    map[Key]*Recorded // the generation before: dropped when recent is full
	turns    int               // how often a generation was dropped
	size     int               // bytes of bodies in recent
	capacity int
}

// tipsCapacity is how many bytes of events are remembered: tens of thousands of aggregates.
const tipsCapacity = 128 << 20

func newTips() *tips {
	return &tips{recent: map[Key]*Recorded{}, doubted: map[Key]bool{}, capacity: tipsCapacity / 2}
}

// put remembers r, unless a newer event of the aggregate is known.
func (t *tips) put(r *Recorded) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.keep(r)
}

// learn is put for an event that was looked up when turn was the turn: had a generation been dropped since, a newer
// event could have been forgotten with it.
func (t *tips) learn(r *Recorded, turn int) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if turn == t.turns {
		t.keep(r)
	}
}

// turn is to be taken before the look-up of what is then learned.
func (t *tips) turn() int {
	if t == nil {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.turns
}

func (t *tips) keep(r *Recorded) {
	if known := t.find(r.Key); t.doubted[r.Key] || known != nil && known.Seq > r.Seq {
		return
	}
	if replaced := t.recent[r.Key]; replaced != nil {
		t.size -= len(replaced.Body)
	}
	t.size += len(r.Body)
	t.recent[r.Key] = r
	if t.size > t.capacity {
		t.older, t.recent, t.size = t.recent, map[Key]*Recorded{}, 0
		t.turns++
	}
}

// doubt forgets an aggregate for good: what this store knows of it may be behind what the log will hold.
func (t *tips) doubt(key Key) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.doubted[key] = true
	delete(t.recent, key)
	delete(t.older, key)
}

// get gives the newest event of the aggregate, or nil when it is not remembered.
func (t *tips) get(key Key) *Recorded {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.find(key)
}

func (t *tips) find(key Key) *Recorded {
	if r, ok := t.recent[key]; ok {
		return r
	}
	return t.older[key]
}
