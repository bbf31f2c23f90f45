package replay

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"payledger/domain"
)

// TestCounts: one replay of an account is counted at a time, whatever other accounts do, and
// maxCounts of all accounts.
func TestCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCounts()
		var ends []func()
		for _, owner := range []domain.AccountID{"one", "two", "three"} {
			end, err := c.begin(t.Context(), owner)
			if err != nil {
				t.Fatal(err)
			}
			ends = append(ends, end)
		}
		began := make(chan func(), 2)
		wait := func(owner domain.AccountID) {
			end, err := c.begin(t.Context(), owner)
			if err != nil {
				t.Error(err)
			}
			began <- end
		}
		go wait("one")
		synctest.Wait()
		if len(began) > 0 {
			t.Fatal("two replays of one account are counted")
		}
		gone, hangUp := context.WithCancel(t.Context())
		hangUp()
		if _, err := c.begin(gone, "two"); !errors.Is(err, context.Canceled) {
			t.Errorf("a caller that has gone: %v", err)
		}
		fourth, err := c.begin(t.Context(), "four")
		if err != nil {
			t.Fatal(err)
		}
		go wait("five")
		synctest.Wait()
		if len(began) > 0 {
			t.Fatalf("more than %d replays are counted", maxCounts)
		}
		fourth()
		(<-began)() // of the fifth account: the first one still has a count
		ends[0]()
		(<-began)()
	})
}
