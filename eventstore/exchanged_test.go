package eventstore_test

import (
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

// TestExchangedGroup: a reader refuses a group that was exchanged while no server ran, although all of its own hashes are right: the group
// after it names another one. It is in a closed segment, which a start does not read. A reader that reads both at once hands over neither.
func TestExchangedGroup(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		segment int64
		most    int // events that are handed over
	}{{1, 1}, {600, 0}} {
		exchangedGroup(t, c.segment, c.most)
	}
}

func exchangedGroup(t *testing.T, segment int64, most int) {
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
	read := 0
	err := s.Subscribe(testContext(t), 0, 0, func(*eventstore.Recorded) error {
		if read++; read == 9 {
			return errors.New("the exchanged group is served")
		}
		return nil
	})
	if !errors.Is(err, eventstore.ErrUnhealthy) || !strings.Contains(err.Error(), "LEDGER_0_1 at sequence 1") || read > most {
		t.Errorf("segments of %d bytes: after %d events: %v", segment, read, err)
	}
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
