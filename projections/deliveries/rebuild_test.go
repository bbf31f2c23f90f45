package deliveries

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"testing"

	"payledger/projections/listing"
)

// stream is a stream of records in memory: one row each. Its first records were dropped.
type stream struct {
	mu    sync.Mutex
	rows  []Row
	first uint64
}

var errEnd = errors.New("the stream has no more records")

func (s *stream) add(x *Index, t *testing.T, rows ...Row) {
	t.Helper()
	s.mu.Lock()
	s.rows = append(s.rows, rows...)
	s.mu.Unlock()
	must(t, x.Apply(context.Background(), rows, markAt(rows[len(rows)-1].Seq)))
}

func (s *stream) source() Source {
	return Source{
		First: func() uint64 { s.mu.Lock(); defer s.mu.Unlock(); return s.first },
		End: func(context.Context) (uint64, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.rows[len(s.rows)-1].Seq, nil
		},
		Read: func(_ context.Context, from uint64, apply func([]Row, Mark) error) error {
			for i := 0; ; i++ {
				s.mu.Lock()
				if i == len(s.rows) {
					s.mu.Unlock()
					return errEnd
				}
				r, first := s.rows[i], s.first
				s.mu.Unlock()
				if r.Seq < max(from, first) {
					continue
				}
				if err := apply([]Row{r}, markAt(r.Seq)); err != nil {
					return err
				}
			}
		},
	}
}

// all returns the rows of an index by their ids.
func all(t *testing.T, x *Index) map[string]Row {
	t.Helper()
	found := map[string]Row{}
	for from := (*listing.Place)(nil); ; {
		page, err := x.List(context.Background(), mine, Filter{}, from, 7)
		must(t, err)
		for _, r := range page.Data {
			if _, twice := found[r.ID]; twice {
				t.Fatalf("%s is listed twice", r.ID)
			}
			found[r.ID] = r
		}
		if page.Next == nil {
			return found
		}
		from = page.Next
	}
}

// TestRebuild: a rebuilt index has the rows of the old one, those of dropped deliveries too, and no
// wrong ones; lists have every delivery all the time; a second rebuild is refused; a failed one
// changes nothing.
func TestRebuild(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	x := openIndex(t, dir)
	s := &stream{first: 11}
	for n := range 60 {
		s.add(x, t, row(n, uint64(n+1), "PLANNED"))
	}
	for n := range 20 {
		s.add(x, t, row(n+20, uint64(n+61), []string{"FAILED", "SUCCEEDED"}[n%2]))
	}
	want, seq := all(t, x), uint64(80)
	reading := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				if got := all(t, x); len(got) < len(want) {
					t.Errorf("%d rows of %d", len(got), len(want))
					return
				}
				select {
				case <-reading:
					return
				default:
				}
			}
		})
	}
	for round := range 5 {
		steps := 0
		must(t, x.Rebuild(ctx, s.source(), func(at, end uint64) {
			if steps++; steps == 1 && !errors.Is(x.Rebuild(ctx, s.source(), nil), ErrRebuilding) {
				t.Error("a second rebuild was not refused")
			}
			if at > end {
				t.Errorf("at %d of %d", at, end)
			}
			if seq++; steps < 30 {
				s.add(x, t, row(100+int(seq), seq, "PLANNED"))
			}
			if steps == 20 { // some are dropped meanwhile
				s.mu.Lock()
				s.first += 2
				s.mu.Unlock()
			}
		}))
		if steps < 40 {
			t.Errorf("round %d: %d steps", round, steps)
		}
	}
	close(reading)
	readers.Wait()
	got := all(t, x)
	for id, r := range want {
		if !reflect.DeepEqual(got[id], r) {
			t.Errorf("%+v, want %+v", got[id], r)
		}
	}
	counted(t, x)
	if len(got) <= len(want) || x.Mark() != markAt(x.Mark().Seq) {
		t.Errorf("%d rows, mark %+v", len(got), x.Mark())
	}
	failing := s.source()
	failing.Read = func(context.Context, uint64, func([]Row, Mark) error) error { return errEnd }
	if err := x.Rebuild(ctx, failing, nil); !errors.Is(err, errEnd) || !reflect.DeepEqual(all(t, x), got) {
		t.Errorf("a failed rebuild: %v", err)
	}
	must(t, x.Close())
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	must(t, err)
	if want := []string{filepath.Join(dir, fmt.Sprint(FileName, ".6"))}; !slices.Equal(files, want) {
		t.Errorf("the folder has %v", files)
	}
	must(t, os.WriteFile(filepath.Join(dir, FileName+".7"), []byte("half"), 0o600))
	x = openIndex(t, dir)
	counted(t, x)
	if !reflect.DeepEqual(all(t, x), got) {
		t.Error("after a restart the rows are others")
	}
	must(t, x.Close())
}

// TestRebuildRounds: records that are added during a rebuild are applied while the old file goes
// on, except for the last few. After Stop a rebuild is refused.
func TestRebuildRounds(t *testing.T) {
	ctx := context.Background()
	x := openIndex(t, t.TempDir())
	s, steps, still := &stream{}, 0, 0
	s.add(x, t, row(0, 1, "PLANNED"))
	must(t, x.Rebuild(ctx, s.source(), func(uint64, uint64) {
		if x.applying.TryLock() {
			x.applying.Unlock()
		} else {
			still++
		}
		if steps++; steps > 1 {
			return
		}
		for n := range 3 * shortRound {
			s.add(x, t, row(n+1, uint64(n+2), "PLANNED"))
		}
	}))
	if still > shortRound || steps != 3*shortRound+1 {
		t.Errorf("%d of %d records were applied while the old file stood still", still, steps)
	}
	broken := errors.New("the disk is broken")
	x.Stop(broken)
	if err := x.Rebuild(ctx, s.source(), nil); !errors.Is(err, ErrStopped) || !errors.Is(err, broken) {
		t.Errorf("a rebuild after Stop: %v", err)
	}
	must(t, x.Close())
}
