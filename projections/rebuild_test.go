package projections

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/projections/listing"
)

// walkAll reads all pages of a list and wants every payment once, in order.
func (n *node) walkAll(ctx context.Context, f PaymentFilter) (map[domain.PaymentID]PaymentSummary, error) {
	found := map[domain.PaymentID]PaymentSummary{}
	var last *PaymentSummary
	for from := (*listing.Place)(nil); ; {
		page, err := n.ListPayments(ctx, testAccount, f, from, 7)
		if err != nil {
			return nil, err
		}
		for i := range page.Data {
			one := page.Data[i]
			if _, twice := found[one.ID]; twice {
				return nil, fmt.Errorf("%s is listed twice", one.ID)
			}
			if last != nil && (one.Date.Time.After(last.Date.Time) || one.Date.Time.Equal(last.Date.Time) && one.ID > last.ID) {
				return nil, fmt.Errorf("%s is listed after %s", one.ID, last.ID)
			}
			found[one.ID], last = one, &one
		}
		if page.Older == nil {
			return found, nil
		}
		from = page.Older
	}
}

// generationsOf returns the names of the files of the read model.
func generationsOf(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), "-wal") && !strings.HasSuffix(e.Name(), "-shm") {
			names = append(names, e.Name())
		}
	}
	return names
}

// TestRebuild: while the read model is rebuilt again and again, every list has every payment once,
// also by filters that search the blocks, and no read fails. Afterwards the rows are those of a
// model that was made at a start.
func TestRebuild(t *testing.T) {
	t.Parallel()
	store, dir, ctx := openStore(t), t.TempDir(), testContext(t)
	n := startNode(t, store, dir)
	small := sizes{block: 3, walk: 4, chunk: 2}
	n.applying.Lock()
	n.switching.Lock()
	n.model.sizes = small
	n.switching.Unlock()
	n.applying.Unlock()
	var mu sync.Mutex
	made := map[domain.PaymentID]bool{} // to whether it was declined
	grow := func(i int) {
		s := createPayment(t, store, i)
		if i%3 > 0 {
			answerPayment(t, store, s.ID, []processor.Answer{approved(), {State: processor.Declined, Code: "05"}}[i%2])
		}
		mu.Lock()
		defer mu.Unlock()
		made[s.ID] = i%3 > 0 && i%2 == 1
	}
	for i := range 60 {
		grow(i)
	}
	reading, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	reads := make([]atomic.Int64, 3)
	total := func() (all [3]int64) {
		for r := range reads {
			all[r] = reads[r].Load()
		}
		return all
	}
	for r := range reads {
		running.Go(func() {
			for reading.Err() == nil {
				mu.Lock()
				known := make(map[domain.PaymentID]bool, len(made))
				for id, declined := range made {
					known[id] = declined
				}
				mu.Unlock()
				f, want := PaymentFilter{}, func(bool) bool { return true }
				if r > 0 {
					f.Statuses, want = []string{"DECLINED"}, func(declined bool) bool { return declined }
				}
				found, err := n.walkAll(ctx, f)
				if err != nil {
					t.Errorf("reader %d: %v", r, err)
					return
				}
				for id, declined := range known {
					if _, there := found[id]; want(declined) && !there {
						t.Errorf("reader %d: %s is missing", r, id)
						return
					}
				}
				reads[r].Add(1)
			}
		})
	}
	grown := 60
	for round := range 4 {
		before := total()
		applied := uint64(0)
		err := n.Rebuild(ctx, func(done, of uint64) {
			if applied == 0 && round == 1 {
				if err := n.Rebuild(ctx, nil); !errors.Is(err, ErrRebuilding) {
					t.Errorf("a second rebuild: %v", err)
				}
			}
			if applied = done; done > of {
				t.Errorf("%d events of %d were applied", done, of)
			}
			grow(grown) // the end of the log moves on
			grown++
		})
		if err != nil || applied < 100 {
			t.Fatalf("round %d: %d events, %v", round, applied, err)
		}
		for before == total() && !t.Failed() { // each round is read
			_ = n.CaughtUp(ctx)
		}
	}
	stop()
	running.Wait()
	fresh := startNode(t, store, t.TempDir())
	if err := errors.Join(n.CaughtUp(ctx), fresh.CaughtUp(ctx)); err != nil {
		t.Fatal(err)
	}
	if got, want := dump(t, n.model), dump(t, fresh.model); !slices.Equal(got, want) || len(got) < grown {
		t.Errorf("rebuilt\n%s\nmade at a start\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if n.model.sizes != small {
		t.Errorf("the sizes are %+v", n.model.sizes)
	}
	checkBlocks(t, n.model)
	if names := generationsOf(t, dir); !slices.Equal(names, []string{FileName + ".5"}) {
		t.Errorf("the folder has %v", names)
	}
	n.stop()
	again := startNode(t, store, dir)
	if names := generationsOf(t, dir); !slices.Equal(names, []string{FileName + ".5"}) || again.model.places[0].number == 0 {
		t.Errorf("after a restart the folder has %v", names)
	}
}

// TestRebuildEndsEarly: a rebuild that is cancelled, or ends with the process, leaves the old file
// in use, and the next start removes the half file. A crash after the new file is whole continues
// with it.
func TestRebuildEndsEarly(t *testing.T) {
	t.Parallel()
	store, dir, ctx := openStore(t), t.TempDir(), testContext(t)
	n := startNode(t, store, dir)
	for i := range 10 {
		createPayment(t, store, i)
	}
	if err := n.CaughtUp(ctx); err != nil {
		t.Fatal(err)
	}
	want := dump(t, n.model)
	killed := t.TempDir()
	cancelled, cancel := context.WithCancel(ctx)
	err := n.Rebuild(cancelled, func(uint64, uint64) {
		if cancelled.Err() != nil {
			return // the rebuild may report once more before it ends
		}
		if err := os.CopyFS(filepath.Join(killed, "views"), os.DirFS(dir)); err != nil {
			t.Error(err)
		}
		cancel()
		createPayment(t, store, 10)
	})
	if !errors.Is(err, context.Canceled) && err != nil {
		t.Fatal(err)
	}
	expect := func(what, dir string, files ...string) {
		t.Helper()
		if names := generationsOf(t, dir); !slices.Equal(names, files) {
			t.Errorf("%s: the folder has %v", what, names)
		}
	}
	expect("cancelled", dir, FileName)
	expect("killed", filepath.Join(killed, "views"), FileName, FileName+".2")
	restarted := startNode(t, store, filepath.Join(killed, "views"))
	expect("restarted", filepath.Join(killed, "views"), FileName)
	if len(dump(t, restarted.model)) < len(want) {
		t.Error("the restarted model lost rows")
	}
	old, err := os.ReadFile(filepath.Join(dir, FileName))
	if err == nil {
		err = n.Rebuild(ctx, nil)
	}
	n.stop()
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, FileName), old, 0o600) // as if the process had ended before it removed the old file
	}
	if err != nil {
		t.Fatal(err)
	}
	last := startNode(t, store, dir)
	expect("whole", dir, FileName+".2")
	if err := last.CaughtUp(ctx); err != nil {
		t.Fatal(err)
	}
	if got := dump(t, last.model); len(got) < len(want) {
		t.Errorf("%d rows of %d", len(got), len(want))
	}
}
