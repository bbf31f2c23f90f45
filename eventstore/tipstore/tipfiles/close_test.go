package tipfiles_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"payledger/eventstore/tipstore"
)

// lost opens a store and removes its folder, so that every flush fails.
func lost(t *testing.T) (s *tipstore.Store, dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "tips")
	s = open(t, tipstore.Options{Dir: dir})
	set(t, s, "a", "one")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	return s, dir
}

func commit(s *tipstore.Store, bytes int) error {
	b := s.NewBatch()
	return errors.Join(b.Set([]byte("b"), make([]byte, bytes)), b.Commit())
}

// TestCloseOnLostFolder checks that a store whose folder is gone reports each failed flush, and
// that Close returns however many flushes have failed before: Pebble itself accepts no further
// flush while some wait, and would wait for ever. If Pebble holds up no call, Close waits for an
// open view and for other flushes, and gives the folder free.
func TestCloseOnLostFolder(t *testing.T) {
	t.Parallel()
	for _, flushes := range []int{0, 1, 8} {
		t.Run(fmt.Sprint(flushes), func(t *testing.T) {
			t.Parallel()
			s, dir := lost(t)
			for range flushes {
				if err := s.Flush(); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("a flush says %v", err)
				}
			}
			check(t, s, "a", "one")
			var others sync.WaitGroup
			held := flushes == 8
			if held { // a write that waits for the flushes, for as long as the store is in use
				others.Go(func() {
					if commit(s, 4<<20) == nil {
						t.Error("a write was accepted that no flush can follow")
					}
				})
			} else {
				view := s.Snapshot()
				for range 2 {
					others.Go(func() {
						if s.Flush() == nil {
							t.Error("a flush succeeded without a folder")
						}
					})
				}
				others.Go(view.Close)
			}
			if err := s.Close(); held != errors.Is(err, os.ErrNotExist) || !held && err != nil {
				t.Errorf("Close says %v", err)
			}
			others.Wait()
			if err := s.Flush(); !errors.Is(err, tipstore.ErrClosed) {
				t.Errorf("after Close: %v", err)
			}
			if !held {
				if err := open(t, tipstore.Options{Dir: dir}).Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestHurriedWrites checks that writes without a flush in between end with an error, too.
func TestHurriedWrites(t *testing.T) {
	t.Parallel()
	s, _ := lost(t)
	s.Hurry()
	for commit(s, 100<<10) == nil { // Pebble takes some into memory
	}
	if err := s.Close(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Close says %v", err)
	}
}
