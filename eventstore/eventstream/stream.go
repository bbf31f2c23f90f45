package eventstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

var (
	// ErrMissing means that there is no stream.
	ErrMissing = errors.New("eventstream: there is no stream EVENTS")
	// ErrConflict means that another writer wrote the message, or that a message before it is
	// missing: read State again.
	ErrConflict = errors.New("eventstream: the message is not the next one")
	// ErrFailed means that the server cannot store or read messages until Restart.
	ErrFailed = errors.New("eventstream: the server for analysts has failed")
)

// Name is the name of the stream.
const Name = "EVENTS"

// Stream is a writer's connection to the stream EVENTS. Its methods must not be called at the same
// time.
type Stream struct {
	server *Server
	conn   *nats.Conn
	js     jetstream.JetStream
	window window
	stored jetstream.Stream // for reads of messages; nil before the first one
}

// Connect returns a connection to the stream, which may be missing.
func (s *Server) Connect() (*Stream, error) {
	s.mu.Lock()
	ns, failed := s.ns, s.failed
	s.mu.Unlock()
	if failed != nil {
		return nil, fmt.Errorf("%w: %w", ErrFailed, failed)
	}
	conn, err := s.connect(ns)
	if err != nil {
		return nil, err
	}
	js, err := jetstream.New(conn, jetstream.WithPublishAsyncMaxPending(2*windowMessages), jetstream.WithPublishAsyncTimeout(requestTimeout))
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("%w: %w", ErrFailed, err)
	}
	return &Stream{server: s, conn: conn, js: js}, nil
}

// Close closes the connection. The server may lose messages without a successful Flush.
func (e *Stream) Close() { e.conn.Close() }

const requestTimeout = 30 * time.Second

// State is the range of the stream's messages.
type State struct {
	First uint64 // position of the first message; Last+1 in an empty stream
	Last  uint64 // position of the newest message, also if that message was dropped
	Whole bool   // the server knows of no missing or damaged message in between
}

// State returns the stream's range. ErrMissing: there is no stream, or it has another
// configuration.
func (e *Stream) State(ctx context.Context) (State, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	info, err := e.info(ctx)
	if err != nil {
		return State{}, err
	}
	if want := config(0, 0); info.Config.Storage != want.Storage || !reflect.DeepEqual(info.Config.Subjects, want.Subjects) || info.Config.Mirror != nil {
		return State{}, ErrMissing
	}
	state := State{First: info.State.FirstSeq, Last: info.State.LastSeq}
	if info.State.Msgs == 0 {
		state.First = state.Last + 1
	}
	state.Whole = info.State.Msgs == state.Last+1-state.First && info.State.NumDeleted == 0
	return state, nil
}

func (e *Stream) info(ctx context.Context) (*jetstream.StreamInfo, error) {
	stream, err := e.js.Stream(ctx, Name)
	if err != nil {
		return nil, failure(err)
	}
	return stream.CachedInfo(), nil
}

// config returns the stream's configuration. The first message has the position first. Messages
// older than retention are dropped; 0 keeps all.
func config(first uint64, retention time.Duration) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: Name, Description: "payledger's events; the sequence is the position", Subjects: []string{"events.>"},
		Storage: jetstream.FileStorage, Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardOld, MaxAge: retention,
		MaxMsgSize: serverPayload, DenyDelete: true, DenyPurge: true, Compression: jetstream.S2Compression, FirstSeq: first,
	}
}

// Create drops an existing stream, and creates an empty stream whose first message will have the
// position first, at least 1.
func (e *Stream) Create(ctx context.Context, first uint64, retention time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if err := e.js.DeleteStream(ctx, Name); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return failure(err)
	}
	if err := os.RemoveAll(e.server.folder()); err != nil {
		return fmt.Errorf("%w: %w", ErrFailed, err)
	}
	if _, err := e.js.CreateStream(ctx, config(first, retention)); err != nil {
		return failure(err)
	}
	return nil
}

// Retain changes the retention of the stream.
func (e *Stream) Retain(ctx context.Context, retention time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	info, err := e.info(ctx)
	if err != nil || info.Config.MaxAge == retention {
		return err
	}
	changed := info.Config
	changed.MaxAge = retention
	if changed.Duplicates > retention && retention > 0 {
		changed.Duplicates = retention
	}
	if _, err := e.js.UpdateStream(ctx, changed); err != nil {
		return failure(err)
	}
	return nil
}

// Has reports whether the stream has exactly this message.
func (e *Stream) Has(ctx context.Context, m Message) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if e.stored == nil { // js.Stream requests the stream's state
		var err error
		if e.stored, err = e.js.Stream(ctx, Name); err != nil {
			return false, failure(err)
		}
	}
	stored, err := e.stored.GetMsg(ctx, m.Position)
	var refused *jetstream.APIError
	if errors.As(err, &refused) && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return false, nil // damaged or missing
	}
	if err != nil {
		return false, failure(err)
	}
	want := m.encode()
	return stored.Subject == want.Subject && bytes.Equal(stored.Data, want.Data) && reflect.DeepEqual(stored.Header, want.Header), nil
}

func failure(err error) error {
	var refused *jetstream.APIError
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return ErrMissing
	case errors.As(err, &refused) && refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence:
		return ErrConflict
	case errors.Is(err, context.Canceled):
		return err
	}
	return fmt.Errorf("%w: %w", ErrFailed, err)
}
