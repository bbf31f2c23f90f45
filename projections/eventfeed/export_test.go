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

// SizeRead calls read after each look at the size of the log.
func (f *Feed) SizeRead(read func()) {
	size := f.size
	f.size = func(ctx context.Context) (uint64, error) {
		n, err := size(ctx)
		read()
		return n, err
	}
}

// Check checks the stream, as the beginning of a session does.
func (f *Feed) Check(ctx context.Context, stream *eventstream.Stream) (uint64, error) {
	return f.check(ctx, stream)
}
