package verify

import (
	"fmt"

	"payledger/eventstore/format"
	"payledger/eventstore/streams"
	"payledger/eventstore/tiprow"
)

// stretches are the times that the tip store has of a shard's groups. A reader of a window of time
// leaves out the stretches without a time of it, so an event outside the times of its stretch is
// hidden from GET /events, replays and files of movements.
type stretches struct {
	all   []tiprow.Times // from group 1 on
	wrong map[int]bool   // numbers of stretches that were reported
}

// through returns the last group whose times the tip store has.
func (s *stretches) through() uint64 {
	if len(s.all) == 0 {
		return 0
	}
	return s.all[len(s.all)-1].Through
}

// readTimes reads the times of the shard. They end with its events: else a start would take the tip
// store for damaged.
func (c *chain) readTimes() (err error) {
	if !c.Archive.HasTips() || !streams.KindOf(c.shard).Events {
		return nil
	}
	c.times.wrong = map[int]bool{}
	if c.times.all, err = c.Archive.Times(c.shard); err != nil {
		c.times.all = nil
		return c.report(Fault{Difference: fmt.Sprintf("the times of shard %d: %s", c.shard, err)})
	}
	if last := format.GroupOf(c.end().Last); c.times.through() != last {
		return c.report(Fault{Difference: fmt.Sprintf("the tip store is damaged: the times of shard %d end at group %d, its events at group %d; the next start makes it again from the log",
			c.shard, c.times.through(), last)})
	}
	return nil
}

// time compares the time of an event with its stretch.
func (c *chain) time(r *format.Recorded) error {
	group := format.GroupOf(r.Seq)
	if group > c.times.through() {
		return nil
	}
	groups := c.times.all[0].Groups
	number := int((group - 1) / groups)
	at := r.Time.UnixMicro()
	if number < len(c.times.all) && c.times.all[number].Least <= at && at <= c.times.all[number].Greatest || c.times.wrong[number] {
		return nil
	}
	c.times.wrong[number] = true
	first := uint64(number)*groups + 1
	return c.report(of(c.stream, r, "the tip store does not have its time in those of the groups %d to %d of shard %d: windows of time leave it out", first, first+groups-1, c.shard))
}
