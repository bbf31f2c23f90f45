package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"payledger/eventstore"
	"payledger/eventstore/clustertest"
	"payledger/eventstore/external"
	"payledger/eventstore/fault"
	"payledger/eventstore/format"
	"payledger/eventstore/ownership"
	"payledger/eventstore/streams"
)

// TestBytesOfOthers: the groups of other nodes count into the size of the open segment, as those of
// this node do. If they did not, a segment of a cluster would grow to its size once for each node.
func TestBytesOfOthers(t *testing.T) {
	t.Parallel()
	access := external.Access{URL: clustertest.Start(t, 3, nil).Formed(t).URL(clustertest.User)}
	var nodes []*Store
	for range 2 {
		s, err := Open(t.Context(), Config{External: access, Shards: 1, Replicas: 3, Now: time.Now, Random: rand.Reader})
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, s)
	}
	defer func() {
		if err := errors.Join(nodes[0].Close(), nodes[1].Close()); err != nil {
			t.Error(err)
		}
	}()
	bytes := func(s *Store) uint64 {
		h := s.shard[0]
		if err := h.CatchUp(t.Context()); err != nil {
			t.Fatal(err)
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.segments.Open().Bytes
	}
	before := bytes(nodes[1])
	for _, s := range nodes {
		for range 20 {
			appendLog(t, s)
		}
	}
	if a, b := bytes(nodes[0]), bytes(nodes[1]); b-before < 40*messageOverhead || a != b {
		t.Errorf("the nodes count %d and %d bytes, %d of them at the beginning", a, b, before)
	}
}

// appendLog appends the first event of a new aggregate.
func appendLog(t *testing.T, s *Store) {
	t.Helper()
	id, err := eventstore.NewUUID(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	meta, err := s.NewMeta("test", "test")
	if err != nil {
		t.Fatal(err)
	}
	key := eventstore.Logs.Key("account1", id)
	r, err := draftOn(eventstore.Logs.Core, key, 0, tip{State: eventstore.LogState{}}, meta, eventstore.LogInitialized{At: meta.At}, eventstore.Logs.Schema)
	if err == nil {
		err = s.append(context.WithoutCancel(t.Context()), r)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestReadyEnds: that a segment may be closed was found out by a look at the servers. The look does
// not count any more when the node has not owned the shard for a while: a server may be gone.
func TestReadyEnds(t *testing.T) {
	t.Parallel()
	h := &shard{s: &Store{}, owner: ownership.New("here", func() ownership.Reading { return ownership.Reading{} })}
	h.segments.Line = streams.Line{{Number: 1, First: 1}}
	h.noteOwner(&format.Group{Seq: 1, Kind: format.KindEvents, Frames: []*format.Recorded{{}}, Writer: format.Writer{Node: "here"}})
	if h.segments.ready = 1; !h.owner.Owns() {
		t.Fatal("the node does not own the shard")
	}
	h.noteOwner(&format.Group{Seq: 2, Kind: format.KindEvents, Frames: []*format.Recorded{{}}, Writer: format.Writer{Node: "there"}})
	if h.segments.ready != 0 {
		t.Error("the look counts for good")
	}
}

// TestBehindFloor: a draft of another node that continues a dropped record is a conflict. It does
// not wait at that node for a record that never comes.
func TestBehindFloor(t *testing.T) {
	t.Parallel()
	s, end := openSoleOn(t, t.TempDir())
	d, name := s.Deliveries(), "acct1.end1.e1.KIND"
	place, err := d.Put(t.Context(), name, 0, []byte("x"), false)
	if err != nil {
		t.Fatal(err)
	}
	h := s.records
	h.mu.Lock()
	h.segments.floor.Seq = h.head.Seq
	next := &format.Recorded{Key: h.newestRecord(place).Key, Revision: 2, PrevSeq: place}
	err = h.fits(&entry{r: next, origin: &origin{h: h}})
	h.segments.floor.Seq = 0
	h.mu.Unlock()
	if !errors.Is(err, fault.ErrConflict) {
		t.Errorf("%v, want a conflict", err)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
}

// newestRecord returns the record at a place in memory. The caller holds the lock.
func (h *shard) newestRecord(place uint64) *format.Recorded {
	for _, g := range h.recentGroups.From(format.GroupOf(place)) {
		for _, r := range g.Frames {
			if r.Seq == place {
				return r
			}
		}
	}
	return nil
}
