package eventstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"payledger/eventstore/codec"
	"payledger/eventstore/format"
	"payledger/eventstore/jetapi"
)

// Positions of readers that keep none of their own: one small record for each, in a stream beside the log in which
// only the newest of a name is kept.
const (
	positionStream = "POSITIONS"
	positionRoot   = "positions"
)

// PositionStream stores how far readers of the log have come.
type PositionStream struct{ s *Store }

// readerPosition is one record; its schema grows with its shape.
type readerPosition struct {
	Schema int      `json:"schema"`
	Log    []uint64 `json:"log"` // per shard: the last sequence that the reader is done with
}

const positionSchema = 1

// OpenPositions finds or makes the stream.
func (s *Store) OpenPositions(ctx context.Context) (*PositionStream, error) {
	_, err := s.js.Stream(ctx, positionStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) && !s.readOnly {
		_, err = s.js.CreateStream(ctx, jetstream.StreamConfig{
			Name: positionStream, Subjects: []string{positionRoot + ".*"}, Storage: jetstream.FileStorage,
			Replicas: s.replicas, MaxMsgsPerSubject: 1, Compression: jetstream.NoCompression,
		})
	}
	if err != nil {
		return nil, fmt.Errorf("eventstore: %s: %w", positionStream, err)
	}
	return &PositionStream{s}, nil
}

// Load gives a reader's position; one that has none has read nothing.
func (p *PositionStream) Load(ctx context.Context, reader string) ([]uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, jetapi.ReadTimeout)
	defer cancel()
	found := readerPosition{Log: make([]uint64, p.s.shards)}
	must := p.s.must(positionStream, reader)
	message, err := p.s.api.AtLeader(ctx, positionStream, jetapi.Get{LastBySubject: positionRoot + "." + reader})
	if errors.Is(err, ErrNotFound) {
		if err = p.s.missing(positionStream, reader, must); errors.Is(err, ErrNotFound) {
			return found.Log, nil
		}
	} else if err == nil {
		err = p.s.older(positionStream, message.Seq, must)
	}
	if err == nil {
		found = readerPosition{}
		err = codec.Unmarshal(message.Data, &found)
	}
	switch {
	case err != nil:
	case found.Schema > positionSchema:
		err = fmt.Errorf("%w: schema %d, known is %d", format.ErrNewerSchema, found.Schema, positionSchema)
	case len(found.Log) != p.s.shards:
		err = fmt.Errorf("it is of a log with %d shards, not %d", len(found.Log), p.s.shards)
	}
	if err != nil {
		return nil, fmt.Errorf("eventstore: position of %s: %w", reader, err)
	}
	return found.Log, nil
}

// Save replaces a reader's position; it is durable when Save returns.
func (p *PositionStream) Save(ctx context.Context, reader string, at []uint64) error {
	body, err := codec.Marshal(readerPosition{Schema: positionSchema, Log: at})
	if err != nil {
		return err
	}
	if err := p.s.room(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, jetapi.PublishTimeout)
	defer cancel()
	ack, err := p.s.js.PublishMsg(ctx, &nats.Msg{Subject: positionRoot + "." + reader, Data: body})
	p.s.answered(positionStream, err)
	if err != nil {
		return fmt.Errorf("eventstore: position of %s: %w", reader, err)
	}
	p.s.witnessedNewest(positionStream, ack.Sequence, reader, body)
	return nil
}
