package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"payledger/eventstore/backup"
	"payledger/eventstore/cache"
	"payledger/eventstore/checkpointlog"
	"payledger/eventstore/disk"
	"payledger/eventstore/external"
	"payledger/eventstore/folder"
	"payledger/eventstore/format"
	"payledger/eventstore/handover"
	"payledger/eventstore/jetapi"
	"payledger/eventstore/ownership"
	"payledger/eventstore/secretlog"
	"payledger/eventstore/tipstore"
)

// Numbers of shards of a new log. Shards sync their groups concurrently; fewer shards have larger
// groups, which cost less CPU time for an event. Payments/s at 64 connections with fsyncs of 0.1
// and of 2 ms, on two cores: 1 shard 1,359 and 962, 2 shards 1,399 and 1,236, 4 shards 1,123 and
// 991, 8 shards 991 and 1,081. On replicas a group is a round of Raft: deploy/SCALING.md has three
// shards beside eight.
const (
	DefaultShards        = 2
	DefaultClusterShards = 3 // of an external cluster: each of its servers leads some
)

// DefaultMemory is the size of a store's caches, in bytes.
const DefaultMemory = 256 << 20

// Server is an embedded server, as package embedded starts it. An interface, so that programs
// without such a server do not link it.
type Server interface {
	Connect(options ...nats.Option) (*nats.Conn, error)
	Folder() string // of its streams
}

// Config is the configuration of a Store. Exactly one of Server and External is set.
type Config struct {
	Server       Server               // embedded: this store locks its folder, and no other store appends
	External     external.Access      // an external cluster, which several nodes share
	Shards       int                  // of a new log; 0 takes the default, or the number of an existing log
	Replicas     int                  // of a new log's streams on an external cluster; 0 makes no log there
	Placement    *jetstream.Placement // which servers may hold a new log's streams; nil: all
	ReadOnly     bool                 // append nothing, not even empty groups: for tools that read a stopped server's log
	Now          func() time.Time     // the clock of all times in the log
	Random       io.Reader
	Logger       zerolog.Logger
	Memory       int64 // bytes that the store's caches may use in all; 0 takes DefaultMemory
	SegmentBytes int64 // the size from which a segment is closed; 0 takes DefaultSegmentBytes
	SecretBytes  int64 // the size from which SECRETS continues in a new segment; 0 takes 64 MiB
	// MajorityReads: every read of the newest state waits for a majority's acknowledgement of a
	// group. It rests on no clock.
	MajorityReads bool
	Clock         func() ownership.Reading // of leases; nil: the machine's clock (tests)
	// ReadTimeout bounds one read from the server; 0 takes jetapi.ReadTimeout. An embedded server
	// that leaves writes without an answer for so long beyond jetapi.PublishTimeout, at most 15 s
	// in all, has lost its disk. A look at the newest block before a group is sent takes at most as
	// long, and is not part of that time. Tests on a busy machine take more.
	ReadTimeout time.Duration
	Options     []nats.Option // added to the connection's (tests cut it)
	// Secret, if set, checks a secret of the external log before anything there is changed. For
	// Server, embedded.Config has the check.
	Secret secretlog.Check
	// Tips is the folder of the tip store. "" takes the embedded server's folder, and memory on an
	// external cluster.
	Tips  string
	Timed Timed // gets durations; nil: none
	// Progress, if set, gets the applied events and the events of the log at intervals, while Open
	// updates the tip store.
	Progress func(done, of uint64)
}

// Store appends to and reads from the log. All methods may be called from many goroutines.
type Store struct {
	nc       *nats.Conn
	api      *jetapi.Client
	guard    *folder.Guard // of the folder of an embedded server
	log      zerolog.Logger
	now      func() time.Time
	random   io.Reader
	id       format.LogID
	shards   int
	replicas int
	readOnly bool
	// The server is embedded, and no other process appends; else the log is on an external cluster.
	sole     bool
	progress func(done, of uint64)
	timed    Timed // nil: none
	dial     func() (*nats.Conn, error)

	shard         []*shard // of the log
	records       *shard   // of the records of deliveries
	covers        *shard   // of the checkpoints
	tips          *tipstore.Store
	tipsFixed     bool       // the tip store is not written: the folder is only read
	leaveTips     bool       // the tip store in the folder is damaged; one for reading makes its own in memory
	writing       sync.Mutex // one writer of the tip store
	tipsSize      int        // bytes that the next write of tips may have; guarded by writing
	secretWitness secretlog.Witness
	secretBytes   uint64                                     // of Config
	recentEvents  *cache.Cache[format.Key, *format.Recorded] // the newest events of aggregates
	groups        *cache.Cache[groupPlace, cachedGroup]
	dirtyLimit    int // bytes of tips that a shard keeps before they are flushed
	segmentBytes  uint64
	pipelineFrom  int
	flush         chan struct{}
	opening       bool // nothing is appended yet
	starting      atomic.Bool

	openingSecrets sync.Mutex
	secrets        *secretlog.Stream
	checkpoints    *checkpointlog.Log

	scrub scrub
	membership
	hold handover.Hold // of back-ups

	sick     atomic.Pointer[error]
	sickened chan struct{} // closed when sick is set
	fatal    chan error
	disk     disk.Space
	damaged  atomic.Pointer[error] // of one shard: the others take appends
	closing  atomic.Bool
	life     context.Context // ends with Close
	stop     context.CancelFunc
	gone     <-chan struct{} // of life
	loops    sync.WaitGroup
}

