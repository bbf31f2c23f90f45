package sidelog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"payledger/eventstore/codec"
	"payledger/eventstore/fault"
	"payledger/eventstore/format"
	"payledger/eventstore/jetapi"
)

const (
	// PositionStream is the stream of positions.
	PositionStream = "POSITIONS"
	positionRoot   = "positions"
	positionSchema = 1
)

// Positions stores the positions of readers that have no store of their own. The stream has the newest record of each reader.
type Positions struct {
	server Server
	index  *Index
	shards int
	room   func() error
}

type position struct {
	Schema int      `json:"schema"`
	Log    []uint64 `json:"log"` // per shard: the last address that the reader is done with
}

// OpenPositions finds or makes the stream. room returns an error while nothing can be written.
func OpenPositions(ctx context.Context, server Server, index *Index, shards int, room func() error) (*Positions, error) {
	_, err := server.JS.Stream(ctx, PositionStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) && !server.ReadOnly && !server.Complete {
		return &Positions{server, index, shards, room}, MakePositions(ctx, server)
	}
	if err != nil {
		return nil, fmt.Errorf("eventstore: %s: %w", PositionStream, err)
	}
	return &Positions{server, index, shards, room}, nil
}

// MakePositions makes the stream. It may exist.
func MakePositions(ctx context.Context, server Server) error {
	_, err := server.JS.CreateStream(ctx, jetstream.StreamConfig{
		Name: PositionStream, Subjects: []string{positionRoot + ".*"}, Storage: jetstream.FileStorage,
		Replicas: server.API.Replicas, Placement: server.API.Placement, MaxMsgsPerSubject: 1, Compression: jetstream.NoCompression,
	})
	if err != nil && !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		return fmt.Errorf("eventstore: create %s: %w", PositionStream, err)
	}
	return nil
}

// NewestPositions returns the newest record of each reader, by reader; nil if the stream does not exist.
func NewestPositions(ctx context.Context, server Server) (map[string][]byte, error) {
	stream, err := server.JS.Stream(ctx, PositionStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, nil
	}
	var info *jetstream.StreamInfo
	if err == nil {
		info, err = stream.Info(ctx, jetstream.WithSubjectFilter(positionRoot+".*"))
	}
	if err != nil {
		return nil, fmt.Errorf("eventstore: %s: %w", PositionStream, err)
	}
	newest := map[string][]byte{}
	for subject := range info.State.Subjects {
		message, err := server.API.AtLeader(ctx, PositionStream, jetapi.Get{LastBySubject: subject})
		if err != nil {
			return nil, fmt.Errorf("eventstore: %s: %w", PositionStream, err)
		}
		newest[RecordName(PositionStream, subject)] = message.Data
	}
	return newest, nil
}

// RestorePositions creates the stream with the newest records of the readers.
func RestorePositions(ctx context.Context, js jetstream.JetStream, replicas int, newest map[string][]byte) error {
	err := MakePositions(ctx, Server{JS: js, API: &jetapi.Client{Replicas: replicas}})
	for _, reader := range slices.Sorted(maps.Keys(newest)) {
		if err == nil {
			_, err = js.PublishMsg(ctx, &nats.Msg{Subject: positionRoot + "." + reader, Data: newest[reader]})
		}
	}
	if err != nil {
		return fmt.Errorf("eventstore: %s: %w", PositionStream, err)
	}
	return nil
}

// Load returns the position of a reader; zeroes if it has none.
func (p *Positions) Load(ctx context.Context, reader string) ([]uint64, error) {
	must := p.index.Must(PositionStream, reader)
	message, err := p.server.API.AtLeader(ctx, PositionStream, jetapi.Get{LastBySubject: positionRoot + "." + reader})
	if errors.Is(err, fault.ErrNotFound) {
		if err = p.index.Missing(PositionStream, reader, must); errors.Is(err, fault.ErrNotFound) {
			return make([]uint64, p.shards), nil
		}
	} else if err == nil {
		err = p.index.Older(PositionStream, message.Seq, must)
	}
	var found position
	if err == nil {
		err = codec.Unmarshal(message.Data, &found)
	}
	switch {
	case err != nil:
	case found.Schema > positionSchema:
		err = fmt.Errorf("%w: schema %d, known is %d", format.ErrNewerSchema, found.Schema, positionSchema)
	case len(found.Log) != p.shards:
		err = fmt.Errorf("it is of a log with %d shards, not %d", len(found.Log), p.shards)
	}
	if err != nil {
		return nil, fmt.Errorf("eventstore: position of %s: %w", reader, err)
	}
	return found.Log, nil
}

// Save replaces the position of a reader. It is durable when Save returns.
func (p *Positions) Save(ctx context.Context, reader string, at []uint64) error {
	body, err := codec.Marshal(position{Schema: positionSchema, Log: at})
	if err != nil {
		return err
	}
	if err := p.room(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, jetapi.PublishTimeout)
	defer cancel()
	ack, err := p.server.JS.PublishMsg(ctx, &nats.Msg{Subject: positionRoot + "." + reader, Data: body})
	p.index.Answered(PositionStream, err)
	if err != nil {
		return fmt.Errorf("eventstore: position of %s: %w", reader, err)
	}
	p.index.Replace(PositionStream, ack.Sequence, reader, body)
	return nil
}
