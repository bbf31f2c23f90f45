package engine_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"payledger/eventstore"
	"payledger/eventstore/checkpoint"
	"payledger/eventstore/embedded"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
)

// TestCheckpointSegments checks checkpoints in several streams: their numbers continue, the edge is
// found across streams, and a start without the tip store finds all checkpoints.
func TestCheckpointSegments(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var events []*eventstore.Recorded
	run := func(segment int64, handle func(s *engine.Store)) {
		server, err := embedded.Start(embedded.Config{Dir: dir, Name: "test"})
		if err != nil {
			t.Fatal(err)
		}
		c := eventstoretest.Config(server)
		c.Shards, c.SegmentBytes = 2, segment
		s, err := engine.Open(context.Background(), c)
		if err != nil {
			t.Fatal(err)
		}
		handle(s)
		if err := errors.Join(s.Close(), server.Close()); err != nil {
			t.Fatal(err)
		}
	}
	more := func(s *engine.Store) {
		for range 5 {
			w := startCheckpointer(t, s)
			events = append(events, mustAdd(t, s, newKey(), added{N: 1}).Recorded.Fresh())
			w.coversNow(t, s)
			w.stop(t)
		}
	}
	positions := func(s *engine.Store) (all []uint64) {
		for _, r := range events {
			at, covered := positionOf(t, s, r.Shard, r.Seq)
			if !covered {
				t.Fatalf("%s has no position", r.Key)
			}
			all = append(all, at)
		}
		return all
	}
	var before []uint64
	run(250, func(s *engine.Store) {
		more(s)
		segments, err := filepath.Glob(filepath.Join(dir, "jetstream", "LEDGER", "streams", "CHECKPOINTS_*"))
		if err != nil || len(segments) < 3 {
			t.Errorf("%d segments, %v", len(segments), err)
		}
		before = positions(s)
	})
	for _, tips := range []bool{true, false} {
		if !tips {
			remove(t, filepath.Join(dir, "tips"))
		}
		run(250, func(s *engine.Store) {
			same(t, fmt.Sprint("positions, tips ", tips), positions(s), before)
			more(s) // the edge fits
			before = positions(s)
			if err := s.Scrub(testContext(t)); err != nil {
				t.Error(err)
			}
			if read := s.ScrubBytes(); read < 1<<10 || read > 1<<30 {
				t.Errorf("the scrub reads %d bytes", read)
			}
		})
	}
	remove(t, filepath.Join(dir, "jetstream", "LEDGER", "streams", "CHECKPOINTS_2"))
	if server, err := embedded.Start(embedded.Config{Dir: dir, Name: "test"}); !errors.Is(err, eventstore.ErrUnhealthy) {
		t.Error("a segment is gone:", err)
		if err == nil {
			server.Close()
		}
	}
}

// TestCheckpointBytesADay: one checkpoint a second is the steady load: a day of it takes less than
// 32 MB, edges, the groups around them and the server's own bytes included.
func TestCheckpointBytesADay(t *testing.T) {
	t.Parallel()
	const shards, checkpoints, perDay = 8, 512, 24 * 60 * 60
	server := eventstoretest.Server(t, t.TempDir())
	c := eventstoretest.Config(server)
	c.Shards = shards
	s := eventstoretest.OpenOn(t, c)
	signature := "— payledger " + base64.StdEncoding.EncodeToString(make([]byte, 68)) + "\n"
	for i := range checkpoints {
		// a log of 1,000,000,000 events
		c := checkpoint.Checkpoint{Size: 1e9 + uint64(i), Root: make([]byte, 32), Signature: signature}
		for range shards {
			c.LastSeq, c.Events = append(c.LastSeq, 2e7+uint64(i)), append(c.Events, 1.25e8+uint64(i))
		}
		for n := range 30 {
			c.Edge = append(c.Edge, checkpoint.Node{Index: 2e9 - int64(n), Hash: make([]byte, 32)})
		}
		putCheckpoint(t, s, c, i%32 == 0)
	}
	js, err := jetstream.New(s.Conn(), jetstream.WithDefaultTimeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(testContext(t), "CHECKPOINTS_1")
	if err != nil {
		t.Fatal(err)
	}
	each := float64(stream.CachedInfo().State.Bytes) / checkpoints
	t.Logf("%.1f bytes a checkpoint, %.2f MB a day", each, each*perDay/1e6)
	if each*perDay >= 32e6 {
		t.Errorf("%.2f MB a day", each*perDay/1e6)
	}
}
