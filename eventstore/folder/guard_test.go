package folder_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/minio/highwayhash"

	"payledger/eventstore/blocks"
	"payledger/eventstore/folder"
	"payledger/eventstore/streams"
)

// sequence is the place of a record's sequence.
const sequence = 4

// record is a record without a checksum. The guard compares a checksum only if the next record is
// cut off (sealed).
func record(seq uint64) []byte { return recordOf(seq, "a") }

func recordOf(seq uint64, subject string) []byte { return recordWith(seq, subject, nil) }

func recordWith(seq uint64, subject string, body []byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(22+len(subject)+len(body)+8))
	b = binary.LittleEndian.AppendUint64(b, seq)
	b = binary.LittleEndian.AppendUint64(b, 1)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(subject)))
	return append(append(append(b, subject...), body...), make([]byte, 8)...)
}

// tombstone is the record with which a stream begins whose first message is the one after seq.
func tombstone(seq uint64) []byte { return recordOf(seq|1<<62, "") }

// sealed returns the records of the block n with their checksums.
func sealed(n int, data []byte) []byte { return sealedIn(stream, n, data) }

func sealedIn(stream string, n int, data []byte) []byte {
	key := sha256.Sum256(fmt.Appendf(nil, "%s-%d", stream, n))
	for rest := data; len(rest) > 0; {
		r := rest[:binary.LittleEndian.Uint32(rest)]
		rest = rest[len(r):]
		end := len(r) - 8
		sum := highwayhash.Sum64(append(bytes.Clone(r[4:20]), r[22:end]...), key[:])
		binary.LittleEndian.PutUint64(r[end:], sum)
	}
	return data
}

// guarded is a stream with blocks of the test, and its guard.
type guarded struct {
	t     *testing.T
	name  string
	first uint64 // the stream's first sequence
	dir   string
	msgs  string
	now   time.Time
	guard *folder.Guard
}

func newGuarded(t *testing.T) *guarded { return newGuardedOf(t, stream) }

func newGuardedOf(t *testing.T, name string) *guarded {
	dir := t.TempDir()
	g := &guarded{t: t, name: name, first: 1, msgs: filepath.Join(blocks.Folder(dir, streams.Account, name), "msgs"), now: time.Now()}
	if err := os.MkdirAll(g.msgs, 0o700); err != nil {
		t.Fatal(err)
	}
	g.dir = dir
	g.guard = folder.NewGuard(dir, time.Hour, func() time.Time { return g.now })
	return g
}

const stream = "S"

func (g *guarded) write(n int, data []byte) {
	g.t.Helper()
	if err := os.WriteFile(filepath.Join(g.msgs, fmt.Sprintf("%d.blk", n)), data, 0o600); err != nil {
		g.t.Fatal(err)
	}
}

// check compares the damage of a span with a sequence and a part of the reason; 0 is none, anywhere
// any sequence. A second look that comes at once finds the same.
func (g *guarded) check(from, through, stored uint64, seq uint64, want string) {
	g.t.Helper()
	g.checkSpan(folder.Span{From: from, Through: through, Stored: stored}, seq, want)
}

