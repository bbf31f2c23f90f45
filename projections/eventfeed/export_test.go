package eventfeed

import (
	"context"

	"payledger/eventstore/eventstream"
)

// RunAs replaces the sessions of the feed.
func (f *Feed) RunAs(session func(context.Context) error) { f.run = session }

// CompareAs replaces the comparisons of the watch.
func (f *Feed) CompareAs(compare func() (fault string, err error)) {
	f.ranges = func(context.Context, *eventstream.Stream, uint64, uint64) (string, error) { return compare() }
}
