package eventstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go/jetstream"
)

// minPayload must be the server's max_payload at least: an outcome must always fit.
const minPayload = 4 << 20

// metadataShards and metadataFormat stand in the metadata of shard 0: a log is never opened with another
// number of shards than it was made with.
const (
	metadataShards = "payledger-shards"
	metadataFormat = "payledger-format"
	logFormat      = "1"
)

// openStreams finds the log, or makes a new one. Shard 0 is made last: a creation that was cut short is
// done again.
func (s *Store) openStreams(ctx context.Context, c Config) error {
	first, err := s.js.Stream(ctx, streamName(0))
	if err == nil {
		return s.adopt(first.CachedInfo(), c)
	}
	if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("eventstore: %w", err)
	}
	if c.ReadOnly {
		return fmt.Errorf("%w: there is no ledger here", ErrNotFound)
	}
	s.shards, s.replicas = c.Shards, max(1, c.Replicas)
	if s.shards == 0 {
		s.shards = DefaultShards
	}
	checkpoints := s.streamConfig(checkpointStream, checkpointTopic)
	if _, err := s.js.CreateStream(ctx, checkpoints); err != nil {
		return fmt.Errorf("eventstore: create %s: %w", checkpointStream, err)
	}
	for shard := s.shards - 1; shard >= 0; shard-- {
		config := s.streamConfig(streamName(shard), fmt.Sprintf("%s.%d.*.*.*", subjectRoot, shard))
		config.AllowAtomicPublish = true // group commit of many appends; see doc.go
		if shard == 0 {
			config.Metadata = map[string]string{metadataShards: strconv.Itoa(s.shards), metadataFormat: logFormat}
		}
		if _, err := s.js.CreateStream(ctx, config); err != nil {
			return fmt.Errorf("eventstore: create %s: %w", config.Name, err)
		}
	}
	return nil
}

func (s *Store) streamConfig(name, subject string) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: name, Subjects: []string{subject}, Storage: jetstream.FileStorage, Replicas: s.replicas,
		Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardNew, MaxAge: 0,
		DenyDelete: true, DenyPurge: true, AllowDirect: true, Compression: jetstream.NoCompression,
	}
}

// adopt takes the shape of an existing log.
func (s *Store) adopt(info *jetstream.StreamInfo, c Config) error {
	if f := info.Config.Metadata[metadataFormat]; f != logFormat {
		return fmt.Errorf("eventstore: the log has format %q; this build knows %q", f, logFormat)
	}
	shards, err := strconv.Atoi(info.Config.Metadata[metadataShards])
	if err != nil || shards < 1 {
		return fmt.Errorf("eventstore: the log names no number of shards")
	}
	if c.Shards != 0 && c.Shards != shards {
		return fmt.Errorf("eventstore: the log has %d shards, fixed when it was made; --shards %d cannot change that", shards, c.Shards)
	}
	s.shards, s.replicas = shards, info.Config.Replicas
	return nil
}

// checkStreams refuses a log with a hole: a missing message is silent otherwise, and an append that
// expects an empty subject succeeds on it. It runs at start, on every reconnect and hourly.
func (s *Store) checkStreams(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*readTimeout)
	defer cancel()
	var covered []uint64
	if c, err := s.newestCheckpoint(ctx); err == nil {
		covered = c.LastSeq
	} else if !errors.Is(err, ErrNotFound) {
		return err
	}
	for shard := range s.shards {
		stream, err := s.js.Stream(ctx, streamName(shard))
		if err != nil {
			return fmt.Errorf("eventstore: %s: %w", streamName(shard), err)
		}
		state := stream.CachedInfo().State
		if err := checkState(state); err != nil {
			return fmt.Errorf("%w: %s: %w; copy the folder before anything else", ErrUnhealthy, streamName(shard), err)
		}
		if shard < len(covered) && state.LastSeq < covered[shard] {
			return fmt.Errorf("%w: %s ends at %d, but checkpoint says %d; copy the folder before anything else",
				ErrUnhealthy, streamName(shard), state.LastSeq, covered[shard])
		}
	}
	return nil
}

func checkState(state jetstream.StreamState) error {
	switch {
	case state.LastSeq == 0 && state.Msgs == 0:
		return nil
	case state.FirstSeq != 1:
		return fmt.Errorf("begins at sequence %d", state.FirstSeq)
	case state.Msgs != state.LastSeq:
		return fmt.Errorf("holds %d messages of %d", state.Msgs, state.LastSeq)
	case state.NumDeleted != 0:
		return fmt.Errorf("%d messages are missing", state.NumDeleted)
	case state.Lost != nil:
		return fmt.Errorf("%d messages could not be read at start", len(state.Lost.Msgs))
	}
	return nil
}

// CheckReader compares a reader's positions with the log: a log that is shorter than what was read from
// it has lost events.
func (s *Store) CheckReader(ctx context.Context, reader string, positions []uint64) error {
	err := s.confirm(ctx, func(ctx context.Context) error { return s.compareReader(ctx, reader, positions) })
	if errors.Is(err, ErrUnhealthy) {
		s.fail(err, false)
	}
	return err
}

func (s *Store) compareReader(ctx context.Context, reader string, positions []uint64) error {
	if len(positions) > s.shards {
		return fmt.Errorf("%w: %s has read %d shards of %d", ErrUnhealthy, reader, len(positions), s.shards)
	}
	for shard, seq := range positions {
		last, err := s.LastSeq(ctx, shard)
		if err != nil {
			return err
		}
		if last < seq {
			return fmt.Errorf("%w: %s has read %s up to %d, but it ends at %d", ErrUnhealthy, reader, streamName(shard), seq, last)
		}
	}
	return nil
}

// LastSeq is the sequence of the newest event of a shard; 0 when there is none.
func (s *Store) LastSeq(ctx context.Context, shard int) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout) // an answer can be lost with the connection
	defer cancel()
	stream, err := s.js.Stream(ctx, streamName(shard))
	if err != nil {
		return 0, fmt.Errorf("eventstore: %s: %w", streamName(shard), err)
	}
	return stream.CachedInfo().State.LastSeq, nil
}
