package blocks_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"payledger/eventstore/blocks"
	"payledger/eventstore/faulttest"
)

// stopped is a store that a server left in order: PAST only grows, with blocks of 32 kB; KEPT has
// deleted messages.
type stopped struct {
	dir   string
	past  map[uint64]string
	parts []part // of PAST: where each record begins
}

type part struct {
	Block  int
	Offset int64
}

// begins returns where the records of a block begin.
func begins(t testing.TB, path string) []int64 {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := faulttest.Records(b)
	return at[:len(at)-1]
}

var past = blocks.Options{Subject: "past.one"}

// stoppedStore makes the store.
func stoppedStore(t testing.TB, random *rand.Rand) stopped {
	t.Helper()
	r := start(t, t.TempDir())
	r.stream(jetstream.StreamConfig{Name: "PAST", Subjects: []string{"past.one"}}, true)
	kept := r.stream(jetstream.StreamConfig{Name: "KEPT", Subjects: []string{"kept"}}, true)
	r.fill(random, literal("past.one"), 90, 3000)
	last := r.fill(random, literal("kept"), 60, 3000)
	for seq := uint64(1); seq < last; seq += 3 {
		erase(t, kept, seq, seq%2 == 0)
	}
	s := stopped{dir: r.dir, past: r.messages("PAST")}
	r.stop()
	isClean(t, verify(t, s.dir, "PAST", past))
	for _, f := range files(t, s.dir, "PAST") {
		for _, at := range begins(t, f.Path) {
			s.parts = append(s.parts, part{f.Number, at})
		}
	}
	return s
}

// change applies f to a file, calls check and puts the file back.
func change(t testing.TB, path string, f func(b []byte) []byte, check func()) {
	t.Helper()
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	put(t, path, f(slices.Clone(good)))
	check()
	put(t, path, good)
}

// flip returns a function that flips one bit.
func flip(bit int) func([]byte) []byte {
	return func(b []byte) []byte {
		b[bit/8] ^= 1 << (bit % 8)
		return b
	}
}

// TestFlippedBits: every flipped bit is found, in streams that only grow and in those with deleted
// messages: in the middle it is damage, in the newest record of the newest block it may pass for a
// torn tail.
func TestFlippedBits(t *testing.T) {
	random := seeded(t, 21)
	s := stoppedStore(t, random)
	tails := 0
	for stream, o := range map[string]blocks.Options{"PAST": past, "KEPT": {Deletes: true, Subject: "kept"}} {
		all := files(t, s.dir, stream)
		for range scale(400, 1500) {
			f := all[random.IntN(len(all))]
			info, err := os.Stat(f.Path)
			if err != nil {
				t.Fatal(err)
			}
			bit := random.IntN(int(info.Size()) * 8)
			change(t, f.Path, flip(bit), func() {
				report := verify(t, s.dir, stream, o)
				switch {
				case report.Kind == blocks.Torn && f.Number == all[len(all)-1].Number:
					tails++
				case report.Kind != blocks.Damaged || len(report.Faults) == 0:
					t.Errorf("%s, block %d, bit %d: %v", stream, f.Number, bit, report.Kind)
				}
			})
		}
	}
	t.Logf("%d flips passed for a torn tail", tails)
}

