package eventstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Yardstick measures what this machine's disk and server give at best: n plain messages of the given size,
// published to as many streams as the log has shards by the given number of writers, each waiting for its
// PubAck. It uses streams of its own, configured like the log's, and removes them. The result is messages
// a second: the ceiling that every figure of the ledger is a ratio of.
func (s *Store) Yardstick(ctx context.Context, writers, n, size int) (perSecond float64, err error) {
	streams := make([]string, s.shards)
	for i := range streams {
		name := "YARDSTICK_" + strconv.Itoa(i)
		config := s.streamConfig(name, "yardstick."+strconv.Itoa(i)+".*")
		config.DenyDelete, config.DenyPurge = false, false
		if _, err := s.js.CreateStream(ctx, config); err != nil {
			return 0, fmt.Errorf("eventstore: yardstick: %w", err)
		}
		defer func() { err = errors.Join(err, s.js.DeleteStream(context.WithoutCancel(ctx), name)) }()
		streams[i] = name
	}
	body := make([]byte, size)
	start := time.Now()
	errs := make(chan error, writers)
	var running sync.WaitGroup
	for w := range writers {
		running.Go(func() {
			for i := w; i < n; i += writers {
				if err := s.publishPlain(ctx, fmt.Sprintf("yardstick.%d.%d", i%len(streams), i), body); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	running.Wait()
	close(errs)
	return float64(n) / time.Since(start).Seconds(), <-errs
}

func (s *Store) publishPlain(ctx context.Context, subject string, body []byte) error {
	m := nats.NewMsg(subject)
	m.Data = body
	m.Header.Set(nats.ExpectedLastSubjSeqHdr, "0")
	answer, err := s.nc.RequestMsgWithContext(ctx, m)
	if err != nil {
		return fmt.Errorf("eventstore: yardstick: %w", err)
	}
	var ack jetstream.PubAck
	if err := json.Unmarshal(answer.Data, &ack); err != nil || ack.Sequence == 0 {
		return fmt.Errorf("eventstore: yardstick: answer %s", answer.Data)
	}
	return nil
}
