package folder_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"payledger/eventstore/blocks"
	"payledger/eventstore/folder"
)

// sequence is the place of a record's sequence.
const sequence = 4

// record is a record without a checksum. The guard does not compare checksums.
func record(seq uint64) []byte { return recordOf(seq, "a") }

func recordOf(seq uint64, subject string) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(22+len(subject)+8))
	b = binary.LittleEndian.AppendUint64(b, seq)
	b = binary.LittleEndian.AppendUint64(b, 1)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(subject)))
	return append(append(b, subject...), make([]byte, 8)...)
}

// guarded is a stream with blocks of the test, and its guard.
type guarded struct {
	t     *testing.T
	dir   string
	msgs  string
	now   time.Time
	guard *folder.Guard
}

func newGuarded(t *testing.T) *guarded {
	dir := t.TempDir()
	g := &guarded{t: t, msgs: filepath.Join(blocks.Folder(dir, account, stream), "msgs"), now: time.Now()}
	if err := os.MkdirAll(g.msgs, 0o700); err != nil {
		t.Fatal(err)
	}
	g.dir = dir
	g.guard = folder.NewGuard(dir, account, time.Hour, func() time.Time { return g.now })
	return g
}

const account, stream = "A", "S"

func (g *guarded) write(n int, data []byte) {
	g.t.Helper()
	if err := os.WriteFile(filepath.Join(g.msgs, fmt.Sprintf("%d.blk", n)), data, 0o600); err != nil {
		g.t.Fatal(err)
	}
}

// check compares the damage of a span of a stream from 1 on with a sequence and a part of the
// reason; 0 is none, anywhere any sequence.
func (g *guarded) check(from, through, stored uint64, seq uint64, want string) {
	g.t.Helper()
	got, err := g.guard.Check(g.t.Context(), folder.Span{Stream: stream, First: 1, From: from, Through: through, Stored: stored})
	if err != nil || got.Seq != seq && seq != anywhere || (got.Reason == "") != (seq == 0) || !strings.Contains(got.Reason, want) {
		g.t.Errorf("%d to %d: %+v, want %d, %q (%v)", from, through, got, seq, want, err)
	}
}

const anywhere = 1 << 63

// later lets all looks be too old.
func (g *guarded) later() { g.now = g.now.Add(10 * time.Second) }

func block(first, last uint64) (data []byte) {
	for seq := first; seq <= last; seq++ {
		data = append(data, record(seq)...)
	}
	return data
}

func changed(data []byte, place int, bit byte) []byte {
	data[place] ^= bit
	return data
}

var second = len(record(0)) // the place of a block's second record

// TestGuard: a read is refused if a length or a sequence is wrong in a block that the server would
// read for it, and only then. Another look comes after ten seconds.
func TestGuard(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	g.check(1, 1, 0, 0, "") // no block
	g.later()
	g.write(1, block(1, 3))
	g.write(2, changed(block(4, 6), second+sequence+6, 0x20))
	g.write(3, block(7, 9))
	g.check(1, 3, 9, 0, "")
	g.check(4, 4, 9, 5, "2.blk")
	g.check(6, 6, 9, 5, "2.blk")
	g.check(2, 4, 9, 5, "2.blk")
	g.check(8, 12, 9, 0, "")
	for place := range 8 {
		for bit := byte(1); bit > 0; bit <<= 1 {
			g.write(2, changed(block(4, 6), second+sequence+place, bit))
			g.check(5, 5, 9, 5, "2.blk")
		}
	}
	for place := range 3 { // a length that is too long, too short, or beyond the file; the fourth byte has the mark of a header
		for bit := byte(1); bit > 0; bit <<= 1 {
			g.write(2, changed(block(4, 6), second+place, bit))
			g.check(4, 4, 9, 5, "")
		}
	}
	g.write(2, block(4, 6))
	g.check(4, 7, 9, 0, "")
	g.write(2, changed(block(4, 6), second+sequence+6, 0x20))
	g.check(4, 7, 9, 0, "")
	g.later()
	g.check(4, 7, 9, 5, "2.blk")
	if err := os.RemoveAll(g.msgs); err != nil {
		t.Fatal(err)
	}
	g.later()
	g.check(5, 5, 9, 0, "")
}