// TestTruncated cuts a file off. In an older block this is damage. In the newest block it is a torn
// tail, unless index.db names a later message. The server cuts off exactly the torn tail that
// Verify reports.
func TestTruncated(t *testing.T) {
	random := seeded(t, 22)
	s := stoppedStore(t, random)
	all := files(t, s.dir, "PAST")
	index := filepath.Join(filepath.Dir(all[0].Path), "index.db")
	last := uint64(len(s.past))
	for i := range scale(100, 300) {
		f := all[random.IntN(len(all))]
		newest := f == all[len(all)-1]
		cut := func(b []byte) []byte { return b[:random.IntN(len(b))] }
		change(t, f.Path, cut, func() {
			if report := verify(t, s.dir, "PAST", past); report.Kind != blocks.Damaged {
				t.Errorf("block %d: %v", f.Number, report.Kind)
			}
			change(t, index, flip(9), func() {
				report := verify(t, s.dir, "PAST", past)
				if report.Kind == blocks.Damaged == newest {
					t.Errorf("block %d without an index: %v", f.Number, report.Kind)
				}
				o := past
				if o.Through = last; verify(t, s.dir, "PAST", o).Kind != blocks.Damaged {
					t.Errorf("block %d: the missing messages are not noticed", f.Number)
				}
				if newest && i%10 == 0 {
					sameCut(t, s.dir, report)
				}
			})
		})
	}
}

// sameCut starts the server on a copy of a store with a torn tail, and compares the messages that
// the server and Verify accept.
func sameCut(t *testing.T, dir string, report blocks.Report) {
	t.Helper()
	dir = copied(t, dir)
	have, _ := records(t, dir, "PAST", past)
	r := start(t, dir)
	sameMessages(t, r.messages("PAST"), have)
	r.stop()
	block := report.Blocks[len(report.Blocks)-1]
	again := verify(t, dir, "PAST", past)
	if len(again.Blocks) < len(report.Blocks) && block.End == 0 {
		return // the server removed the block
	}
	if isClean(t, again); again.Blocks[len(report.Blocks)-1].Size != block.End || again.Last != report.Last {
		t.Errorf("the server cut block %d at %d, not at %d", block.Block, again.Blocks[len(report.Blocks)-1].Size, block.End)
	}
}

// TestGarbage: a tail of garbage or of zeroes after the last record is a torn tail; garbage before
// a valid record is damage.
func TestGarbage(t *testing.T) {
	random := seeded(t, 23)
	s := stoppedStore(t, random)
	all := files(t, s.dir, "PAST")
	for _, tail := range [][]byte{{0}, make([]byte, 5000), bytesOf(random, 21), bytesOf(random, 70_000)} {
		change(t, all[len(all)-1].Path, func(b []byte) []byte { return append(b, tail...) }, func() {
			report := verify(t, s.dir, "PAST", past)
			if report.Kind != blocks.Torn || report.Last != uint64(len(s.past)) {
				t.Errorf("newest block: %v %v", report.Kind, report.Faults)
			}
			sameCut(t, s.dir, report)
		})
		change(t, all[1].Path, func(b []byte) []byte { return append(b, tail...) }, func() {
			if report := verify(t, s.dir, "PAST", past); report.Kind != blocks.Damaged {
				t.Errorf("older block: %v", report.Kind)
			}
		})
		change(t, all[1].Path, func(b []byte) []byte { return append(slices.Clone(tail), b...) }, func() {
			report := verify(t, s.dir, "PAST", past)
			if report.Kind != blocks.Damaged || report.Messages != uint64(len(s.past)) || report.Blocks[1].End != 0 {
				t.Errorf("at the front: %v %v", report.Kind, report.Faults)
			}
		})
	}
}

// TestZeroedPage: a lost page in the middle of a block is damage, and everything after it is found
// again.
func TestZeroedPage(t *testing.T) {
	random := seeded(t, 24)
	s := stoppedStore(t, random)
	all := files(t, s.dir, "PAST")
	for range 100 {
		f := all[random.IntN(len(all))]
		var lost uint64
		zero := func(b []byte) []byte {
			page := random.IntN((len(b) - 4096) / 4096)
			clear(b[page*4096 : (page+1)*4096])
			for i, part := range s.parts {
				end := int64(len(b))
				if i+1 < len(s.parts) && s.parts[i+1].Block == f.Number {
					end = s.parts[i+1].Offset
				}
				if part.Block == f.Number && part.Offset < int64(page+1)*4096 && end > int64(page)*4096 {
					lost++
				}
			}
			return b
		}
		change(t, f.Path, zero, func() {
			report := verify(t, s.dir, "PAST", past)
			if report.Kind != blocks.Damaged || report.Messages != uint64(len(s.past))-lost || report.Last != uint64(len(s.past)) {
				t.Errorf("block %d: %v, %d of %d messages, %d lost", f.Number, report.Kind, report.Messages, len(s.past), lost)
			}
		})
	}
}

