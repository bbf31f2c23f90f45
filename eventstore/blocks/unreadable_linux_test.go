package blocks_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"payledger/eventstore/blocks"
)

// TestBadFirstRecordBehindALostBlock: the newest block begins with a bad record, and the disk
// cannot return the block before. The damage is named at the first message of that block. Address
// 0 of this process, which nobody can read, stands for the block.
func TestBadFirstRecordBehindALostBlock(t *testing.T) {
	s := stoppedStore(t, seeded(t, 22))
	for stream, o := range map[string]blocks.Options{"PAST": past, "KEPT": {Deletes: true, Subject: "kept"}} {
		all := files(t, s.dir, stream)
		newest, before := all[len(all)-1], all[len(all)-2]
		var lost uint64 // the first message of the block before
		for _, f := range all[:len(all)-2] {
			r, err := blocks.ReadBlock(f.Path, stream, blocks.Options{Deletes: true})
			if err != nil {
				t.Fatal(err)
			}
			lost = max(lost, r.Last+1)
		}
		change(t, newest.Path, flip(40*8), func() {
			aside := before.Path + ".aside"
			if err := errors.Join(os.Rename(before.Path, aside), os.Symlink("/proc/self/mem", before.Path)); err != nil {
				t.Fatal(err)
			}
			o.From = blocks.Newest
			report := verify(t, s.dir, stream, o)
			if len(report.Faults) < 2 || report.Kind != blocks.Damaged {
				t.Fatalf("%s: %+v", stream, report)
			}
			first := report.Faults[0]
			if first.Block != before.Number || first.After+1 != lost || !strings.Contains(first.Reason, "input/output error") {
				t.Errorf("%s: want the lost block %d from %d on: %v", stream, before.Number, lost, first)
			}
			if next := report.Faults[1]; next.Block != newest.Number || next.After+1 != lost {
				t.Errorf("%s: want the block %d, after %d: %v", stream, newest.Number, lost-1, next)
			}
			if err := os.Rename(aside, before.Path); err != nil {
				t.Fatal(err)
			}
		})
	}
}
