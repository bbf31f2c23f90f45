package backup

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"payledger/eventstore/fault"
	"payledger/eventstore/streams"
)

// listed is a storage that lists some streams; each begins after the 100 messages of the one
// before.
type listed struct {
	storage
	streams []string
}

func (l listed) names() ([]string, error) { return l.streams, nil }

func (l listed) config(stream string) (json.RawMessage, uint64, error) {
	_, number, _ := streams.Parse(stream)
	return nil, uint64(number-1)*100 + 1, nil
}

// TestGaps: a list that lacks a segment would make a back-up without its messages.
func TestGaps(t *testing.T) {
	t.Parallel()
	name := streams.Name
	records := streams.DeliveryShard
	for _, c := range []struct {
		shard   int
		dropped uint32
		streams []string
		gap     bool
	}{
		{0, 0, []string{name(0, 2), name(1, 1), name(0, 1)}, false},
		{0, 0, []string{name(0, 1), name(0, 3)}, true},
		{0, 0, []string{name(0, 2)}, true},
		{records, 0, []string{name(records, 2)}, true},
		{records, 1, []string{name(records, 2)}, false},
		{records, 1, []string{name(records, 1), name(records, 3)}, true},
	} {
		s := Source{storage: listed{streams: c.streams}, cut: Cut{Dropped: c.dropped, Ends: map[int]uint64{c.shard: 1000}}}
		parts, err := s.parts(c.shard)
		if c.gap != errors.Is(err, fault.ErrUnhealthy) || !c.gap && (err != nil || len(parts) == 0) {
			t.Errorf("%v: %v %v", c.streams, parts, err)
		}
		if !c.gap && !slices.IsSortedFunc(parts, func(a, b part) int { return int(a.first) - int(b.first) }) {
			t.Errorf("%v: %v", c.streams, parts)
		}
	}
}
