package history

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ErrNotThere means that the payment has no such revision, or did not exist at that time.
var ErrNotThere = errors.New("the payment has no such revision")

// ErrFuture means that the time is still to come.
var ErrFuture = errors.New("the time is in the future")

// ahead is how far a time may be after the service's clock: the clock that it is from may differ,
// and a time without a fraction is the end of its second.
const ahead = time.Minute

// InFuture reports whether a payment has no state at a time yet. newest is the time of its newest
// event, which a clock that is ahead may have recorded.
func InFuture(at, newest, now time.Time) bool {
	return at.After(newest) && at.After(now.Add(ahead))
}

// At is the end of a replay: a revision, or the last event at or before a time. The zero value is
// the newest event.
type At struct {
	Revision uint64
	Time     *time.Time
}

// ParseAt reads a revision ("3") or a date: RFC 3339 with any offset, or in UTC without one (D1);
// the letters T and Z may be lower case (D22.8). "" gives the zero value.
func ParseAt(text string) (At, error) {
	if text == "" {
		return At{}, nil
	}
	if revision, err := strconv.ParseUint(text, 10, 64); err == nil {
		if revision == 0 {
			return At{}, fmt.Errorf("%w: revisions begin at 1", ErrNotThere)
		}
		return At{Revision: revision}, nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999"} {
		if t, err := time.Parse(layout, strings.ToUpper(text)); err == nil {
			return At{Time: &t}, nil
		}
	}
	return At{}, fmt.Errorf("%q is neither a revision from 1 nor a time such as 2026-03-14T09:00:00Z", text)
}

// shown are the layouts in which the command line and the dashboard show times, in UTC.
var shown = []string{time.DateTime, "2 Jan 2006 15:04:05 UTC"}

// ParseSecond is ParseAt for people, who may also paste a time as it was shown; its letters may be
// lower case, too (D22.8). Times are shown cut to seconds: a time without a fraction is the end of
// its second, and includes all events that are shown with it.
func ParseSecond(text string) (At, error) {
	at, err := ParseAt(text)
	for _, layout := range shown {
		if t, other := time.Parse(layout, strings.ToUpper(text)); err != nil && other == nil {
			at, err = At{Time: &t}, nil
		}
	}
	if err == nil && at.Time != nil && !strings.ContainsAny(text, ".,") {
		at.Time = new(at.Time.Add(time.Second - 1))
	}
	return at, err
}

// String writes the end as ParseAt reads it.
func (at At) String() string {
	switch {
	case at.Revision > 0:
		return strconv.FormatUint(at.Revision, 10)
	case at.Time != nil:
		return at.Time.UTC().Format(time.RFC3339Nano)
	default:
		return ""
	}
}

// end returns the last revision of a replay of events with these times.
func (at At) end(times []time.Time, now func() time.Time) (uint64, error) {
	switch {
	case at.Revision > uint64(len(times)):
		return 0, fmt.Errorf("%w: %d; the newest is %d", ErrNotThere, at.Revision, len(times))
	case at.Revision > 0:
		return at.Revision, nil
	case at.Time == nil:
		return uint64(len(times)), nil
	case InFuture(*at.Time, slices.MaxFunc(times, time.Time.Compare), now()):
		return 0, fmt.Errorf("%w: %s; without a time the newest event is the end", ErrFuture, at.Time.UTC().Format(time.RFC3339))
	}
	for n := len(times); n > 0; n-- { // from the end: with two nodes' clocks, times may go back
		if !times[n-1].After(*at.Time) {
			return uint64(n), nil
		}
	}
	return 0, fmt.Errorf("%w: the first event is of %s", ErrNotThere, slices.MinFunc(times, time.Time.Compare).Format(time.RFC3339Nano))
}
