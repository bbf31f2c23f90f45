package folder_test

import (
	"os"
	"path/filepath"
	"testing"

	"payledger/eventstore/folder"
)

const deletes = "SECRETS_1"

// kept returns a block of a stream with deletes that has some records, in their order.
func kept(n int, records ...[]byte) (data []byte) {
	for _, r := range records {
		data = append(data, r...)
	}
	return sealedIn(deletes, n, data)
}

func erased(seq uint64) []byte { return recordWith(seq|1<<63, "", []byte("random")) }

// TestGuardOfDeletes: in a stream with deletes gaps, overwritten messages and the marks of deleted
// ones are no damage. Any changed byte is, for requests that need the block, and for no other.
func TestGuardOfDeletes(t *testing.T) {
	t.Parallel()
	g := newGuardedOf(t, deletes)
	second := kept(2, tombstone(3), tombstone(1), record(6), record(9), erased(10))
	g.write(1, kept(1, record(1), record(3), record(4)))
	g.write(3, kept(3, record(12), tombstone(9), record(15)))
	g.write(2, second)
	g.check(1, 1, 15, 0, "")
	g.check(5, 14, 15, 0, "")
	g.checkSpan(folder.Span{From: 1, Through: 15, Stored: 15, Appends: true}, 0, "")
	for place := range second {
		g.write(2, changed(append([]byte(nil), second...), place, 1<<(place%8)))
		g.later()
		g.check(9, 9, 15, anywhere, "2.blk")
		g.check(5, 5, 15, anywhere, "2.blk") // no block before shows it
		g.check(10, 13, 15, anywhere, "2.blk")
	}
	g.later()
	g.check(12, 13, 15, 0, "")
	g.check(2, 4, 15, 0, "")
	g.checkSpan(folder.Span{From: 2, Through: 2, Stored: 15, Appends: true}, 0, "")

	g.write(2, changed(append([]byte(nil), second...), 3*30+sequence, 1))
	g.check(7, 7, 15, 7, "2.blk")
	g.write(2, changed(append([]byte(nil), second...), 40, 1)) // the first records are marks of earlier messages
	g.check(7, 7, 15, 5, "2.blk")
	if err := os.Remove(filepath.Join(g.msgs, "2.blk")); err != nil { // all of its messages were deleted
		t.Fatal(err)
	}
	g.check(7, 7, 15, 0, "")
	g.later()
	g.check(7, 7, 15, 0, "")
	g.check(1, 12, 15, 0, "")
}

// TestGuardOfTheNewestBlockWithDeletes: an append needs the newest block, too. It ends with the
// newest message that is stored, or has only marks of deleted ones. Behind that message it may end
// within a record.
func TestGuardOfTheNewestBlockWithDeletes(t *testing.T) {
	t.Parallel()
	g := newGuardedOf(t, deletes)
	append1 := folder.Span{From: 1, Through: 1, Stored: 4, Appends: true}
	end := folder.Span{From: 4, Through: 4, Stored: 4, Appends: true}
	check := func(seq uint64, want string) {
		t.Helper()
		g.later()
		g.checkSpan(append1, seq, want)
		g.checkSpan(end, seq, want)
	}
	g.write(1, kept(1, record(1), record(2)))
	g.write(2, kept(2, record(4)))
	check(0, "")
	g.write(2, append(kept(2, record(4)), record(5)[:25]...))
	check(0, "")
	g.write(2, changed(kept(2, record(4)), 20, 1))
	check(3, "2.blk")
	g.check(1, 2, 4, 0, "")
	g.write(2, kept(2, record(3)))
	check(4, "4 is stored")
	g.write(2, nil)
	check(0, "")
	g.write(1, kept(1, record(1), record(4)))
	g.write(2, kept(2, tombstone(3)))
	check(0, "")
	g.write(2, kept(2, tombstone(3))[:29])
	check(0, "")
	g.write(1, kept(1, record(1)))
	g.later()
	g.checkSpan(append1, 0, "") // the end of the stream is not asked for
	g.checkSpan(end, 2, "4 is stored")
}
