package notifier

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/eventstore/deliverylog"
	"payledger/eventstore/position"
	"payledger/eventstore/secrets"
	"payledger/eventstore/turns"
	"payledger/notifier/delivery"
	"payledger/notifier/guard"
	"payledger/notifier/health"
	"payledger/notifier/listener"
	"payledger/notifier/message"
	"payledger/notifier/sender"
)

// DefaultGrace is the time that attempts in flight have after Run's context has ended.
const DefaultGrace = 500 * time.Millisecond

// The names of the notifier's own problems, in Notifier.health.
const (
	indexProblem     = "index of deliveries"
	peersProblem     = "deliveries of other processes"
	positionProblem  = "position"
	retentionProblem = "retention of deliveries"
)

// Store is a store with the stream that a notifier writes.
type Store interface {
	eventstore.Store
	Deliveries() *deliverylog.Stream
}

// Config is what a notifier needs. Zero durations take their defaults.
type Config struct {
	Store   Store
	Fanout  *eventstore.Fanout // must not run yet
	Secrets *secrets.Store
	Views   message.Views
	Now     func() time.Time
	Random  io.Reader
	Logger  zerolog.Logger
	Timeout time.Duration // of one attempt (§6.1: 10 s)
	// RetryDelays are the delays between automatic attempts (D18); nil: DefaultRetryDelays.
	RetryDelays []time.Duration
	Grace       time.Duration  // for attempts in flight after Run's context has ended
	AllowCIDRs  []netip.Prefix // networks that webhooks may go to although they are not public (D18)
	Production  bool           // https only (D18)
	// Nodes are the nodes that send webhooks of this event log; nil: there is no cluster.
	Nodes delivery.Nodes
	// Listeners deliver webhooks to programs that read a stream (package listener); nil: there are
	// none.
	Listeners *listener.Hub
	Resolver  *net.Resolver // of the hosts of endpoints; nil: the machine's
	// Timed, if set, gets the duration of each recorded attempt, its failure ("" is success), and
	// the correlation id of the event that the webhook tells about. It must not block.
	Timed func(failure delivery.Failure, took time.Duration, request string)

	turn time.Duration // how long other nodes plan the events that they wrote; 0: turns.DefaultPatience
}

// Guard returns the guard of the configuration. The check of a new endpoint uses the same one.
func (c Config) Guard() guard.Guard {
	return guard.Guard{AllowCIDRs: c.AllowCIDRs, Production: c.Production, Resolver: c.Resolver}
}

// Notifier plans and sends webhooks. Run it once.
type Notifier struct {
	Config
	planner   *planner
	position  *position.Position
	lanes     *lanes
	sender    *sender.Sender
	stream    stream
	messages  *message.Writer
	retries   delivery.Schedule
	ownership delivery.Ownership
	locks     *deliveryLocks
	health    *health.Health
	tally     *tally
	// plannedTime bounds the wait of Planned.
	plannedTime time.Duration
	// watchAfter is the end of the stream before New listed the lanes. watch reads the later
	// records.
	watchAfter uint64
}

// New opens the stream of deliveries, finds the endpoints with open deliveries, and registers with
// the fan-out at the stored position. It fails if the event log is shorter than that position.
func New(ctx context.Context, c Config) (*Notifier, error) {
	return open(ctx, c, c.Store.Deliveries())
}

func open(ctx context.Context, c Config, s stream) (*Notifier, error) {
	c.defaults()
	id, err := eventstore.NewUUID(c.Random)
	if err != nil {
		return nil, err
	}
	stored, err := openPosition(ctx, s, c.Store.Shards())
	if err != nil {
		return nil, err
	}
	at := stored.At()
	if err := c.Store.CheckReader(ctx, plannerName, at); err != nil {
		return nil, err
	}
	messages, err := message.NewWriter(ctx, c.Store, c.Secrets, c.Views, c.Now)
	if err != nil {
		return nil, err
	}
	messages.Listeners = c.Listeners
	n := &Notifier{
		Config: c, stream: s, messages: messages, retries: delivery.NewSchedule(c.RetryDelays), ownership: delivery.Ownership{Nodes: c.Nodes},
		sender: sender.New(sender.Config{Guard: c.Guard(), Listeners: c.Listeners, Timeout: c.Timeout, Now: c.Now}),
		locks:  &deliveryLocks{}, health: &health.Health{}, tally: newTally(c.Timed), plannedTime: plannedTime,
	}
	n.lanes = newLanes(shared{stream: s, health: n.health, log: c.Logger, now: c.Now, ownership: n.ownership})
	if err := n.scanLanes(ctx); err != nil {
		return nil, err
	}
	n.position = stored
	n.planner = &planner{
		Notifier: n, reader: c.Fanout.Reader(plannerName, at), id: id,
		registered: registrations{Notifier: n, started: at, evaluated: position.NewPlaces(at), read: map[domain.AccountID]readAccount{}},
	}
	n.planner.others = turns.NewQueue(n.planner.taken, n.planner.planOthers, n.position.Advance)
	n.planner.others.Patience = cmp.Or(c.turn, turns.DefaultPatience)
	return n, nil
}

