package audit

import (
	"strings"
	"testing"

	"payledger/eventstore/proof"
)

// TestWitness: a witness emits each checkpoint once and without a gap, and sees a log without the last checkpoint, or with another one.
func TestWitness(t *testing.T) {
	log := func(root string, numbers ...uint64) (checkpoints []proof.Checkpoint) {
		for _, n := range numbers {
			checkpoints = append(checkpoints, proof.Checkpoint{Number: n, Size: 10 * n, Root: proof.Bytes(root)})
		}
		return checkpoints
	}
	for name, c := range map[string]struct {
		after   uint64
		reads   [][]proof.Checkpoint
		emitted int
		fault   string
	}{
		"from the start":        {0, [][]proof.Checkpoint{nil, log("a", 1, 2), log("a", 1, 2, 3), log("a", 1, 2, 3)}, 3, ""},
		"behind a number":       {2, [][]proof.Checkpoint{log("a", 1, 2), log("a", 1, 2, 3)}, 1, ""},
		"behind an absent one":  {3, [][]proof.Checkpoint{log("a", 1, 2)}, 0, "the log has no checkpoint 3"},
		"the log is older":      {0, [][]proof.Checkpoint{log("a", 1, 2), log("a", 1)}, 2, "the log has no checkpoint 2"},
		"the log is empty":      {0, [][]proof.Checkpoint{log("a", 1), nil}, 1, "the log has no checkpoint 1"},
		"the log was rewritten": {0, [][]proof.Checkpoint{log("a", 1, 2), log("b", 1, 2, 3)}, 2, "checkpoint 2 has size 20 and root Yg== now"},
		"a gap":                 {0, [][]proof.Checkpoint{log("a", 1, 3)}, 1, "checkpoint 2 is missing"},
		"the last is gone":      {0, [][]proof.Checkpoint{log("a", 1, 2), log("a", 3)}, 2, "checkpoint 2 is missing before checkpoint 3"},
		"the first is missing":  {0, [][]proof.Checkpoint{log("a", 2)}, 0, "checkpoint 1 is missing"},
	} {
		emitted := c.after
		w := &witness{last: proof.Checkpoint{Number: c.after}, emit: func(one proof.Checkpoint) error {
			if emitted++; one.Number != emitted {
				t.Errorf("%s: checkpoint %d comes after %d", name, one.Number, emitted-1)
			}
			return nil
		}}
		var fault error
		for _, read := range c.reads {
			fault = w.read(func(after uint64) error {
				for _, one := range read {
					if one.Number <= after {
						continue
					}
					if err := w.next(one); err != nil {
						return err
					}
				}
				return nil
			})
		}
		if emitted != c.after+uint64(c.emitted) || (c.fault == "") != (fault == nil) || fault != nil && !strings.Contains(fault.Error(), c.fault) {
			t.Errorf("%s: %d emitted, %v", name, emitted-c.after, fault)
		}
	}
}
