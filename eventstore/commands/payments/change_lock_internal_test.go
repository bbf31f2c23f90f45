package payments

import (
	"testing"
	"testing/synctest"

	"payledger/eventstore"
)

// TestChangeLocks: callers that want to change a payment get the lock in the order of their
// arrival, at most maxWaiting callers wait, and no lock of a payment without callers is in memory.
func TestChangeLocks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all, key := changeLocks{byKey: map[eventstore.Key]*changeLock{}}, eventstore.Payments.Key("account", "payment")
		first, held := all.join(key, 0)
		if again, _ := all.join(key, 0); !held || again != nil {
			t.Fatal("the lock was taken twice, or never")
		}
		if other, held := all.join(eventstore.Payments.Key("account", "another"), 0); !held {
			t.Error("another payment's lock is held")
		} else {
			other.unlock()
		}
		got, gone := make(chan int, maxWaiting), make(chan struct{})
		for i := range maxWaiting {
			lock, held := all.join(key, maxWaiting)
			if lock == nil || held {
				t.Fatalf("no place in the queue for caller %d", i)
			}
			left := gone
			if i != 1 {
				left = nil
			}
			go func() {
				select {
				case lock.held <- struct{}{}:
					got <- i
				case <-left:
					lock.leave()
				}
			}()
			synctest.Wait()
		}
		if lock, _ := all.join(key, maxWaiting); lock != nil {
			t.Error("the queue has no end")
		}
		close(gone) // the caller at place 1 gives up
		synctest.Wait()
		for i := range maxWaiting {
			if i == 1 {
				continue
			}
			first.unlock()
			if next := <-got; next != i {
				t.Fatalf("caller %d has the lock before caller %d", next, i)
			}
		}
		first.unlock()
		if len(all.byKey) != 0 {
			t.Errorf("%d payments are in memory", len(all.byKey))
		}
	})
}
