package engine_test

import (
	"testing"

	"payledger/eventstore"
)

// TestOrder checks that the positions of an order that a checkpoint has fixed are the same in every
// later order. An event without a covering checkpoint has no position, and the call does not wait.
// Neighbours, and earlier results, need no further reading.
func TestOrder(t *testing.T) {
	t.Parallel()
	for name, alone := range map[string]bool{"sole writer": true, "node of a cluster": false} {
		t.Run(name, func(t *testing.T) {
			build := cluster
			if alone {
				build = sole
			}
			s := build(t, 3).store()
			early := mustAdd(t, s, newKey(), added{}).Recorded
			order, err := s.Checkpoints().Order(testContext(t))
			if err != nil {
				t.Fatal(err)
			}
			if _, covered, err := order.Position(testContext(t), early); covered || err != nil {
				t.Errorf("without a checkpoint an event has a position: %v", err)
			}
			w := startCheckpointer(t, s)
			all := []*eventstore.Recorded{early}
			for range scale(4, 12) {
				for range 3 {
					all = append(all, mustAdd(t, s, newKey(), added{}).Recorded)
				}
				w.coversNow(t, s)
			}
			w.stop(t)
			late := mustAdd(t, s, newKey(), added{}).Recorded
			if order, err = s.Checkpoints().Order(testContext(t)); err != nil {
				t.Fatal(err)
			}
			positions := func() {
				t.Helper()
				for _, e := range all {
					want, _ := positionOf(t, s, e.Shard, e.Seq)
					if got, covered, err := order.Position(testContext(t), e); got != want || !covered || err != nil {
						t.Errorf("%s: position %d, %t, %v; want %d", e.Key, got, covered, err, want)
					}
				}
			}
			positions()
			asked := s.Conn().Stats().OutMsgs
			for _, e := range all {
				if _, _, err := order.Position(testContext(t), e); err != nil {
					t.Error(err)
				}
			}
			if again := s.Conn().Stats().OutMsgs - asked; again >= uint64(len(all)) { // a node sends some by itself
				t.Errorf("%d questions for positions that were known", again)
			}
			if _, covered, err := order.Position(testContext(t), late); covered || err != nil {
				t.Errorf("behind the newest checkpoint an event has a position: %v", err)
			}
		})
	}
}
