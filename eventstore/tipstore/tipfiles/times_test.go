package tipfiles_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"payledger/eventstore/applied"
	"payledger/eventstore/format"
	"payledger/eventstore/tiprow"
	"payledger/eventstore/tipstore"
	"payledger/eventstore/tipstore/tipfiles"
)

// timedShard is a shard with an event in most of its groups, and its tip store.
type timedShard struct {
	t     *testing.T
	tips  applied.Tips
	store *tipstore.Store
	times []int64 // of the groups' events, from group 1 on; 0: the group has none
}

func (s *timedShard) end() format.Head {
	last := len(s.times)
	for last > 0 && s.times[last-1] == 0 {
		last--
	}
	return format.Head{Link: format.Link{Seq: uint64(len(s.times))}, Last: format.At(uint64(last), 0)}
}

func (s *timedShard) apply(at int64) {
	if s.times = append(s.times, at); at != 0 {
		r := event("a", uint64(len(s.times)), uint64(len(s.times)))
		r.Time = time.UnixMicro(at)
		s.tips.Apply(r)
	}
}

func (s *timedShard) write() {
	s.t.Helper()
	taken, batch := s.tips.Take(s.end()), s.store.NewBatch()
	if _, err := taken.AddTo(batch, 0, nil); err != nil {
		s.t.Fatal(err)
	}
	if err := batch.Commit(); err != nil {
		s.t.Fatal(err)
	}
	s.tips.Written(taken)
}

// restarted returns the tips of a start with the tip store.
func (s *timedShard) restarted() (tips applied.Tips) {
	s.t.Helper()
	tips = applied.NewTips(true, nil)
	if err := tips.Restore(s.end(), s.store, 0); err != nil {
		s.t.Fatal(err)
	}
	return tips
}

// near checks that the stretches near a window have each event of the window up to a group, and
// returns the number of their groups.
func (s *timedShard) near(tips *applied.Tips, through uint64, from, to int64) (groups uint64) {
	s.t.Helper()
	near, next := tips.Near(through, from, to), uint64(1)
	for _, n := range near {
		if n.First < next || n.Last < n.First || n.Last > through {
			s.t.Fatalf("up to %d: %v", through, near)
		}
		next = n.Last + 1
		groups += n.Last - n.First + 1
	}
	for i, at := range s.times[:through] {
		group := uint64(i) + 1
		if at != 0 && from <= at && at <= to && !slices.ContainsFunc(near, func(n format.Stretch) bool { return n.First <= group && group <= n.Last }) {
			s.t.Fatalf("the event of %d in group %d is not in %v, the stretches near %d to %d", at, group, near, from, to)
		}
	}
	return groups
}

// TestTimes: each event of a window is in the stretches near it, whatever its clock said, from
// memory and after a restart. The stretches are few, and a window has few others beside its own.
func TestTimes(t *testing.T) {
	t.Parallel()
	const groups, second, day = 5 * applied.MaxStretches / 2, int64(1e6), int64(24 * 3600 * 1e6)
	random := rand.New(rand.NewPCG(7, 7))
	store, err := tipfiles.Open(tipstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	s := &timedShard{t: t, tips: applied.NewTips(true, nil), store: store}
	wrong := int64(0)
	for n := range int64(groups) {
		if random.IntN(1000) == 0 {
			wrong = []int64{0, 0, day, -day, 100 * day, -3600 * second}[random.IntN(6)]
		}
		at := 1000*day + n*second + wrong
		if n > 1 && n < groups-1 && random.IntN(4) == 0 {
			at = 0
		}
		s.apply(at)
		if random.IntN(500) > 0 && n < groups-1 {
			continue
		}
		s.write()
		again := s.restarted()
		for range 3 {
			one := s.times[random.IntN(len(s.times))]
			from, to, through := one-random.Int64N(300*second), one+random.Int64N(300*second), random.Uint64N(uint64(len(s.times)))+1
			if s.near(&s.tips, through, from, to) != s.near(&again, through, from, to) {
				t.Fatalf("the stretches near %d to %d are others after a restart", from, to)
			}
		}
		if random.IntN(4) == 0 {
			s.tips = again
		}
	}
	rows := 0
	if err := store.Each(tiprow.TimesOf(0), func(_, _ []byte) error { rows++; return nil }); err != nil || rows > applied.MaxStretches {
		t.Errorf("%d rows, %v", rows, err)
	}
	if n := s.near(&s.tips, groups, 900*day, 901*day); n != 0 {
		t.Errorf("%d groups are near a time without events", n)
	}
}

// TestMissingTimes: a tip store whose times end before its events is damaged.
func TestMissingTimes(t *testing.T) {
	t.Parallel()
	store, err := tipfiles.Open(tipstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	s := &timedShard{t: t, tips: applied.NewTips(true, nil), store: store}
	for n := range int64(3) {
		s.apply(n + 1)
	}
	s.write()
	s.restarted()
	for _, gone := range []int{2, 1, 0} {
		batch := store.NewBatch()
		if err := errors.Join(batch.Delete(tiprow.TimesKey(0, gone)), batch.Commit()); err != nil {
			t.Fatal(err)
		}
		tips := applied.NewTips(true, nil)
		if err := tips.Restore(s.end(), store, 0); !errors.Is(err, tipstore.ErrDamaged) {
			t.Errorf("the times of the groups after %d are gone: %v", gone, err)
		}
	}
}

// TestFewNear: of rising times a window has the stretches of its own, one more at each end.
func TestFewNear(t *testing.T) {
	t.Parallel()
	s := &timedShard{t: t, tips: applied.NewTips(true, nil)}
	const groups = 3 * applied.MaxStretches // stretches of 4
	for n := range int64(groups) {
		s.apply(n + 1)
	}
	for _, w := range [][2]int64{{1, 1}, {1, groups}, {100, 100}, {101, 300}, {groups, groups}, {groups + 1, groups + 9}} {
		own := max(0, min(w[1], groups)-w[0]+1)
		if n := s.near(&s.tips, groups, w[0], w[1]); n > uint64(own)+6 || own == 0 && n > 0 {
			t.Errorf("%d groups near %v", n, w)
		}
	}
}
