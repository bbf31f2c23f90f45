package archive

import (
	"errors"
	"sync"

	"payledger/eventstore/format"
	"payledger/eventstore/streams"
	"payledger/eventstore/tiprow"
	"payledger/eventstore/tipstore"
)

// EachTip calls handle with the aggregates in the tip store and the values of their tips. The keys
// form two halves: two goroutines call handle, each with the number of its half, in the order of
// the keys. A value is valid only during the call. Records of deliveries are left out.
func (a *Archive) EachTip(handle func(half int, key format.Key, value []byte) error) error {
	ends := [][]byte{tiprow.Prefix(), a.view.Middle(tiprow.Prefix()), tipstore.After(tiprow.Prefix())}
	if ends[1] == nil {
		ends[1] = ends[2]
	}
	var halves [Halves]error
	var both sync.WaitGroup
	for half := range halves {
		both.Go(func() {
			halves[half] = a.view.Range(ends[half], ends[half+1], func(k, value []byte) error {
				if key := tiprow.ParseKey(k); streams.IsEvent(key.Aggregate) {
					return handle(half, key, value)
				}
				return nil
			})
		})
	}
	both.Wait()
	return damagedTips(a.dir, errors.Join(halves[:]...))
}

// Times returns the times in the tip store of a shard's stretches of groups.
func (a *Archive) Times(shard int) ([]tiprow.Times, error) {
	all, err := tiprow.ReadTimes(a.view, shard)
	return all, damagedTips(a.dir, err)
}

// Halves is the number of goroutines of EachTip.
const Halves = 2
