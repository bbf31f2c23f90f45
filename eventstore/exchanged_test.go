package eventstore_test

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/minio/highwayhash"

	"payledger/eventstore"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/format"
)

// TestExchangedGroup: no reader gets a group that was exchanged while no server ran, although all of its own hashes are right: the group after
// it names another one. It is in a closed segment, which a start does not read. The readers read it alone, as the last one, and in order.
func TestExchangedGroup(t *testing.T) {
	t.Parallel()
	for _, segment := range []int64{1, 600} {
		exchangedGroup(t, segment)
	}
}

func exchangedGroup(t *testing.T, segment int64) {
	t.Helper()
	dir := t.TempDir()
	open := func() (s *eventstore.Store, end func()) {
		server := eventstoretest.Server(t, dir)
		c := eventstoretest.Config(server)
		c.Shards, c.SoleWriter, c.SegmentBytes = 1, true, segment
		s, err := eventstore.Open(testContext(t), c)
		if err != nil {
			t.Fatal(err)
		}
		return s, func() { _ = errors.Join(s.Close(), server.Close()) }
	}
	s, end := open()
	for range 9 {
		mustAdd(t, s, keyIn(s, 0), added{Who: "someone"})
	}
	end()
	exchange(t, dir)
	s, end = open()
	defer end()
	served := errors.New("the exchanged group is served")
	for name, read := range map[string]func() error{
		"in order": func() error {
			return s.Subscribe(testContext(t), 0, 0, func(*eventstore.Recorded) error { return served })
		},
		"alone": func() error {
			return s.Groups(testContext(t), 0, 1, 1, func(*format.Group) error { return served })
		},
		"by its address": func() error {
			_, err := s.Read(testContext(t), 0, format.At(1, 0))
			return cmp.Or(err, served)
		},
	} {
		for range 2 { // the second time from a cache
			if err := read(); !errors.Is(err, eventstore.ErrUnhealthy) || !strings.Contains(err.Error(), "LEDGER_0_1 at sequence 1") {
				t.Errorf("segments of %d bytes, %s: %v", segment, name, err)
			}
		}
	}
}

// TestExchangedAnywhere: a read that begins with an exchanged group is refused, wherever it ends, and hands nothing over. All other reads are
// served.
func TestExchangedAnywhere(t *testing.T) {
	t.Parallel()
	s := openOne(t)
	key := keyIn(s, 0)
	for range 9 {
		mustAdd(t, s, key, added{Who: "someone"})
	}
	var groups []*format.Group
	if err := s.Groups(testContext(t), 0, 1, format.GroupOf(lastOf(t, s)), func(g *format.Group) error { groups = append(groups, g); return nil }); err != nil {
		t.Fatal(err)
	}
	for _, forged := range groups {
		for _, from := range groups {
			for _, through := range groups {
				if from.Seq > through.Seq {
					continue
				}
				s.ForgetGroups()
				s.Forge(forged, func(*format.Group) {})
				next := from.Seq
				err := s.Groups(testContext(t), 0, from.Seq, through.Seq, func(g *format.Group) error {
					if g.Seq != next || g.Hash != groups[g.Seq-1].Hash {
						t.Errorf("group %d is handed over as group %d", g.Seq, next)
					}
					next++
					return nil
				})
				refused := from == forged && errors.Is(err, eventstore.ErrUnhealthy) && next == from.Seq
				if !refused && (from == forged || err != nil || next != through.Seq+1) {
					t.Fatalf("group %d exchanged, %d to %d read, up to %d handed over: %v", forged.Seq, from.Seq, through.Seq, next-1, err)
				}
			}
		}
	}
}

// TestForgedEvent: an event whose bytes were changed is not in a history, even if as many groups after it were made again as are read: the
// aggregate's later events have its hash.
func TestForgedEvent(t *testing.T) {
	t.Parallel()
	s := openOne(t)
	key := keyIn(s, 0)
	var groups []*format.Group
	for range 9 {
		tip := mustAdd(t, s, key, added{Who: "someone"}).Recorded
		if err := s.Groups(testContext(t), 0, format.GroupOf(tip.Seq), format.GroupOf(tip.Seq), func(g *format.Group) error { groups = append(groups, g); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	forge := func(g *format.Group) {
		r := g.Frames[0].Fresh()
		r.Body = bytes.Replace(r.Body, []byte("someone"), []byte("nobody!"), 1)
		g.Frames = []*eventstore.Recorded{r}
	}
	tip, err := s.Load(testContext(t), key, eventstore.Latest)
	if err != nil {
		t.Fatal(err)
	}
	for i, g := range groups[:8] {
		for _, alone := range []bool{true, false} {
			s.ForgetGroups()
			hash := s.Forge(g, forge)
			if !alone { // the group after it names it
				s.Forge(groups[i+1], func(g *format.Group) { g.Before = hash })
			}
			if _, err := s.History(testContext(t), key); !errors.Is(err, eventstore.ErrUnhealthy) || !strings.Contains(err.Error(), "hash of its bytes") {
				t.Errorf("revision %d is forged, and the history has it: %v", i+1, err)
			}
			if !alone {
				continue
			}
			if _, err := s.Since(testContext(t), tip, uint64(i+1)); !errors.Is(err, eventstore.ErrUnhealthy) {
				t.Errorf("revision %d is forged, and a history from it on has it: %v", i+1, err)
			}
			if _, err := s.Read(testContext(t), 0, g.Frames[0].Seq); !errors.Is(err, eventstore.ErrUnhealthy) {
				t.Errorf("revision %d is forged, and is read by its address: %v", i+1, err)
			}
		}
	}
}

// openOne opens a store of one shard for the test's life.
func openOne(t *testing.T) *eventstore.Store {
	t.Helper()
	c := eventstoretest.Config(eventstoretest.Server(t, t.TempDir()))
	c.Shards, c.SoleWriter = 1, true
	return eventstoretest.OpenOn(t, c)
}

func lastOf(t *testing.T, s *eventstore.Store) uint64 {
	t.Helper()
	last, err := s.LastSeq(testContext(t), 0)
	if err != nil {
		t.Fatal(err)
	}
	return last
}

// exchange changes the number of aggregates in the first group, and computes the group's hash and the checksum of the server's record again.
func exchange(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "LEDGER_0_1", "msgs", "*.blk"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	length, subject := int(binary.LittleEndian.Uint32(data)&^(1<<31)), int(binary.LittleEndian.Uint16(data[20:]))
	body := 22 + subject
	from := body // of the message
	if data[3]&0x80 != 0 {
		body += 4
		from = body + int(binary.LittleEndian.Uint32(data[body-4:]))
	}
	group := data[from : length-8]
	if _, err := format.ParseGroup(group); err != nil {
		t.Fatal(err)
	}
	group[53]++ // the last byte of the number of aggregates
	eventstore.Rehash(group)
	if _, err := format.ParseGroup(group); err != nil {
		t.Fatal(err)
	}
	key := sha256.Sum256([]byte("LEDGER_0_1-" + strings.TrimSuffix(filepath.Base(files[0]), ".blk")))
	sum, err := highwayhash.New64(key[:])
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range [][]byte{data[4:20], data[22 : 22+subject], data[body : length-8]} {
		_, _ = sum.Write(part)
	}
	copy(data[length-8:], sum.Sum(nil))
	if err := os.WriteFile(files[0], data, 0o600); err != nil {
		t.Fatal(err)
	}
}