func (c *Config) defaults() {
	c.Timeout = cmp.Or(c.Timeout, sender.DefaultTimeout)
	c.Grace = cmp.Or(c.Grace, DefaultGrace)
	if c.RetryDelays == nil {
		c.RetryDelays = delivery.DefaultRetryDelays()
	}
}

// scanLanes makes each lane with open deliveries read them from the stream when it runs.
func (n *Notifier) scanLanes(ctx context.Context) (err error) {
	if n.watchAfter, err = n.stream.End(ctx); err != nil { // before Lanes: watch follows later records
		return fmt.Errorf("notifier: %w", err)
	}
	open, err := n.stream.Lanes(ctx)
	if err != nil {
		return fmt.Errorf("notifier: %w", err)
	}
	for _, name := range open {
		n.lanes.of(name).scanFrom(1)
	}
	return nil
}

// Run plans and sends until ctx ends (nil), or until an event cannot be planned: the error names
// the event, and nothing is planned or sent any more. In both cases attempts in flight finish, or
// are cut after the grace. Run then records outcomes and the position. The next start sends the
// remaining deliveries.
func (n *Notifier) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	cut, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	d := &dispatcher{Notifier: n, compose: n.messages.Compose, cut: cut}
	n.lanes.run(ctx, d.deliver)
	var keeping sync.WaitGroup
	keeping.Go(func() { n.position.Run(ctx, func(err error) { n.positionSaved(ctx, err) }) })
	if n.Nodes != nil {
		keeping.Go(func() { n.watch(ctx) })
	}

	err := n.planner.run(ctx)
	if err != nil {
		n.health.Set("", err) // Healthy returns this problem first, and it is never cleared
		n.Logger.Error().Err(err).Msg("webhooks are not planned any more")
	}
	stop()
	timer := time.AfterFunc(n.Grace, end)
	n.lanes.wait()
	timer.Stop()
	keeping.Wait()
	last, release := context.WithTimeout(context.WithoutCancel(ctx), recordTime)
	defer release()
	n.savePosition(last)
	n.sender.Close()
	return err
}

// Healthy returns nil while every event is planned and every delivery is sent or waits for its
// attempt, otherwise the first problem by name. A failing receiver is no problem.
func (n *Notifier) Healthy() error { return n.health.First() }

// Tally counts attempts and ended deliveries since the start, for operators.
type Tally struct {
	// Attempts counts the recorded attempts, manual ones included, by failure; "" is success.
	Attempts map[delivery.Failure]uint64
	// Ended counts the deliveries that ended, by status: SUCCEEDED, EXHAUSTED or CANCELLED.
	Ended map[delivery.Status]uint64
}

type tally struct {
	mu sync.Mutex
	Tally
	timed func(delivery.Failure, time.Duration, string) // nil: none
}

func newTally(timed func(delivery.Failure, time.Duration, string)) *tally {
	return &tally{Tally: Tally{Attempts: map[delivery.Failure]uint64{}, Ended: map[delivery.Status]uint64{}}, timed: timed}
}

// record counts the last attempt and the end of d after its record is durable. before is the
// previous status, and request the id of the request that caused the event.
func (t *tally) record(before delivery.Status, d delivery.Delivery, request string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if d.Status != delivery.Cancelled || before == delivery.Cancelled {
		a := d.Attempts[len(d.Attempts)-1]
		t.Attempts[a.Failure]++
		if t.timed != nil {
			t.timed(a.Failure, time.Duration(a.Duration)*time.Microsecond, request)
		}
	}
	if d.Status != before && !d.Status.Open() {
		t.Ended[d.Status]++
	}
}

// Tally returns the current counts.
func (n *Notifier) Tally() Tally {
	n.tally.mu.Lock()
	defer n.tally.mu.Unlock()
	return Tally{Attempts: maps.Clone(n.tally.Attempts), Ended: maps.Clone(n.tally.Ended)}
}
