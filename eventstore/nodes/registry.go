package nodes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"payledger/eventstore/due"
	"payledger/eventstore/jetapi"
)

// Stream is the stream of the records.
const (
	Stream = "NODES"
	root   = "payledger.nodes."
	// hurrySubject carries positions that a caller waits for.
	hurrySubject = "payledger.hurry"
	tellSubject  = "payledger.tell"
)

// The usual times. A node that is cut off answers 503 after DefaultLease, and other nodes wait for
// it DefaultSilence long. Work is taken over earlier: at the latest after DefaultAbsence and two
// beats.
const (
	DefaultBeat    = time.Second
	DefaultTenure  = 5 * time.Second
	DefaultAbsence = 6 * time.Second
	DefaultLease   = 9 * time.Second
	DefaultSilence = 10 * time.Second
)

// DefaultReadTime is the usual time for a read of the records.
const DefaultReadTime = 3 * time.Second

// ErrCutOff means that this node has no lease: it did not reach the majority of the NATS servers
// for a while.
var ErrCutOff = errors.New("this node is cut off from the other nodes")

// ErrUnfit means that this node gave up its lease, because it does not apply the log.
var ErrUnfit = errors.New("this node does not apply the log")

// Config is the configuration of a Registry.
type Config struct {
	API    *jetapi.Client
	Reader int    // of API, for look-ups
	Self   Record // Node, Address and Build
	// Applied returns how far this node has applied each shard.
	Applied func() []uint64
	// Acknowledged returns the address of the newest event of each shard that this node knows to be
	// durable.
	Acknowledged func() []uint64
	// Settle returns when this node does nothing more that it decided before it had applied what
	// Applied returned.
	Settle func()
	// WaitFor waits until this node has applied a position.
	WaitFor func(ctx context.Context, position []uint64) error
	// CatchUp waits until this node has applied everything that any node acknowledged before the
	// call, by the log itself.
	CatchUp func(ctx context.Context) error
	// Healthy returns an error once this node applies nothing any more.
	Healthy func() error
	// Now is the time of day. Only Ahead uses it.
	Now func() time.Time
	// Clock returns a monotonic reading; nil: the machine's clock.
	Clock                                 func() time.Duration
	Beat, Tenure, Absence, Lease, Silence time.Duration // 0: the usual times
	// ReadTime bounds the reads after a beat, and one request for the stream itself; 0:
	// DefaultReadTime.
	ReadTime time.Duration
	Logger   zerolog.Logger
}

// Registry is this node's membership, and what it knows of the other nodes. A nil Registry is that
// of a node that is alone by its configuration: it always has a lease, and nothing waits.
type Registry struct {
	Config
	stream jetstream.Stream
	subs   []*nats.Subscription
	kick   chan struct{} // a beat is due at once
	loops  sync.WaitGroup
	life   context.Context // ends with Close
	stop   context.CancelFunc

	rounds sync.Mutex    // one beat at a time
	asking chan struct{} // one question of Ends at a time

	mu       sync.Mutex
	state    State
	seq      uint64        // of this node's newest record; 0: none
	until    time.Duration // end of the lease
	day      timeOfDay
	work     work             // what this node owns, and what it knows of the work of others
	open     bool             // the log was applied after the last join
	entered  chan struct{}    // closed when open is set
	rounded  chan struct{}    // closed and replaced when all records as of a beat were read
	counted  counted          // see Ends
	answers  answers          // the newest ones of Ends
	joins    int              // of this node, as a serving one
	entering int              // the join after which the log is being applied
	wanted   bool             // Serve was called
	unfit    error            // the reason why this node may not serve
	owed     []debt           // positions that other nodes wait for, oldest first
	peers    map[string]*peer // the other nodes, without ended ones
	ended    []Record         // records of ended nodes, oldest first
}

type peer struct {
	Record
	since   time.Duration // the record was first seen
	missing bool          // the newest read had no record of the node
	lost    bool          // counted in work.lost
}

// debt is a position that another node waits for.
type debt struct {
	position []uint64
	since    time.Duration // the first request for it
}

// Open joins the registry as a starting node, and keeps the record up to date until Close. It makes
// the stream if it does not exist.
func Open(ctx context.Context, c Config) (*Registry, error) {
	c.Beat, c.Lease, c.Silence = cmp.Or(c.Beat, DefaultBeat), cmp.Or(c.Lease, DefaultLease), cmp.Or(c.Silence, DefaultSilence)
	c.ReadTime = cmp.Or(c.ReadTime, DefaultReadTime)
	c.Tenure, c.Absence = cmp.Or(c.Tenure, DefaultTenure), cmp.Or(c.Absence, DefaultAbsence)
	if c.Clock == nil {
		c.Clock = Clock
	}
	r := &Registry{Config: c, kick: make(chan struct{}, 1), state: Starting, peers: map[string]*peer{}, entered: make(chan struct{}), rounded: make(chan struct{}), asking: make(chan struct{}, 1), answers: answers{silent: map[string]uint64{}}}
	r.life, r.stop = context.WithCancel(context.WithoutCancel(ctx))
	making, cancel := context.WithTimeout(ctx, r.Silence)
	// Several nodes that start at once make it, and one sees it later than another.
	err := r.surely(making, func() error { return r.makeStream(making) })
	cancel()
	if err == nil {
		err = r.hear(hurrySubject, func(m *nats.Msg) { r.owe(m.Data) })
	}
	if err == nil {
		err = r.hear(endsSubject, r.answerEnds)
	}
	if err == nil {
		first, cancel := context.WithTimeout(ctx, r.Silence)
		err = r.surely(first, func() error { return r.round(r.life) }) // no server answers during an election
		cancel()
	}
	if err != nil {
		leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.Beat)
		defer cancel()
		r.Close(leaving)
		return nil, fmt.Errorf("eventstore: %s: %w", Stream, err)
	}
	r.loops.Go(func() { r.run(r.life) })
	return r, nil
}

