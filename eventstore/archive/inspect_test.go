package archive_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"syscall"
	"testing"

	"payledger/eventstore/archive"
	"payledger/eventstore/embedded"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/folder"
	"payledger/eventstore/secretlog"
	"payledger/eventstore/streams"
	"payledger/eventstore/tipstore"
)

// failing are the files of a tip store whose n-th read fails. It has nothing but one witness, and
// with it an empty index of a segment of SECRETS.
type failing struct {
	tipstore.DB
	n       int
	failure error
}

func (f *failing) Open(string, tipstore.Options, tipstore.Events) (tipstore.DB, error) { return f, nil }
func (f *failing) IsCorruption(error) bool                                             { return false }
func (f *failing) NewSnapshot() tipstore.Snapshot                                      { return f }
func (f *failing) Close() error                                                        { return nil }

func (f *failing) read() error {
	if f.n--; f.n == 0 {
		return f.failure
	}
	return nil
}

func (f *failing) Get(key []byte) ([]byte, io.Closer, error) {
	err := f.read()
	if err == nil {
		err = tipstore.ErrNotFound
	}
	return nil, nil, err
}

func (f *failing) Range(from, _ []byte) (tipstore.Iterator, error) {
	if err := f.read(); err != nil {
		return nil, err
	}
	return rows{witness: from[0] == 'w'}, nil
}

// rows are the rows of a range: the one witness, or none.
type rows struct {
	tipstore.Iterator
	witness bool
}

func (r rows) First() bool                { return r.witness }
func (rows) Next() bool                   { return false }
func (rows) Key() []byte                  { return []byte("w" + segment) }
func (rows) ValueAndErr() ([]byte, error) { return []byte{0, 0, 0, 0, 0, 0, 0, math.MaxUint8}, nil }
func (rows) Close() error                 { return nil }

const segment = "SECRETS_1"

// TestUnreadableTips: a tip store that cannot be read, or is damaged, is no damage of SECRETS: an
// inspection reports the tip store, and nothing else. If all of it can be read, SECRETS differs.
func TestUnreadableTips(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	makeSecrets(t, dir)
	for _, failure := range []error{syscall.EIO, io.ErrUnexpectedEOF} {
		compared := false
		for n := 1; n < 1000 && !compared; n++ {
			var reported []string
			err := archive.InspectWith(dir, tipsThatFail(t, n, failure), func(stream string, seq uint64, reason string) error {
				reported = append(reported, stream)
				t.Log(n, stream, seq, reason)
				return nil
			})
			compared = slices.Equal(reported, []string{segment})
			if err != nil || !compared && !slices.Equal(reported, []string{""}) {
				t.Errorf("after %v in read %d it reported %q: %v", failure, n, reported, err)
			}
		}
		for n := 1; ; n++ {
			found, err := secretlog.ReadSegment(dir, segment, tipsThatFail(t, n, failure), 0, folder.Reading{})
			if err == nil && len(found.Faults) > 0 && n > 3 {
				break
			}
			if !errors.Is(err, secretlog.ErrTips) || !errors.Is(err, failure) {
				t.Fatalf("after %v in read %d it found %v: %v", failure, n, found.Faults, err)
			}
		}
	}
}

func tipsThatFail(t *testing.T, n int, failure error) *tipstore.Store {
	t.Helper()
	tips, err := tipstore.Open(tipstore.Options{}, &failing{n: n, failure: failure})
	if err != nil {
		t.Fatal(err)
	}
	return tips
}

// makeSecrets writes a log with a few values.
func makeSecrets(t *testing.T, dir string) {
	t.Helper()
	server, err := embedded.Start(embedded.Config{Dir: dir, Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	c := eventstoretest.Config(server)
	c.Shards = 1
	ctx := context.Background()
	store, err := engine.Open(ctx, c)
	if err != nil {
		t.Fatal(errors.Join(err, server.Close()))
	}
	values, err := store.OpenSecrets(ctx)
	for i := 0; i < 3 && err == nil; i++ {
		err = values.Create(ctx, fmt.Sprint("customer-key.acct.", i), []byte("a value"))
	}
	if err := errors.Join(err, store.Close(), server.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestDroppedSegmentsAreNotRequired: a dropped segment of deliveries need not be there, nor have
// been read. Without the tip store its drop may become known only after others were read.
func TestDroppedSegmentsAreNotRequired(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dropped uint32
		through uint64
		oldest  uint32
		number  uint32
		first   uint64
	}{
		{dropped: 9, through: 100, oldest: 9, number: 10, first: 101}, // 9 was to be removed
		{dropped: 9, through: 100, oldest: 10, number: 10, first: 101},
		{dropped: 9, through: 100, oldest: 11, number: 10, first: 101}, // 10 is missing
		{oldest: 1, number: 1, first: 1},
		{oldest: 2, number: 1, first: 1},
	} {
		if number, first := archive.Beginning(streams.DeliveryShard, c.dropped, c.through, c.oldest); number != c.number || first != c.first {
			t.Errorf("%+v: %d from %d", c, number, first)
		}
	}
}

// TestSecretsAreGone: a segment of SECRETS that is gone is named so, at a record that it had.
func TestSecretsAreGone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		named   uint64
		dropped streams.Floor
		want    []string
	}{
		{named: 7, want: []string{"SECRETS_1 at 1: the stream is gone; it was acknowledged up to 7"}},
		{named: 9, dropped: streams.Floor{Segment: 2, Seq: 6}, want: []string{"SECRETS_3 at 7: the stream is gone; it was acknowledged up to 9"}},
	} {
		var reported []string
		err := archive.CompareSecrets(c.named, c.dropped, func(stream string, seq uint64, reason string) error {
			reported = append(reported, fmt.Sprintf("%s at %d: %s", stream, seq, reason))
			return nil
		})
		if err != nil || !slices.Equal(reported, c.want) {
			t.Errorf("%q, %v", reported, err)
		}
	}
}