// Open connects, creates the streams of a new log or checks those of an existing log, brings the
// tip store up to the end of the log, and makes all readable groups durable. If it finds the tip
// store damaged, it makes the store again from the log.
func Open(ctx context.Context, c Config) (*Store, error) {
	s, err := open(ctx, c, false)
	if errors.Is(err, tipstore.ErrDamaged) { // its folder is marked: the second open replaces it, or leaves it alone
		c.Logger.Warn().Err(err).Msg("the tip store is not used: the newest states of all payments are read from the log, which takes a while")
		s, err = open(ctx, c, true)
	}
	return s, err
}

func open(ctx context.Context, c Config, leaveTips bool) (*Store, error) {
	nc, err := connect(c)
	if err != nil {
		return nil, fmt.Errorf("eventstore: connect: %w", err)
	}
	memory := cmp.Or(c.Memory, DefaultMemory)
	s := &Store{
		nc: nc, api: &jetapi.Client{Conn: nc, ReadTimeout: c.ReadTimeout}, log: c.Logger, now: c.Now, random: c.Random, readOnly: c.ReadOnly, sole: c.Server != nil, progress: c.Progress, timed: c.Timed,
		dial:  func() (*nats.Conn, error) { return connect(c) },
		fatal: make(chan error, 1), sickened: make(chan struct{}), flush: make(chan struct{}, 1), opening: true, leaveTips: leaveTips,
		recentEvents: newRecent(recentSize(memory)), groups: newGroups(int(memory / 16)), segmentBytes: uint64(c.SegmentBytes), secretBytes: uint64(c.SecretBytes), pipelineFrom: defaultPipelineFrom,
	}
	s.membership.majority, s.clock = c.MajorityReads, c.Clock
	if s.clock == nil {
		s.clock = machineClock
	}
	if s.sole {
		s.disk.Dir = c.Server.Folder()
	}
	if s.segmentBytes == 0 {
		s.segmentBytes = DefaultSegmentBytes
	}
	s.life, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	s.gone = s.life.Done()
	s.starting.Store(true)
	defer s.starting.Store(false)
	if err := s.open(ctx, c, memory); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func connect(c Config) (*nats.Conn, error) {
	if c.Server != nil {
		return c.Server.Connect(c.Options...)
	}
	return c.External.Connect(append(jetapi.External(), c.Options...)...)
}

func (s *Store) open(ctx context.Context, c Config, memory int64) error {
	if s.nc.MaxPayload() < minPayload {
		return fmt.Errorf("eventstore: the server takes messages of %d bytes; set max_payload to %d or more", s.nc.MaxPayload(), minPayload)
	}
	var err error
	if s.api.JS, err = jetstream.New(s.nc, jetstream.WithDefaultTimeout(s.api.Patience())); err != nil {
		return fmt.Errorf("eventstore: %w", err)
	}
	if c.Secret != nil {
		if err := secretlog.CheckServer(ctx, s.api, c.Secret); err != nil {
			return err
		}
	}
	if err := s.openStreams(ctx, c); err != nil {
		return err
	}
	s.dirtyLimit = int(memory) / 8 / s.shards
	s.api.Replicas = s.replicas
	if s.sole {
		s.guard = folder.NewGuard(s.disk.Dir, s.api.Patience(), time.Now)
	}
	if err := s.api.OpenReaders(s.shards+3, s.dial); err != nil {
		return err
	}
	if err := s.openTips(c, memory/8+memory/2-int64(recentSize(memory))); err != nil {
		return err
	}
	if err := s.restoreTips(ctx); err != nil {
		return err
	}
	s.checkpoints = checkpointlog.New(checkpointlog.Config{
		Shard: records{s.covers}, Shards: s.shards, Sole: s.sole, Now: s.Now, Log: s.log,
		Groups: s.Groups, Room: s.room, Gone: s.gone, Damaged: s.Damaged,
	})
	if err := s.checkCheckpoint(ctx); err != nil {
		return err
	}
	if err := s.openHandover(ctx); err != nil {
		return err
	}
	s.loops.Go(s.flushTips)
	s.loops.Go(func() { s.watch(s.life) })
	if !s.sole && !s.readOnly {
		for _, h := range s.all() {
			s.loops.Go(func() { h.tail(s.life) })
		}
	}
	if s.readOnly {
		return nil
	}
	// The first checkpoint of every start from this log ends here: a back-up of the stopped folder
	// gives the same positions (D22.10).
	if s.sole {
		s.checkpoints.Bound(s.ends(&backup.Cut{}))
		s.scrub.s = s
		s.loops.Go(func() { s.scrub.run(s.life) })
	}
	return nil
}

// Checkpoints returns the checkpoints.
func (s *Store) Checkpoints() *checkpointlog.Log { return s.checkpoints }

// OpenSecrets opens the stream of secrets; every call returns the same one.
func (s *Store) OpenSecrets(ctx context.Context) (*secretlog.Stream, error) {
	s.openingSecrets.Lock()
	defer s.openingSecrets.Unlock()
	if s.secrets != nil {
		return s.secrets, nil
	}
	b, err := secretlog.Open(ctx, secretlog.Config{
		API: s.api, Sole: s.sole, ReadOnly: s.readOnly, Bytes: s.secretBytes, Witness: &s.secretWitness,
		Tips: s.tips, Fixed: s.tipsFixed, Folder: s.disk.Dir, Guard: s.guard, Stream: s.segmentConfig, Reader: s.shards + 1,
		Fail: s.markUnhealthy, Log: s.log, Room: s.room, Life: s.life,
	})
	if err != nil {
		return nil, err
	}
	s.secrets = b
	return b, nil
}

// Shards is the number of shards of the log.
func (s *Store) Shards() int { return s.shards }

// all returns the shards of the log, and those of the records beside it.
func (s *Store) all() []*shard {
	if s.covers == nil { // it is being opened
		return s.shard
	}
	return append(s.shard[:len(s.shard):len(s.shard)], s.records, s.covers)
}

// byNumber returns a shard; nil if the log has no such shard.
func (s *Store) byNumber(n int) *shard {
	for _, h := range s.all() {
		if h.n == n {
			return h
		}
	}
	return nil
}

func (s *Store) inShard(n int, err error, take func(*shard)) {
	h := s.byNumber(n)
	if err != nil || h == nil {
		s.log.Warn().Err(err).Int("shard", n).Msg("a message of another node is unreadable")
		return
	}
	take(h)
}

// ID is the log's id.
func (s *Store) ID() format.LogID { return s.id }

// Node is the name of this process among those of a cluster; "" with an embedded server.
func (s *Store) Node() string { return s.node }

// Now is the store's clock, in UTC to the microsecond: the resolution of every time in the log.
func (s *Store) Now() time.Time { return s.now().UTC().Truncate(time.Microsecond) }

// Sole reports whether no other process writes to the log.
func (s *Store) Sole() bool { return s.sole }

// Fatal returns the channel of the one error after which the process must stop: the disk no longer
// keeps writes.
func (s *Store) Fatal() <-chan error { return s.fatal }

// Hurry ends the waits of the tip store for a disk that is full or fails. Close follows.
func (s *Store) Hurry() {
	if s.tips != nil {
		s.tips.Hurry()
	}
}

// Close ends the store's own work and its connection. Appends under way fail. A second call does
// nothing.
func (s *Store) Close() error {
	if s.closing.Swap(true) {
		return nil
	}
	s.stop()
	s.sendAll() // the store is closing: this refuses the waiting drafts
	s.Hurry()
	s.loops.Wait()
	s.api.Close()
	var errs []error
	if s.tips != nil {
		err := errors.Join(s.writeTips(), s.tips.Close())
		if err != nil && (s.disk.None() || errors.Is(err, syscall.ENOSPC)) { // the next start reads the missing part from the log
			s.log.Warn().Err(err).Msg("the tip store could not be written: the disk is full")
			err = nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// maxRecent is the largest size of the cache of newest events, in bytes. The cache is full of
// pointers: with a heap of 324 MB, a garbage collection took 0.35 s of CPU time, and requests
// waited. The tip store's blocks, which have no pointers, get the rest of Memory.
const maxRecent = 24 << 20

func recentSize(memory int64) int { return int(min(memory/2, maxRecent)) }

// newRecent returns a cache of newest events, bounded by its size in memory. Events are immutable
// and shared. An event in the cache is never an old one: every applied event enters the cache.
func newRecent(capacity int) *cache.Cache[format.Key, *format.Recorded] {
	return cache.New[format.Key](capacity, (*format.Recorded).Size, func(a, b *format.Recorded) bool { return a.Seq < b.Seq })
}