// makeStream makes the stream, unless it exists. A request or its answer can be lost in an
// election: the caller tries again.
func (r *Registry) makeStream(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, r.ReadTime)
	defer cancel()
	_, err := r.API.JS.CreateStream(ctx, jetstream.StreamConfig{
		Name: Stream, Subjects: []string{root + "*"}, Storage: jetstream.FileStorage, Replicas: r.API.Replicas, Placement: r.API.Placement,
		MaxMsgsPerSubject: 1, AllowDirect: true, Compression: jetstream.NoCompression,
	})
	if err == nil || errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		r.stream, err = r.API.JS.Stream(ctx, Stream)
	}
	return err
}

func (r *Registry) surely(ctx context.Context, do func() error) error {
	for {
		err := do()
		if err == nil {
			return nil
		}
		if failed := due.Rest(ctx, pause, nil); failed != nil {
			return errors.Join(err, failed)
		}
	}
}

// Serve returns when this node may answer requests: its record says so, and it has applied the log.
func (r *Registry) Serve(ctx context.Context) error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	r.wanted = true
	entered := r.entered
	r.mu.Unlock()
	due.Signal(r.kick)
	select {
	case <-entered:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("eventstore: %s: %w", Stream, ctx.Err())
	}
}

// Valid returns nil while this node may answer requests and act, else ErrCutOff or ErrUnfit.
func (r *Registry) Valid() error {
	if r == nil {
		return nil
	}
	failure := r.Healthy()
	now := r.Clock()
	r.mu.Lock()
	defer r.mu.Unlock()
	switch failure = cmp.Or(failure, r.unfit); {
	case failure != nil:
		return fmt.Errorf("%w: %w", ErrUnfit, failure)
	case !r.open || now >= r.until:
		return ErrCutOff
	}
	return nil
}

// Live returns the records of the nodes that this node knows to be starting or serving, itself
// included, by id.
func (r *Registry) Live() []Record {
	if r == nil {
		return nil
	}
	own, _ := r.own()
	r.mu.Lock()
	defer r.mu.Unlock()
	all := []Record{own}
	for _, p := range r.peers {
		all = append(all, p.clone())
	}
	slices.SortFunc(all, func(a, b Record) int { return cmp.Compare(a.Node, b.Node) })
	return all
}

// Reads returns the newest schema of an aggregate that every live node reads; 0: a node does not
// know the aggregate. A node that joins later with an older build refuses the aggregates with a
// newer schema.
func (r *Registry) Reads(aggregate string) int {
	newest := math.MaxInt
	for _, node := range r.Live() {
		newest = min(newest, node.Build.Schemas[aggregate])
	}
	return newest
}

// ReadsHeader returns the newest level of the header of groups that every live node reads. It must
// not wait: each group asks for it.
func (r *Registry) ReadsHeader() int {
	newest := max(1, r.Self.Build.Header)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.peers {
		newest = min(newest, max(1, p.Build.Header))
	}
	return newest
}

// Serving returns the number of nodes that serve, this node included: at least 1.
func (r *Registry) Serving() int {
	n := 1
	if r == nil {
		return n
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.peers {
		if p.State == Serving {
			n++
		}
	}
	return n
}

// Sharing returns the ids of the nodes that serve, this one included if it does, and those of them
// that own no shard while another one serves. It must not wait, as ReadsHeader.
func (r *Registry) Sharing() (serving, guests []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	add := func(id string, state State, role Role) {
		if state == Serving {
			serving = append(serving, id)
		}
		if state == Serving && !role.OwnsShards() {
			guests = append(guests, id)
		}
	}
	add(r.Self.Node, r.state, r.Self.Role)
	for id, p := range r.peers {
		add(id, p.State, p.Role)
	}
	return serving, guests
}

func (r *Registry) own() (record Record, joins int) {
	record = r.Self
	record.Schema, record.Applied = recordSchema, r.Applied()
	r.mu.Lock()
	defer r.mu.Unlock()
	record.State = r.state
	return record, r.joins
}

// Close ends the membership. Other nodes do not wait for this node any more, unless ctx ends before
// the record is written: then they end it themselves after Silence.
func (r *Registry) Close(ctx context.Context) {
	if r == nil {
		return
	}
	r.mu.Lock()
	left := r.state == Ended
	r.state, r.open = Ended, false
	subs := r.subs
	r.mu.Unlock()
	if left {
		return
	}
	r.stop()
	for _, sub := range subs {
		_ = sub.Unsubscribe() // it fails only without a connection, and then there is no subscription
	}
	r.loops.Wait()
	err := r.surely(ctx, func() error { // the last beat may be stored without an answer: then the first try finds it
		_, err := r.beat(ctx)
		return err
	})
	if err != nil {
		r.Logger.Debug().Err(err).Msg("the record of this node was not ended")
	}
}