// TestMovedRecords checks two records in each other's places, a record that is there twice, and a
// missing record.
func TestMovedRecords(t *testing.T) {
	s := stoppedStore(t, seeded(t, 25))
	f := files(t, s.dir, "PAST")[1]
	var at []int64
	for _, part := range s.parts {
		if part.Block == f.Number {
			at = append(at, part.Offset)
		}
	}
	for name, f2 := range map[string]func(b []byte) []byte{
		"swapped": func(b []byte) []byte { return slices.Concat(b[:at[3]], b[at[4]:at[5]], b[at[3]:at[4]], b[at[5]:]) },
		"twice":   func(b []byte) []byte { return slices.Concat(b[:at[4]], b[at[3]:]) },
		"missing": func(b []byte) []byte { return slices.Concat(b[:at[3]], b[at[4]:]) },
		"first":   func(b []byte) []byte { return b[at[1]:] },
		"last":    func(b []byte) []byte { return b[:at[len(at)-1]] },
	} {
		change(t, f.Path, f2, func() {
			report := verify(t, s.dir, "PAST", past)
			if report.Kind != blocks.Damaged {
				t.Errorf("%s: %v", name, report.Kind)
			}
		})
	}
}

// TestMovedBlocks: a block file that is gone, or another's contents under its name.
func TestMovedBlocks(t *testing.T) {
	s := stoppedStore(t, seeded(t, 26))
	for i, f := range files(t, s.dir, "PAST") {
		good, err := os.ReadFile(f.Path)
		if err == nil {
			err = os.Remove(f.Path)
		}
		if err != nil {
			t.Fatal(err)
		}
		report := verify(t, s.dir, "PAST", past)
		if report.Kind != blocks.Damaged || report.Faults[0].To == 0 {
			t.Errorf("without block %d: %v %v", f.Number, report.Kind, report.Faults)
		}
		put(t, f.Path, good)
		other, err := os.ReadFile(files(t, s.dir, "PAST")[(i+1)%2].Path)
		if err != nil || slices.Equal(other, good) {
			continue
		}
		change(t, f.Path, func([]byte) []byte { return other }, func() {
			if report := verify(t, s.dir, "PAST", past); report.Kind < blocks.Torn {
				t.Errorf("another block in the place of %d: %v", f.Number, report.Kind)
			}
		})
	}
}

// TestBegunPurge: a folder of a purge that the next start would end.
func TestBegunPurge(t *testing.T) {
	s := stoppedStore(t, seeded(t, 27))
	folder := filepath.Join(blocks.Folder(s.dir, account, "PAST"), "__new_msgs__")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	isClean(t, verify(t, s.dir, "PAST", past))
	put(t, filepath.Join(folder, "9.blk"), nil)
	if report := verify(t, s.dir, "PAST", past); report.Kind != blocks.Damaged {
		t.Errorf("%+v", report)
	}
}

// TestEveryBit: every single bit of a block with every sort of record, with and without deletes.
func TestEveryBit(t *testing.T) {
	r := start(t, t.TempDir())
	s := r.stream(jetstream.StreamConfig{Name: "KEPT", Subjects: []string{"kept"}}, false)
	random := seeded(t, 28)
	r.fill(random, literal("kept"), 12, 100)
	erase(t, s, 2, true)
	erase(t, s, 5, false)
	r.stop()
	path := files(t, r.dir, "KEPT")[0].Path
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	o := blocks.Options{Deletes: true, Subject: "kept"}
	seen := map[blocks.Kind]int{}
	step := scale(3, 1) // so that every byte is met
	for bit := 0; bit < len(good)*8; bit += step {
		put(t, path, flip(bit)(slices.Clone(good)))
		result, err := blocks.ReadBlock(path, "KEPT", o)
		if err != nil || result.Kind < blocks.Torn {
			t.Fatalf("bit %d of byte %d: %+v, %v", bit%8, bit/8, result, err)
		}
		seen[result.Kind]++
	}
	t.Logf("each of %d bits, %d apart: %v", len(good)*8, step, seen)
}

