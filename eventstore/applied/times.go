package applied

import (
	"math"

	"payledger/eventstore/format"
	"payledger/eventstore/tiprow"
	"payledger/eventstore/tipstore"
)

// MaxStretches bounds the stretches of a shard, of 16 bytes each.
const MaxStretches = 8192

// times are the least and the greatest time of the events in each stretch of a shard's groups. A
// time is that of a node's clock, and clocks may be wrong: no search over the times alone finds all
// events of a window. The stretches show which groups have none.
type times struct {
	groups  uint64 // of each stretch; they double when the stretches are too many
	all     []span // of the stretches, from group 1 on
	last    uint64 // group whose events count
	changed int    // the first stretch that the tip store does not have as it is here
}

// span has no time if least is after greatest.
type span struct{ least, greatest int64 } // microseconds since 1970

var noTime = span{math.MaxInt64, math.MinInt64}

func (s span) with(other span) span {
	return span{min(s.least, other.least), max(s.greatest, other.greatest)}
}

// add counts the time of an event in a group that is not before the last one.
func (t *times) add(group uint64, at int64) {
	if t.groups == 0 {
		t.groups = 1
	}
	for group > t.groups*MaxStretches {
		t.halve()
	}
	number := int((group - 1) / t.groups)
	t.changed = min(t.changed, len(t.all), number)
	for len(t.all) <= number {
		t.all = append(t.all, noTime)
	}
	t.all[number] = t.all[number].with(span{at, at})
	t.last = group
}

// halve makes one stretch of two.
func (t *times) halve() {
	for i, s := range t.all {
		if i%2 == 0 {
			t.all[i/2] = s
		} else {
			t.all[i/2] = t.all[i/2].with(s)
		}
	}
	t.all = t.all[:(len(t.all)+1)/2]
	t.groups *= 2
	t.changed = 0
}

// near returns the stretches up to a group that hold all events of some times, oldest first.
func (t *times) near(through uint64, of span) (near []format.Stretch) {
	for i, s := range t.all {
		first := uint64(i)*t.groups + 1
		if first > through {
			break
		}
		if s.greatest < of.least || of.greatest < s.least {
			continue
		}
		last := min(first+t.groups-1, through)
		if n := len(near); n > 0 && near[n-1].Last+1 == first {
			near[n-1].Last = last
		} else {
			near = append(near, format.Stretch{First: first, Last: last})
		}
	}
	return near
}

// timeRows are the changed times of stretches, as the tip store keeps them.
type timeRows struct {
	first int // number of the stretch
	rows  []tiprow.Times
}

// take returns the stretches that changed since the last call.
func (t *times) take() timeRows {
	taken := timeRows{first: t.changed}
	for i := t.changed; i < len(t.all); i++ {
		s := t.all[i]
		taken.rows = append(taken.rows, tiprow.Times{Groups: t.groups, Through: min(t.last, uint64(i+1)*t.groups), Least: s.least, Greatest: s.greatest})
	}
	t.changed = len(t.all)
	return taken
}

func (r timeRows) addTo(write tipstore.Batch, shard int) error {
	for i, row := range r.rows {
		if err := write.Set(tiprow.TimesKey(shard, r.first+i), row.Append(nil)); err != nil {
			return err
		}
	}
	return nil
}

// restore reads the times in the tip store.
func (t *times) restore(store *tipstore.Store, shard int) error {
	rows, err := tiprow.ReadTimes(store, shard)
	for _, row := range rows {
		t.groups, t.last = row.Groups, row.Through
		t.all = append(t.all, span{row.Least, row.Greatest})
	}
	t.changed = len(t.all)
	return err
}
