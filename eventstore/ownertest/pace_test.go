package ownertest

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestPace: while the servers keep up, each draft leaves at once. After a group that took long, the
// drafts of its writers wait for each other and share the next one: until all are back, or for a
// while.
func TestPace(t *testing.T) {
	play(t, 1, 1, func(w *world) {
		a := w.nodes[0]
		a.add(w.newKey(0)).must()
		for range 3 {
			began := time.Now()
			if a.add(w.newKey(0)).must(); time.Since(began) > 0 {
				t.Errorf("a lone writer waited for %s", time.Since(began))
			}
		}
		for _, all := range []bool{true, false} {
			var writers sync.WaitGroup
			add := func() {
				writers.Go(func() { a.add(w.newKey(0)).must() })
				synctest.Wait()
			}
			w.pass(time.Second) // nobody waits because of earlier groups
			before := len(w.groups(0))
			a.freeze()
			add()
			add()
			add()
			w.pass(80 * time.Millisecond)
			a.thaw() // the first group is acknowledged; the drafts of the second and third writer wait for the first one's next
			synctest.Wait()
			if got := len(w.groups(0)) - before; got != 1 {
				t.Errorf("%d groups, want 1 while the others are awaited", got)
			}
			began := time.Now()
			if all {
				add()
			}
			writers.Wait()
			switch took := time.Since(began); {
			case all && took > 0:
				t.Errorf("all are back, and waited for %s", took)
			case !all && (took == 0 || took > 20*time.Millisecond):
				t.Errorf("not all are back, and they waited for %s", took)
			}
			last := w.groups(0)
			if got, want := last[len(last)-1].events, map[bool]int{true: 3, false: 2}[all]; len(last)-before != 2 || got != want {
				t.Errorf("%d groups, the last of %d events, want %d", len(last)-before, got, want)
			}
		}
		w.check()
	})
}
