package blocks_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"payledger/eventstore/blocks"
)

const blockSize = 8 << 20 // of a stream without limits

// TestCompactedEnd: the server removes deleted messages at the end of a block that is not the
// newest one any more, and index.db still names the last of them. This is no damage. A stream whose
// newest block ends before the message that index.db names for it is damaged.
func TestCompactedEnd(t *testing.T) {
	r := start(t, t.TempDir())
	s := r.stream(jetstream.StreamConfig{Name: "KEPT", Subjects: []string{"kept"}}, false)
	last := fillBlock(r, "kept")
	first := files(t, r.dir, "KEPT")[0].Path
	whole := size64(t, first)
	erase(t, s, last, false)
	newer := filepath.Join(filepath.Dir(first), "2.blk")
	stale := uint64(0)
	for seq := last - 1; ; seq-- {
		erase(t, s, seq, false)
		if _, err := os.Stat(newer); err == nil && stale == 0 {
			stale = seq
			r.stop() // index.db is from before the compaction
			r = start(t, r.dir)
			var err error
			if s, err = r.js.Stream(t.Context(), "KEPT"); err != nil {
				t.Fatal(err)
			}
		}
		if stale != 0 && size64(t, first) < whole/2 {
			break
		}
	}
	o := blocks.Options{Deletes: true, Subject: "kept"}
	for _, running := range []bool{true, false} { // index.db is older, or knows of it
		want := r.messages("KEPT")
		if !running {
			r.stop()
		}
		have, report := records(t, r.dir, "KEPT", o)
		isClean(t, report)
		if sameMessages(t, want, have); report.Last >= last-1 {
			t.Errorf("the messages end at %d: were they removed?", report.Last)
		}
	}
	o.From = blocks.Newest
	if report := verify(t, r.dir, "KEPT", o); report.Kind != blocks.Clean || report.Last != last {
		t.Errorf("the newest block: %+v", report)
	}

	r = start(t, r.dir)
	last = r.publish("kept", nil, []byte("newest"))
	r.stop()
	o.From = 0
	newest := files(t, r.dir, "KEPT")
	change(t, newest[len(newest)-1].Path, func(b []byte) []byte {
		at := begins(t, newest[len(newest)-1].Path)
		return b[:at[len(at)-1]]
	}, func() {
		report := verify(t, r.dir, "KEPT", o)
		if report.Kind != blocks.Damaged || report.Faults[0].To != last {
			t.Errorf("the newest message is missing: %+v", report)
		}
	})
}

// fillBlock fills the first block of a stream but for a few hundred bytes, and returns the last
// sequence.
func fillBlock(r *rig, subject string) uint64 {
	const body, rest = 64 << 10, 300 // bytes
	around := 30 + len(subject)      // of a record
	for left := blockSize; ; left -= body + around {
		if left < 2*body {
			return r.publish(subject, nil, make([]byte, left-around-rest))
		}
		r.publish(subject, nil, make([]byte, body))
	}
}

func size64(t testing.TB, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
