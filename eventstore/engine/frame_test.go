package engine_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"payledger/domain/payment"
	"payledger/eventstore"
	"payledger/eventstore/engine"
	"payledger/eventstore/format"
)

// TestFrameRoundTrip: a frame is the same after encoding and decoding, and the following bytes are
// returned.
func TestFrameRoundTrip(t *testing.T) {
	t.Parallel()
	first, next := examples(t)
	for _, r := range []*eventstore.Recorded{first, next} {
		got, rest, err := engine.ParseFrame(append(r.AppendFrame(nil), "what follows"...))
		if err != nil || rest != len("what follows") {
			t.Fatal(err, rest)
		}
		same(t, "event", got, r)
		if !bytes.Equal(got.AppendFrame(nil), r.AppendFrame(nil)) {
			t.Error("written again, it has other bytes")
		}
	}
}

// TestStateDecodedOnce: all readers of an event that was read from the log share one decoded state,
// copies of the event included; an event as another process reads it has its own. The size of the
// event counts the state before it is there.
func TestStateDecodedOnce(t *testing.T) {
	t.Parallel()
	_, next := examples(t)
	r, _, err := engine.ParseFrame(next.AppendFrame(nil))
	if err != nil {
		t.Fatal(err)
	}
	size := r.Size()
	states := make([]payment.State, 8)
	var readers sync.WaitGroup
	for i := range states {
		readers.Go(func() {
			var err error
			if states[i], err = eventstore.Payments.State(r.Owned()); err != nil {
				t.Error(err)
			}
		})
	}
	readers.Wait()
	first, err := eventstore.Payments.State(r)
	if err != nil {
		t.Fatal(err)
	}
	again, err := eventstore.Payments.State(r.Owned())
	if err != nil || &again.Operations[0] != &first.Operations[0] {
		t.Errorf("decoded twice: %v", err)
	}
	own, err := eventstore.Payments.State(r.Fresh())
	if err != nil || &own.Operations[0] == &first.Operations[0] {
		t.Errorf("another process shares the state: %v", err)
	}
	for _, s := range append(states, again, own) {
		if diff := cmp.Diff(first, s); diff != "" {
			t.Error(diff)
		}
	}
	if r.Size() != size {
		t.Errorf("it takes %d bytes, and %d when its state was decoded", size, r.Size())
	}
}

// TestMalformedFrames: a frame with a missing, doubled, moved or changed line is no event: its hash
// would not cover its text. A frame that ends too soon is no event either.
func TestMalformedFrames(t *testing.T) {
	t.Parallel()
	r := example(t, payment.AuthorizationTimedOut{}, payment.State{}, 2, format.At(7, 3), time.Unix(0, 0))
	frame := r.AppendFrame(nil)
	refused := func(what string, data []byte) {
		t.Helper()
		if got, _, err := engine.ParseFrame(data); !errors.Is(err, engine.ErrFrame) {
			t.Errorf("%s: %v, %+v", what, err, got)
		}
	}
	for n := range len(frame) {
		refused("cut", frame[:n])
	}
	lines := frameLines(frame)
	for i, line := range lines {
		name, _, _ := strings.Cut(line, ":")
		refused(name+" is missing", withLines(frame, slices.Delete(slices.Clone(lines), i, i+1)))
		refused(name+" is doubled", withLines(frame, slices.Insert(slices.Clone(lines), i, line)))
		refused(name+" is at the end", withLines(frame, append(slices.Delete(slices.Clone(lines), i, i+1), line, lines[0])))
		refused(name+" is written otherwise", withLines(frame, slices.Replace(slices.Clone(lines), i, i+1, strings.ToUpper(name)+line[len(name):])))
	}
	refused("a line more", withLines(frame, append(slices.Clone(lines), "More:1\n")))
	for _, bad := range [][2]string{
		{"ce-specversion", "1.1"}, {"ce-source", "/other"}, {"content-type", "text/plain"}, {"ce-subject", "a.b"}, {"ce-subject", "a.b.c.d"},
		{"ce-subject", "a..c"}, {"ce-subject", "a.*.c"}, {"ce-time", "2026-01-02T03:04:05Z"}, {"ce-time", "2026-01-02T03:04:05,123456Z"},
		{"Ledger-Schema", "01"}, {"Ledger-Schema", "-1"}, {"Ledger-Schema", "2147483648"}, {"Ledger-Revision", "0"}, {"Ledger-Revision", "+2"},
		{"Ledger-Revision", "9223372036854775808"}, {"Ledger-Prev-Seq", "-1"}, {"Ledger-Prev-Seq", "7"}, {"Ledger-Prev-Seq", "7.256"},
		{"Ledger-Prev-Seq", "0.0"}, {"Ledger-Prev-Seq", "7.03"}, {"Ledger-Prev-Seq", "72057594037927936.0"}, {"Ledger-Hash", "00"},
		{"Ledger-Hash", strings.ToUpper(r.Hash.String()[:62]) + "AB"}, {"Ledger-Schema", strings.Repeat("0", 100_000) + "1"},
	} {
		refused(bad[0]+" "+bad[1][:min(30, len(bad[1]))], withLine(frame, bad[0], bad[1]))
	}
	for _, length := range []int{0, 4} {
		long := slices.Clone(frame)
		binary.BigEndian.PutUint32(long[length:], 0xffff_ffff)
		refused("it claims four gigabytes", long)
	}
}

// frameLines cuts the text of a frame into its lines.
func frameLines(frame []byte) []string {
	text := binary.BigEndian.Uint32(frame)
	return slices.Collect(strings.Lines(string(frame[engine.FrameHead : engine.FrameHead+text])))
}

// withLines returns the frame with another text.
func withLines(frame []byte, lines []string) []byte {
	body := frame[engine.FrameHead+binary.BigEndian.Uint32(frame):]
	text := strings.Join(lines, "")
	b := binary.BigEndian.AppendUint32(nil, uint32(len(text)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(body)))
	return append(append(b, text...), body...)
}

// withLine returns the frame with another value in one line.
func withLine(frame []byte, name, value string) []byte {
	lines := frameLines(frame)
	for i := range lines {
		if strings.HasPrefix(lines[i], name+":") {
			lines[i] = name + ":" + value + "\n"
		}
	}
	return withLines(frame, lines)
}

// TestControlCharacters: text from outside may contain characters that end a line. They are
// recorded as spaces, and the recorded text is hashed.
func TestControlCharacters(t *testing.T) {
	t.Parallel()
	s := sole(t, 1).store()
	key := newKey()
	meta := newMeta(t, s)
	meta.Actor = "key:a\nLedger-Hash:00\r\n\x00\t\x7fb\xffü"
	meta.CorrelationID = "\n\n" + strings.Repeat("x", 300) + "\v\f\x1b[2J"
	tip, err := eventstore.ExecuteNew(testContext(t), s, tallies, key, meta, func(tally) (added, error) { return added{N: 1}, nil })
	if err != nil {
		t.Fatal(err)
	}
	s.ForgetGroups()
	read, err := s.Read(testContext(t), tip.Recorded.Shard, tip.Recorded.Seq)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "event", read, tip.Recorded)
	same(t, "actor", read.Actor, "key:a Ledger-Hash:00     b\uFFFDü")
	same(t, "correlation id", read.CorrelationID, "  "+strings.Repeat("x", 300)+"   [2J")
	checkChain(t, []*eventstore.Recorded{read})
	parsed, _, err := engine.ParseFrame(read.AppendFrame(nil))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "frame", parsed.AppendFrame(nil), tip.Recorded.AppendFrame(nil))
}