func (g *guarded) checkSpan(span folder.Span, seq uint64, want string) {
	g.t.Helper()
	span.Stream, span.First = g.name, g.first
	for range 2 {
		got, err := g.guard.Check(g.t.Context(), span)
		if err != nil || got.Seq != seq && seq != anywhere || (got.Reason == "") != (seq == 0) || !strings.Contains(got.Reason, want) {
			g.t.Errorf("%d to %d: %+v, want %d, %q (%v)", span.From, span.Through, got, seq, want, err)
		}
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
			g.write(2, changed(sealed(2, block(4, 6)), second+place, bit))
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
	g.write(3, block(7, 7)) // its sequence may be wrong: one of both is
	g.later()
	g.check(4, 4, 7, 6, "the next block begins with 7")
	g.check(7, 7, 7, 6, "")
	g.write(3, record(7)[:25])
	g.later()
	g.check(4, 4, 6, 6, "the next block begins with 7")
	g.write(2, block(4, 6))
	g.check(4, 6, 6, 0, "")
	g.write(3, block(7, 7))
	g.later()
	g.check(4, 6, 7, 0, "")
	g.write(3, block(6, 6)) // so that block 2 ends as if with a wrong length
	g.later()
	g.check(4, 4, 6, 7, "")
}

// TestGuardOfTheLastLength: the length of the last record is too short. Its end looks like a record
// that is being written.
func TestGuardOfTheLastLength(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	whole := sealed(1, append(block(1, 2), recordWith(3, "a", make([]byte, 40))...))
	for short := range byte(22) {
		g.write(1, changed(bytes.Clone(whole), 2*second, whole[2*second]^(whole[2*second]-short)))
		g.later()
		if short == 0 {
			g.check(1, 1, 3, 0, "")
			continue
		}
		g.check(1, 1, 3, 3, "checksum")
	}
}

// TestGuardOfTheFirstMessage: the newest block holds no message yet, but the mark of the server for
// the sequence before its first one, or a part of its first message. Nothing that is stored is
// missing.
func TestGuardOfTheFirstMessage(t *testing.T) {
	t.Parallel()
	for part := range second {
		g := newGuarded(t)
		g.first = 4
		g.write(2, append(tombstone(3), record(4)[:part]...))
		g.check(4, 4, 3, 0, "")
		g.later()
		g.check(4, 4, 4, 4, "4 is stored")
		g.write(2, append(tombstone(3), record(4)...))
		g.check(4, 4, 4, 0, "")

		g = newGuarded(t)
		g.write(1, block(1, 3))
		g.write(2, record(4)[:part])
		g.check(2, 3, 3, 0, "")
		g.check(4, 4, 3, 0, "")
		g.later()
		g.check(4, 4, 4, 4, "4 is stored")
		g.write(2, block(4, 4))
		g.check(4, 4, 4, 0, "")
	}
}

// TestGuardLooksAgain: a list of the files lacks a file that the server made while it was read.
func TestGuardLooksAgain(t *testing.T) {
	t.Parallel()
	for gone := 2; gone < 4; gone++ {
		g := newGuarded(t)
		looked := 0
		g.guard = folder.NewGuard(g.dir, time.Hour, func() time.Time {
			if looked++; looked == 3 { // before the second look of the first check
				for n := 2; n < 4; n++ {
					g.write(n, block(uint64(3*n-2), uint64(3*n)))
				}
			}
			return g.now
		})
		for n := 1; n < 5; n++ {
			if n < gone || n > 3 {
				g.write(n, block(uint64(3*n-2), uint64(3*n)))
			}
		}
		g.check(1, 12, 12, 0, "")
		if looked < 3 {
			t.Errorf("%d calls of the clock", looked)
		}
	}
}

// TestGuardOfThePageAfter: where messages are bad, a page goes on in the next block.
func TestGuardOfThePageAfter(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	g.write(1, block(1, 3))
	g.write(2, changed(block(4, 6), second+sequence+6, 0x20))
	g.write(3, block(7, 9))
	g.check(1, 2, 9, 0, "")
	on := folder.Span{From: 1, Through: 2, Stored: 9, On: true}
	g.checkSpan(on, 5, "2.blk")
	on.From, on.Through = 7, 8
	g.checkSpan(on, 0, "")
	g.write(2, block(4, 6))
	g.write(3, changed(block(7, 9), second+sequence+6, 0x20))
	g.later()
	on.From, on.Through = 1, 3
	g.checkSpan(on, 0, "")
	on.Through = 4
	g.checkSpan(on, 8, "3.blk")
}

// TestGuardForgets: streams that nobody reads any more take no memory.
func TestGuardForgets(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	for n := range 30 {
		for _, name := range []string{stream, fmt.Sprint("S", n)} {
			if _, err := g.guard.Check(t.Context(), folder.Span{Stream: name, First: 1, From: 1, Through: 1}); err != nil {
				t.Fatal(err)
			}
		}
		g.now = g.now.Add(5 * time.Second)
	}
	if n := g.guard.Streams(); n > 4 {
		t.Errorf("%d streams are in memory", n)
	}
}

// TestGuardOfTheNewestBlock: the newest block may grow, and end within a record that is being
// written. To end within a stored record is damage.
func TestGuardOfTheNewestBlock(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	g.write(1, block(1, 3))
	g.write(2, append(sealed(2, block(4, 6)), record(7)[:25]...))
	g.check(2, 6, 6, 0, "")
	g.check(2, 6, 7, 7, "7 is stored")
	g.write(2, append(sealed(2, block(4, 6)), record(7)[:5]...))
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
		g.check(5, 8, 9, anywhere, "")
		g.later()
		g.write(2, record(wrong))
		g.write(3, block(5, 9))
		g.check(4, 4, 9, 4, "")
	}
	g := newGuarded(t)
	g.write(1, block(2, 3))
	g.check(3, 3, 3, 1, "begins with sequence 2")
	for _, wrong := range []uint64{2, 1 << 40} { // the stream before has a message 2, and a later one perhaps 1<<40
		g = newGuarded(t)
		g.first = 4
		g.write(2, append(append(tombstone(3), record(wrong)...), record(5)...))
		g.check(4, 4, 5, 4, "")
		g.write(2, append(append(tombstone(3), record(wrong)...), record(5)[:25]...))
		g.check(4, 4, 4, 4, "")
	}
}