// TestSubjectLength: without the stream's subjects one error stays unnoticed: a wrong length of the
// subject in a message without a header. The server does not notice it either.
func TestSubjectLength(t *testing.T) {
	r := start(t, t.TempDir())
	r.stream(jetstream.StreamConfig{Name: "PAST", Subjects: []string{"past.*"}}, false)
	for i := range 3 {
		r.publish("past.one", nil, fmt.Appendf(nil, "%d", i))
	}
	r.stop()
	path := files(t, r.dir, "PAST")[0].Path
	longer := func(b []byte) []byte {
		binary.LittleEndian.PutUint16(b[20:], binary.LittleEndian.Uint16(b[20:])+1)
		return b
	}
	change(t, path, longer, func() {
		isClean(t, verify(t, r.dir, "PAST", blocks.Options{}))
		o := blocks.Options{Subject: "past.one"}
		if report := verify(t, r.dir, "PAST", o); report.Kind != blocks.Damaged || report.Messages != 2 {
			t.Errorf("%+v", report)
		}
		again := start(t, copied(t, r.dir))
		if have := again.messages("PAST"); len(have) != 3 || have[1] == "" {
			t.Errorf("the server has %d messages", len(have))
		}
	})
}

// TestBadFirstRecord: a bad first record of the newest block is named after the last message of the
// block before, also if no earlier block is read.
func TestBadFirstRecord(t *testing.T) {
	s := stoppedStore(t, seeded(t, 22))
	for stream, o := range map[string]blocks.Options{"PAST": past, "KEPT": {Deletes: true, Subject: "kept"}} {
		all := files(t, s.dir, stream)
		newest := all[len(all)-1]
		first, err := blocks.FirstIn(newest.Path)
		if err != nil {
			t.Fatal(err)
		}
		second := begins(t, newest.Path)[1]
		for what, change1 := range map[string]func([]byte) []byte{
			"the first one": flip(40 * 8), "the only one": func(b []byte) []byte { return flip(40 * 8)(b[:second]) },
		} {
			change(t, newest.Path, change1, func() {
				for _, from := range []uint64{0, blocks.Newest} {
					o.From = from
					report := verify(t, s.dir, stream, o)
					for _, f := range report.Faults {
						if max(f.After+1, f.From) != first {
							t.Errorf("%s, %s, from %d: want a fault at %d: %v", stream, what, from, first, f)
						}
					}
					if len(report.Faults) == 0 {
						t.Errorf("%s, %s, from %d: no fault", stream, what, from)
					}
				}
			})
		}
	}
}

// TestBadFirstRecordOfALaterSegment: the stream begins with a higher sequence than 1, and its first
// record is bad: the damage is named there.
func TestBadFirstRecordOfALaterSegment(t *testing.T) {
	r := start(t, t.TempDir())
	r.stream(jetstream.StreamConfig{Name: "PAST", Subjects: []string{"past.one"}, FirstSeq: 1000}, false)
	r.fill(seeded(t, 23), literal("past.one"), 3, 300)
	r.stop()
	change(t, files(t, r.dir, "PAST")[0].Path, flip(40*8), func() {
		for _, from := range []uint64{0, blocks.Newest} {
			report := verify(t, r.dir, "PAST", blocks.Options{Subject: "past.one", From: from})
			if len(report.Faults) == 0 || report.Faults[0].After != 999 {
				t.Errorf("from %d: want a fault after 999: %v", from, report.Faults)
			}
		}
	})
}
