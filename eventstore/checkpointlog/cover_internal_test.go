package checkpointlog

import (
	"slices"
	"testing"

	"payledger/eventstore/checkpoint"
)

// TestCoverTowardsABound: after a time without checkpoints, those on the way to a bound cover the
// same events however these arrive, and no more than a step of each shard.
func TestCoverTowardsABound(t *testing.T) {
	t.Parallel()
	const perGroup = 7
	bound := []uint64{3*boundStep/perGroup*perGroup + perGroup, 2 * perGroup, 0}
	var want [][]uint64
	for _, arriving := range []uint64{10 * boundStep, boundStep, 1000, 1} { // events of a shard at once
		got, most := coversTo(bound, arriving, perGroup)
		if want == nil {
			want = got
		}
		if len(got) != 4 || most > 2*boundStep || !slices.EqualFunc(want, got, slices.Equal) {
			t.Errorf("%d events at once: the checkpoints end at %v with at most %d events, not at %v", arriving, got, most, want)
		}
	}
}

// coversTo returns where the checkpoints to a bound end, and the most events that one covers, while
// the events of two shards arrive.
func coversTo(bound []uint64, arriving, perGroup uint64) (ends [][]uint64, most int) {
	w := &Writer{pending: make([][]leaf, len(bound))}
	arrived := uint64(0)
	for !slices.Equal(w.newest.Events, bound) {
		for range arriving {
			arrived++
			for shard := range 2 {
				if arrived <= bound[shard]+perGroup {
					w.pending[shard] = append(w.pending[shard], leaf{seq: (arrived + perGroup - 1) / perGroup, number: arrived, ends: arrived%perGroup == 0})
				}
			}
		}
		for !slices.Equal(w.newest.Events, bound) {
			c := w.cover(bound)
			if len(c.leaves) == 0 {
				break
			}
			most, ends = max(most, len(c.leaves)), append(ends, c.events)
			w.dropCovered(checkpoint.Checkpoint{LastSeq: c.lastSeq, Events: c.events})
		}
	}
	return ends, most
}