// TestGuardOfLengths: a wrong length makes a record end exactly with its file.
func TestGuardOfLengths(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	merged := changed(append(block(4, 5), recordOf(6, strings.Repeat("a", 64-30))...), second, 1<<6)
	g.write(1, block(1, 3))
	g.write(2, merged)
	g.check(4, 4, 5, 0, "")
	g.later()
	g.check(4, 4, 6, 6, "6 is stored")
	g.write(3, block(7, 9))
	g.later()
	g.check(4, 4, 9, 6, "the next block begins with 7")
	g.check(2, 3, 9, 0, "")
	g.write(2, block(4, 6))
	g.write(3, block(7, 7)) // one message: its sequence may be wrong
	g.later()
	g.check(4, 6, 7, 0, "")
}

// TestGuardOfTheNewestBlock: the newest block may grow, and end within a record that is being
// written. To end within a stored record is damage.
func TestGuardOfTheNewestBlock(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	g.write(1, block(1, 3))
	g.write(2, append(block(4, 6), record(7)[:25]...))
	g.check(2, 6, 6, 0, "")
	g.check(2, 6, 7, 7, "7 is stored")
	g.write(2, append(block(4, 6), record(7)[:5]...))
	g.check(7, 7, 6, 0, "")
	g.check(7, 7, 7, 7, "7 is stored")
	g.write(2, block(4, 7))
	g.check(7, 7, 7, 0, "")
	g.write(2, block(4, 9)) // it grew, and another one follows
	g.write(3, block(10, 12))
	g.check(9, 11, 12, 0, "")
	g.now = g.now.Add(9 * time.Second) // the look at the second block is younger than the list
	g.check(9, 9, 12, 0, "")
	g.later()
	g.check(9, 11, 12, 0, "")
}

// TestGuardOfSeveralNewBlocks: blocks begin within ten seconds of the list. Reads across them are
// no damage.
func TestGuardOfSeveralNewBlocks(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	g.write(1, block(1, 3))
	g.write(2, block(4, 6))
	g.check(1, 1, 6, 0, "")
	for n := range uint64(3) {
		g.write(int(n)+2, block(4+6*n, 9+6*n))
	}
	g.check(8, 11, 21, 0, "")
	g.check(8, 17, 21, 0, "")
	g.later()
	g.check(8, 17, 21, 0, "")

	g = newGuarded(t)
	g.write(1, block(1, 3))
	g.write(2, block(4, 6))
	g.check(4, 4, 6, 0, "")
	g.write(2, block(4, 9))
	g.write(3, block(10, 12))
	g.check(2, 8, 12, 0, "")
	g.check(2, 12, 12, 0, "")
	g.later()
	g.check(2, 12, 12, 0, "")
}

// TestGuardOfFirstRecords: the sequence of a block's first record decides which block the server
// reads, by what it knows, not by the file. A wrong one is found whatever its value, and concerns
// only reads of the blocks beside it.
func TestGuardOfFirstRecords(t *testing.T) {
	t.Parallel()
	for bit := range 63 {
		g := newGuarded(t)
		wrong := uint64(4) ^ 1<<bit
		g.write(1, block(1, 3))
		g.write(2, append(record(wrong), block(5, 6)...))
		g.check(5, 5, 6, anywhere, "")
		g.write(3, block(7, 9))
		g.later()
		if g.check(9, 9, 9, 0, ""); wrong > 3 || wrong == 0 {
			g.check(2, 3, 9, 0, "")
		}
		g.check(5, 5, 9, anywhere, "")
		g.later()
		g.write(2, record(wrong))
		g.write(3, block(5, 9))
		g.check(4, 4, 9, 4, "")
	}
	g := newGuarded(t)
	g.write(1, block(2, 3))
	g.check(3, 3, 3, 1, "begins with sequence 2")
}
