package eventstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// DefaultShards is the number of shard streams of a new log. One-replica streams sync once per message
// and one at a time; shards sync side by side (measurements in doc.go).
const DefaultShards = 8

// Config says where the log is. Exactly one of Server and URL is set.
type Config struct {
	Server   *Server // an embedded server
	URL      string  // an external server or cluster
	Creds    string  // credentials file for URL; "" for none
	Shards   int     // of a new log; 0 takes DefaultShards or what the log has
	Replicas int     // of a new log's streams; 0 is 1
	ReadOnly bool    // append nothing, not even barriers: for a look at a stopped server's log
	Now      func() time.Time
	Random   io.Reader
	Logger   zerolog.Logger
	// SoleWriter says that nobody else appends to this log: newest events are then remembered.
	SoleWriter bool
	// Options are added to the connection's (tests cut it).
	Options []nats.Option
}

// Store appends to and reads from the log. All methods may be called from many goroutines.
type Store struct {
	nc         *nats.Conn
	readers    readers
	tips       *tips   // nil unless this is the sole writer
	tails      []*tail // per shard; nil likewise
	js         jetstream.JetStream
	log        zerolog.Logger
	now        func() time.Time
	random     io.Reader
	shards     int
	replicas   int
	readOnly   bool
	embedded   *Server // nil: an external server
	dial       func() (*nats.Conn, error)
	durable    []*durability // per shard
	fixed      *durability   // of the checkpoints
	delivered  *durability   // of the deliveries
	deliveries deliveryGroup
	sick       atomic.Pointer[error]
	fatal      chan error
	full       atomic.Bool
	direct     []string // request subjects, made once per shard
	leader     []string
	stop       context.CancelFunc
	done       chan struct{}
}

// clientOptions turn off everything that would send an event again, or later, on its own.
func clientOptions() []nats.Option {
	return []nats.Option{
		nats.ReconnectBufSize(-1), nats.MaxReconnects(-1), nats.ReconnectWait(100 * time.Millisecond),
		nats.NoCallbacksAfterClientClose(), nats.Name("payledger"),
	}
}

// Open connects, creates the streams of a new log or checks those of an existing one, and makes sure
// that everything readable is durable before anybody acts on it.
func Open(ctx context.Context, c Config) (*Store, error) {
	nc, err := connect(c)
	if err != nil {
		return nil, fmt.Errorf("eventstore: connect: %w", err)
	}
	s := &Store{
		nc: nc, log: c.Logger, now: c.Now, random: c.Random, readOnly: c.ReadOnly, embedded: c.Server,
		dial: func() (*nats.Conn, error) { return connect(c) }, fixed: newDurability(), delivered: newDurability(), fatal: make(chan error, 1), done: make(chan struct{}),
	}
	if err := s.open(ctx, c); err != nil {
		nc.Close()
		return nil, errors.Join(err, s.readers.close())
	}
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	go s.watch(background)
	return s, nil
}

func connect(c Config) (*nats.Conn, error) {
	if c.Server != nil {
		return c.Server.connect(c.Options...)
	}
	opts := append(clientOptions(), c.Options...)
	if c.Creds != "" {
		opts = append(opts, nats.UserCredentials(c.Creds))
	}
	return nats.Connect(c.URL, opts...)
}

func (s *Store) open(ctx context.Context, c Config) error {
	if s.nc.MaxPayload() < minPayload {
		return fmt.Errorf("eventstore: the server takes messages of %d bytes; set max_payload to %d or more", s.nc.MaxPayload(), minPayload)
	}
	js, err := jetstream.New(s.nc)
	if err != nil {
		return fmt.Errorf("eventstore: %w", err)
	}
	s.js = js
	if err := s.openStreams(ctx, c); err != nil {
		return err
	}
	for shard := range s.shards {
		s.direct = append(s.direct, "$JS.API.DIRECT.GET."+streamName(shard)+".")
		s.leader = append(s.leader, "$JS.API.STREAM.MSG.GET."+streamName(shard))
		s.durable = append(s.durable, newDurability())
	}
	if s.readers, err = openReaders(c, s.shards); err != nil {
		return err
	}
	if c.SoleWriter {
		s.tips = newTips()
		for range s.shards {
			s.tails = append(s.tails, &tail{})
		}
		for shard := range s.shards {
			s.tips.doubt(barrierKey(shard, s.shards)) // barriers are published past what is remembered
		}
	}
	if err := s.checkStreams(ctx); err != nil {
		return err
	}
	if c.ReadOnly {
		return nil
	}
	if err := s.fence(ctx); err != nil {
		return err
	}
	return s.fenceCheckpoints(ctx)
}

// Shards is the number of shards of the log.
func (s *Store) Shards() int { return s.shards }

// Now is the store's clock, in UTC to the microsecond: the resolution of every time in the log.
func (s *Store) Now() time.Time { return s.now().UTC().Truncate(time.Microsecond) }

// Fatal gives the one error after which the process must stop: the disk no longer keeps what is read.
func (s *Store) Fatal() <-chan error { return s.fatal }

// Healthy is nil while the log may be appended to.
func (s *Store) Healthy() error {
	if err := s.sick.Load(); err != nil {
		return *err
	}
	if !s.nc.IsConnected() {
		return fmt.Errorf("%w: not connected", ErrUnhealthy)
	}
	return nil
}

// fail marks the log as unhealthy for good and, for a disk that lost its word, asks for the process to stop.
func (s *Store) fail(err error, stop bool) {
	if !errors.Is(err, ErrUnhealthy) {
		err = fmt.Errorf("%w: %w", ErrUnhealthy, err)
	}
	if s.sick.CompareAndSwap(nil, &err) {
		s.log.Error().Err(err).Msg("the log is not healthy: no more appends")
	}
	if stop {
		select {
		case s.fatal <- err:
		default:
		}
	}
}

// Close ends the store's own work and its connection. Appends under way fail.
func (s *Store) Close() error {
	s.stop()
	<-s.done
	s.nc.Close()
	return s.readers.close()
}

// isDeadline tells a deadline of ours from a failure.
func isDeadline(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || errors.Is(err, nats.ErrTimeout)
}
