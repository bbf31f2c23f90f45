package engine_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
	"pgregory.net/rapid"

	"payledger/domain/seedtest"
	"payledger/eventstore"
	"payledger/eventstore/checkpoint"
	"payledger/eventstore/checkpointlog"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/format"
)

// checkpointing is a checkpointer at work.
type checkpointing struct {
	store    *engine.Store
	verifier string
	end      context.CancelFunc
	ended    chan error
	written  atomic.Int64 // checkpoints of its own
}

func startCheckpointer(t testing.TB, s *engine.Store) *checkpointing {
	t.Helper()
	return checkpointEvery(t, s, time.Millisecond)
}

func checkpointEvery(t testing.TB, s *engine.Store, every time.Duration) *checkpointing {
	t.Helper()
	signer, verifier, err := eventstoretest.Secrets(t, s).CheckpointSigner(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	fanout := eventstore.NewFanout(s)
	c, err := checkpointlog.NewWriter(testContext(t), s.Checkpoints(), fanout.Reader, signer)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	w := &checkpointing{store: s, verifier: verifier, end: cancel, ended: make(chan error, 2)}
	c.Every, c.Covered = every, func(uint64, []format.Hash) { w.written.Add(1) }
	go func() { w.ended <- fanout.Run(ctx) }()
	go func() { w.ended <- c.Run(ctx) }()
	t.Cleanup(cancel)
	return w
}

func (w *checkpointing) stop(t testing.TB) {
	t.Helper()
	w.end()
	for range 2 {
		if err := <-w.ended; err != nil {
			t.Error(err)
		}
	}
}

// covers waits for a checkpoint over at least so many events.
func (w *checkpointing) covers(t testing.TB, size uint64) checkpoint.Checkpoint {
	t.Helper()
	var last checkpoint.Checkpoint
	eventually(t, 2*time.Minute, fmt.Sprintf("a checkpoint over %d events", size), func() (err error) {
		if last, err = w.store.Checkpoints().Last(testContext(t)); err == nil && last.Size < size {
			err = fmt.Errorf("it covers %d", last.Size)
		}
		return err
	})
	return last
}

// coversNow waits for a checkpoint that covers all present events of the log of s. The checkpoint's
// size alone is not enough, because later events count in it, too.
func (w *checkpointing) coversNow(t testing.TB, s *engine.Store) checkpoint.Checkpoint {
	t.Helper()
	ends := make([]uint64, s.Shards())
	for shard := range ends {
		var err error
		if ends[shard], err = s.LastSeq(testContext(t), shard); err != nil {
			t.Fatal(err)
		}
	}
	var last checkpoint.Checkpoint
	eventually(t, 2*time.Minute, fmt.Sprintf("a checkpoint over %v", ends), func() (err error) {
		if last, err = w.store.Checkpoints().Last(testContext(t)); err != nil {
			return err
		}
		for shard, end := range ends {
			if last.LastSeq[shard] < format.GroupOf(end) {
				return fmt.Errorf("it covers %v", last.LastSeq)
			}
		}
		return nil
	})
	return last
}

// putCheckpoint appends a checkpoint as it is, behind the newest one.
func putCheckpoint(t testing.TB, s *engine.Store, c checkpoint.Checkpoint, edge bool) {
	t.Helper()
	body, err := c.Encode(edge)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.AppendCheckpoint(testContext(t), body); err != nil {
		t.Fatal(err)
	}
}

// positionOf returns the position of the event at an address; false if it has none yet.
func positionOf(t testing.TB, s *engine.Store, shard int, address uint64) (uint64, bool) {
	t.Helper()
	r, err := s.Read(testContext(t), shard, address)
	if err != nil {
		t.Fatal(err)
	}
	order, err := s.Checkpoints().Order(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	position, covered, err := order.Position(testContext(t), r)
	if err != nil {
		t.Fatal(err)
	}
	return position, covered
}

// TestCheckpoints: checkpoints of two nodes that race give one order: an auditor who reads them and
// the log finds every event once, the root of RFC 6962 over all hashes, and signatures that verify.
// After a restart the order is the same.
func TestCheckpoints(t *testing.T) {
	t.Parallel()
	r := cluster(t, 3)
	first, second := startCheckpointer(t, r.store()), startCheckpointer(t, r.other())
	var group sync.WaitGroup
	var mu sync.Mutex
	var all []*eventstore.Recorded
	var last checkpoint.Checkpoint
	for range scale(4, 20) { // rounds, so that there are many checkpoints
		for range 8 {
			group.Go(func() {
				for range 10 {
					r := mustAdd(t, r.store(), newKey(), added{}).Recorded
					mu.Lock()
					all = append(all, r)
					mu.Unlock()
				}
			})
		}
		group.Wait()
		last = first.coversNow(t, r.store())
	}
	first.stop(t)
	second.stop(t)
	order := audit(t, r.store(), last.Number, first.verifier)
	if last.Number < 3 {
		t.Errorf("only %d checkpoints", last.Number)
	}
	before := map[[2]uint64]uint64{}
	for _, e := range all {
		place := [2]uint64{uint64(e.Shard), e.Seq}
		position, covered := positionOf(t, r.store(), e.Shard, e.Seq)
		if !covered || position != order[place] {
			t.Errorf("shard %d seq %d: position %d, the auditor's %d", e.Shard, e.Seq, position, order[place])
		}
		before[place] = position
	}
	again := r.reopen(t, 0, func(*engine.Config) {}) // makes more groups
	w := startCheckpointer(t, again)
	mustAdd(t, again, newKey(), added{})
	last = w.coversNow(t, again)
	w.stop(t)
	order = audit(t, again, last.Number, w.verifier)
	for place, position := range before {
		if order[place] != position {
			t.Errorf("%v was at %d and is at %d", place, position, order[place])
		}
	}
}

// TestCheckpointsOfOneNode checks that the node which wrote the newest checkpoint writes the next
// ones, and that another one does so when that node leaves.
func TestCheckpointsOfOneNode(t *testing.T) {
	t.Parallel()
	r := cluster(t, 3)
	first := checkpointEvery(t, r.store(), 400*time.Millisecond) // a node that did not wait for it would be faster
	mustAdd(t, r.store(), newKey(), added{})
	first.coversNow(t, r.store())
	second := checkpointEvery(t, r.other(), time.Hour)
	for range 3 {
		before, err := r.other().Checkpoints().Last(testContext(t))
		if err != nil {
			t.Fatal(err)
		}
		mustAdd(t, r.other(), newKey(), added{})
		eventually(t, 2*time.Minute, "the event is covered", func() error {
			if now, err := r.other().Checkpoints().Last(testContext(t)); err != nil || now.Size == before.Size {
				return fmt.Errorf("it covers %d: %w", now.Size, err)
			}
			return nil
		})
	}
	first.stop(t)
	second.stop(t) // it finds nothing to cover
	if n := second.written.Load(); n > 0 {
		t.Errorf("the other node wrote %d checkpoints", n)
	}
	mustAdd(t, r.other(), newKey(), added{})
	third := startCheckpointer(t, r.other())
	third.coversNow(t, r.other())
	third.stop(t)
	if third.written.Load() == 0 {
		t.Error("no checkpoint of the node that is left")
	}
}

// audit reads every checkpoint and event, verifies the signatures and recomputes every root
// independently. It returns the position of each event by shard and sequence.
func audit(t *testing.T, s *engine.Store, number uint64, verifierKey string) map[[2]uint64]uint64 {
	t.Helper()
	verifier, err := note.NewVerifier(verifierKey)
	if err != nil {
		t.Fatal(err)
	}
	order := map[[2]uint64]uint64{}
	seen, events := make([]uint64, s.Shards()), make([]uint64, s.Shards())
	var hashes [][]byte
	for n := uint64(1); n <= number; n++ {
		c, err := s.Checkpoints().At(testContext(t), n)
		if err != nil {
			t.Fatal(err)
		}
		for shard, last := range c.LastSeq {
			if last < seen[shard] {
				t.Errorf("checkpoint %d goes back in shard %d", n, shard)
			}
			for seen[shard] < last {
				seen[shard]++
				for _, e := range eventsOf(t, s, shard, seen[shard]) {
					hashes = append(hashes, e.Hash[:])
					order[[2]uint64{uint64(shard), e.Seq}] = uint64(len(hashes))
					events[shard]++
				}
			}
			if c.Events[shard] != events[shard] {
				t.Errorf("checkpoint %d counts %d events in shard %d, there are %d", n, c.Events[shard], shard, events[shard])
			}
		}
		if c.Size != uint64(len(hashes)) {
			t.Errorf("checkpoint %d covers %d events, says %d", n, len(hashes), c.Size)
		}
		if root := auditorsRoot(hashes); root != [32]byte(c.Root) {
			t.Errorf("checkpoint %d: another root", n)
		}
		signed, err := note.Open([]byte(c.Text()+"\n"+c.Signature), note.VerifierList(verifier))
		if err != nil || signed.Text != c.Text() {
			t.Errorf("checkpoint %d: %v", n, err)
		}
	}
	return order
}

// eventsOf returns the events of one group, which may be empty.
func eventsOf(t *testing.T, s *engine.Store, shard int, group uint64) (all []*eventstore.Recorded) {
	t.Helper()
	for frame := range engine.MaxFrames {
		e, err := s.Read(testContext(t), shard, format.At(group, frame))
		if errors.Is(err, eventstore.ErrNotFound) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// auditorsRoot is the Merkle tree hash of RFC 6962, section 2.1, as written there.
func auditorsRoot(leaves [][]byte) [32]byte {
	switch n := len(leaves); n {
	case 0:
		return sha256.Sum256(nil)
	case 1:
		return sha256.Sum256(append([]byte{0}, leaves[0]...))
	default:
		k := 1 << (bits.Len(uint(n-1)) - 1)
		left, right := auditorsRoot(leaves[:k]), auditorsRoot(leaves[k:])
		return sha256.Sum256(append(append([]byte{1}, left[:]...), right[:]...))
	}
}

// growTree adds leaves to the tree of an edge.
func growTree(size uint64, edge []checkpoint.Node, leaves [][]byte) (tlog.Hash, []checkpoint.Node, error) {
	t := (checkpoint.Checkpoint{Size: size, Edge: edge}).Tree()
	for _, leaf := range leaves {
		if err := t.Add(eventstore.Hash(leaf)); err != nil {
			return tlog.Hash{}, nil, err
		}
	}
	root, err := t.Root()
	return root, t.Edge(), err
}

// TestAnySplitGivesTheSameRoot: however the events are split into checkpoints, the edge is enough
// to go on from, and the root the same.
func TestAnySplitGivesTheSameRoot(t *testing.T) {
	t.Parallel()
	seedtest.Check(t, func(t *rapid.T) {
		leaves := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 32, 32), 1, 200).Draw(t, "leaves")
		var edge []checkpoint.Node
		size := 0
		for size < len(leaves) {
			n := rapid.IntRange(1, len(leaves)-size).Draw(t, "events in the next checkpoint")
			root, next, err := growTree(uint64(size), edge, leaves[size:size+n])
			if err != nil {
				t.Fatal(err)
			}
			size, edge = size+n, next
			if root != tlog.Hash(auditorsRoot(leaves[:size])) {
				t.Fatalf("another root over %d events", size)
			}
			if len(edge) != bits.OnesCount(uint(size)) {
				t.Fatalf("%d nodes in the edge over %d events", len(edge), size)
			}
		}
	})
}

// TestBrokenCheckpoint: a checkpoint that cannot be gone on from ends the checkpointer, instead of
// being tried for ever.
func TestBrokenCheckpoint(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]checkpoint.Checkpoint{
		"the edge is missing":       {Size: 5, LastSeq: []uint64{0}, Events: []uint64{0}},
		"the edge is cut":           {Size: 5, LastSeq: []uint64{0}, Events: []uint64{0}, Edge: []checkpoint.Node{{Index: 1, Hash: []byte{1}}}},
		"another number of shards":  {Size: 5, LastSeq: []uint64{0, 0}, Events: []uint64{0, 0}},
		"it covers what is not yet": {Size: 5, LastSeq: []uint64{1 << 20}, Events: []uint64{5}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := sole(t, 1)
			w := startCheckpointer(t, r.store())
			broken.Root, broken.Signature = make([]byte, 32), "— payledger AAAA\n"
			putCheckpoint(t, r.store(), broken, true)
			mustAdd(t, r.store(), newKey(), added{})
			r.store().Recheck(testContext(t))
			if name == "it covers what is not yet" {
				if err := r.store().Healthy(); !errors.Is(err, eventstore.ErrUnhealthy) {
					t.Error(err)
				}
				return
			}
			if err := <-w.ended; !errors.Is(err, eventstore.ErrUnhealthy) {
				t.Error(err)
			}
		})
	}
}
