package deliveries

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
)

// TestGather: how long records gather, by the callers that need the index.
func TestGather(t *testing.T) {
	t.Parallel()
	waits := func(x *Index) func() {
		ctx, stop := context.WithCancel(context.Background())
		go func() { _ = x.WaitFor(ctx, 2) }()
		synctest.Wait()
		return func() {
			stop()
			synctest.Wait()
		}
	}
	for _, c := range []struct {
		name   string
		needs  func(*Index) (done func())
		from   time.Duration // when the caller comes; negative: before the call of Gather
		leaves bool          // before the call
		ends   time.Duration // of the context; 0: never
		want   time.Duration
	}{
		{"nobody waits", nil, 0, false, 0, gatherTime},
		{"a caller waits already", waits, -1, false, 0, 0},
		{"a caller comes", waits, gatherTime / 2, false, 0, gatherTime / 2},
		{"a caller has left", waits, -1, true, 0, gatherTime},
		{"hastened already", (*Index).Hasten, -1, false, 0, 0},
		{"hastened meanwhile", (*Index).Hasten, gatherTime / 2, false, 0, gatherTime / 2},
		{"no longer hastened", (*Index).Hasten, -1, true, 0, gatherTime},
		{"the end", nil, 0, false, gatherTime / 2, gatherTime / 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				x := &Index{progress: newProgress(markAt(1))}
				ctx := t.Context()
				if c.ends > 0 {
					var cancel func()
					ctx, cancel = context.WithTimeout(ctx, c.ends)
					defer cancel()
				}
				comes := func() (done func()) {
					if done = c.needs(x); c.leaves {
						done()
						done = func() {}
					}
					return done
				}
				if c.from < 0 {
					defer comes()()
				}
				start, ended := time.Now(), make(chan error)
				var took time.Duration
				go func() {
					err := x.Gather(ctx)
					took = time.Since(start)
					ended <- err
				}()
				if c.from > 0 {
					<-time.After(c.from)
					defer comes()()
				}
				if err := <-ended; took != c.want || errors.Is(err, context.DeadlineExceeded) != (c.ends > 0) {
					t.Errorf("%s, %v; want %s", took, err, c.want)
				}
			})
		})
	}
}

// TestShownNeedsNoHurry checks that a caller whose record is already in the index does not shorten
// the gathering.
func TestShownNeedsNoHurry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x := &Index{progress: newProgress(markAt(2))}
		start := time.Now()
		time.AfterFunc(gatherTime/2, func() { must(t, x.WaitFor(t.Context(), 2)) })
		if err := x.Gather(t.Context()); err != nil || time.Since(start) != gatherTime {
			t.Errorf("%s, %v", time.Since(start), err)
		}
	})
}

// TestMarkStays: a page that was read before a rebuild reached further does not move the mark back,
// in memory or in the file.
func TestMarkStays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	x, err := Open(t.Context(), dir, zerolog.Nop())
	must(t, err)
	must(t, x.Apply(t.Context(), nil, markAt(10)))
	must(t, x.Apply(t.Context(), nil, markAt(5)))
	if got := x.Mark(); got != markAt(10) {
		t.Errorf("the mark is at %d", got.Seq)
	}
	must(t, x.Close())
	x, err = Open(t.Context(), dir, zerolog.Nop())
	must(t, err)
	if got := x.Mark(); got != markAt(10) {
		t.Errorf("the mark of the file is at %d", got.Seq)
	}
	must(t, x.Close())
}
