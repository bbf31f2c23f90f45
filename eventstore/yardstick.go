package eventstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Yardstick is how fast plain durable publishes are.
type Yardstick struct {
	PerSecond float64       // messages
	Median    time.Duration // of one publish
}

// Yardstick measures what this machine's disk and server give at best: n plain messages of the given size,
// published to a number of streams, each writer with a connection of its own and waiting for its PubAck.
// The streams are configured like the log's, and removed. The result is the ceiling that
// every figure of the ledger is a ratio of. One stream is JetStream's own durable rate; as many as the log
// has shards is what sharding makes of it.
func (s *Store) Yardstick(ctx context.Context, streamCount, writers, n, size int) (y Yardstick, err error) {
	streams := make([]string, streamCount)
	for i := range streams {
		streams[i] = "yardstick." + strconv.Itoa(i) + "."
		config := s.streamConfig("YARDSTICK_"+strconv.Itoa(i), streams[i]+"*")
		config.DenyDelete, config.DenyPurge = false, false
		if _, err := s.js.CreateStream(ctx, config); err != nil {
			return y, fmt.Errorf("eventstore: yardstick: %w", err)
		}
		defer func() { err = errors.Join(err, s.js.DeleteStream(context.WithoutCancel(ctx), config.Name)) }()
	}
	connections := make([]*nats.Conn, writers)
	for i := range connections {
		if connections[i], err = s.dial(); err != nil {
			return y, fmt.Errorf("eventstore: yardstick: %w", err)
		}
		defer connections[i].Close()
	}
	body := make([]byte, size)
	start := time.Now()
	errs, took := make([]error, writers), make([]time.Duration, n)
	var running sync.WaitGroup
	for w, nc := range connections {
		running.Go(func() {
			for i := w; i < n && errs[w] == nil; i += writers {
				began := time.Now()
				errs[w] = publishPlain(ctx, nc, streams[i%len(streams)]+strconv.Itoa(i), body)
				took[i] = time.Since(began)
			}
		})
	}
	running.Wait()
	y.PerSecond = float64(n) / time.Since(start).Seconds()
	slices.Sort(took)
	y.Median = took[n/2]
	return y, errors.Join(errs...)
}

func publishPlain(ctx context.Context, nc *nats.Conn, subject string, body []byte) error {
	m := nats.NewMsg(subject)
	m.Data = body
	m.Header.Set(nats.ExpectedLastSubjSeqHdr, "0")
	answer, err := nc.RequestMsgWithContext(ctx, m)
	if err != nil {
		return fmt.Errorf("eventstore: yardstick: %w", err)
	}
	var ack jetstream.PubAck
	if err := json.Unmarshal(answer.Data, &ack); err != nil || ack.Sequence == 0 {
		return fmt.Errorf("eventstore: yardstick: answer %s", answer.Data)
	}
	return nil
}

// Size is what the log takes on the disk.
type Size struct {
	Bytes  uint64 // of the groups, as the server counts them
	Groups uint64
	Events uint64
	// EventBytes is the mean size of an event before compression, in bytes, over the groups in memory.
	EventBytes int
}

// Size returns what the log takes on the disk, without deliveries.
func (s *Store) Size(ctx context.Context) (Size, error) {
	var all Size
	segments, err := s.listSegments(ctx)
	if err != nil {
		return all, err
	}
	delete(segments, deliveryShard)
	for _, infos := range segments {
		for _, info := range infos {
			all.Bytes, all.Groups = all.Bytes+info.State.Bytes, all.Groups+info.State.Msgs
		}
	}
	bytes, frames := 0, 0
	for _, h := range s.shard {
		h.mu.Lock()
		all.Events += h.head.Events
		for _, g := range h.recent {
			bytes, frames = bytes+g.Size, frames+len(g.Frames)
		}
		h.mu.Unlock()
	}
	all.EventBytes = bytes / max(1, frames)
	return all, nil
}
