package engine

import (
	"context"
	"errors"
	"fmt"
	"payledger/eventstore"
	"payledger/eventstore/fault"
	"payledger/eventstore/format"
	"testing"
)

// TestAbsentUntilFirstEvent: an aggregate that was looked up before its first event is found after
// it, also when it has left the memory.
func TestAbsentUntilFirstEvent(t *testing.T) {
	t.Parallel()
	s, end := openSoleOn(t, t.TempDir())
	key := eventstore.Logs.Key("account1", "looked1up")
	h := s.shard[s.ShardOf(key)]
	for range 2 {
		if _, err := s.Load(context.Background(), key, eventstore.Latest); !errors.Is(err, fault.ErrNotFound) {
			t.Fatal(err)
		}
	}
	h.mu.Lock()
	noted, before := h.tips.Absent(key), h.head.Seq
	h.mu.Unlock()
	if !noted {
		t.Error("the look-up is not remembered")
	}
	meta, err := s.NewMeta("test", "test")
	if err != nil {
		t.Fatal(err)
	}
	r, err := draftOn(eventstore.Logs.Core, key, h.n, tip{State: eventstore.LogState{}}, meta, eventstore.LogInitialized{At: meta.At}, eventstore.Logs.Schema)
	if err == nil {
		err = s.append(context.Background(), r)
	}
	if err == nil {
		err = s.writeTips()
	}
	if err != nil {
		t.Fatal(err)
	}
	for n, generation := 0, s.recentEvents.Generation(); s.recentEvents.Generation() < generation+2; n++ {
		s.recentEvents.Put(eventstore.Logs.Key("account1", fmt.Sprint("other", n)), &format.Recorded{Body: make([]byte, 1<<20)})
	}
	if h.remembers(key) {
		t.Fatal("the first event is still in memory")
	}
	h.noteAbsent(key, before) // a look-up that began before the first event
	found, err := s.Load(context.Background(), key, eventstore.Latest)
	if err != nil || found.Hash != r.Hash {
		t.Errorf("found %v, %v", found, err)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
}

func (h *shard) remembers(key format.Key) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.tipInMemory(key) != nil
}
