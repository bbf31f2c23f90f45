package deliverylog_test

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"payledger/eventstore"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/format"
	"payledger/eventstore/position"
	"payledger/eventstore/streams"
)

// TestPositionBytes checks what a record of package position takes in the log if it is alone in its
// group.
func TestPositionBytes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := eventstoretest.Config(eventstoretest.Server(t, dir))
	c.Shards = engine.DefaultClusterShards
	s := eventstoretest.OpenOn(t, c)
	p, err := position.Open(t.Context(), s.Deliveries(), "workflows", c.Shards)
	if err != nil {
		t.Fatal(err)
	}
	size := func() (n int64) {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && strings.Contains(path, "/"+streams.Shard(streams.DeliveryShard)+"_") && strings.HasSuffix(path, ".blk") {
				info, err := d.Info()
				n += info.Size()
				return err
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	const records = 40
	before := size()
	for i := range records {
		var events []*eventstore.Recorded
		for shard := range c.Shards {
			events = append(events, &eventstore.Recorded{Shard: shard, Seq: format.At(uint64(1_000_000+1_013*i+shard*77_773), 3)})
		}
		p.Advance(events)
		if _, err := p.Save(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	each := (size() - before) / records
	t.Logf("%d bytes with %d shards", each, c.Shards)
	if each > 400 {
		t.Errorf("%d bytes", each)
	}
}
