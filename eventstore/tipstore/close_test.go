package tipstore_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"payledger/eventstore/tipstore"
)

// TestCloseOnLostFolder checks that a store whose folder is gone reports each failed flush, and that Close returns however many flushes
// have failed before: Pebble itself accepts no further flush while some wait, and would wait for ever.
func TestCloseOnLostFolder(t *testing.T) {
	t.Parallel()
	for _, flushes := range []int{0, 1, 8} {
		t.Run(fmt.Sprint(flushes), func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "tips")
			s := open(t, tipstore.Options{Dir: dir})
			set(t, s, "a", "one")
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			for range flushes {
				if err := s.Flush(); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("a flush says %v", err)
				}
			}
			check(t, s, "a", "one")
			committed := make(chan error)
			go func() { // a write that waits for the flushes, for as long as the store is in use
				b := s.NewBatch()
				committed <- errors.Join(b.Set([]byte("b"), make([]byte, 4<<20)), b.Commit())
			}()
			_ = s.Close() // it may succeed: the log has what the files lack
			if err := <-committed; err == nil && flushes == 8 {
				t.Error("a write was accepted that no flush can follow")
			}
			if err := s.Flush(); !errors.Is(err, tipstore.ErrClosed) {
				t.Errorf("after Close: %v", err)
			}
		})
	}
}
