package notifier

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"payledger/eventstore"
	"payledger/eventstore/secrets"
	"payledger/notifier/delivery"
	"payledger/notifier/guard"
	"payledger/notifier/health"
	"payledger/notifier/message"
	"payledger/notifier/sender"
)

// DefaultGrace is how long attempts in flight may go on after the notifier was told to end.
const DefaultGrace = 500 * time.Millisecond

// Config is what a notifier needs. Zero durations take their defaults.
type Config struct {
	Store   *eventstore.Store
	Fanout  *eventstore.Fanout // must not run yet
	Vault   *secrets.Store
	Views   message.Views
	Now     func() time.Time
	Random  io.Reader
	Logger  zerolog.Logger
	Timeout time.Duration // of one attempt (§6.1: 10 s)
	// RetryDelays are the delays between automatic attempts (D18); nil: DefaultRetryDelays.
	RetryDelays []time.Duration
	Grace       time.Duration  // for attempts in flight when Run is told to end
	AllowCIDRs  []netip.Prefix // networks that webhooks may go to although they are not public (D18)
	Production  bool           // https only (D18)
	// Shared says that other processes send the webhooks of this log as well.
	Shared   bool
	Resolver *net.Resolver // of the hosts of endpoints; nil: the machine's
}

// Guard is the guard that the configuration describes; whoever creates endpoints uses the same.
func (c Config) Guard() guard.Guard {
	return guard.Guard{AllowCIDRs: c.AllowCIDRs, Production: c.Production, Resolver: c.Resolver}
}

// Notifier plans and sends webhooks. Run it once.
type Notifier struct {
	planner        *planner
	positionWriter *positionWriter
	lanes          *lanes
	sender         *sender.Sender
	stream         stream
	messages       *message.Writer
	store          *eventstore.Store
	vault          *secrets.Store
	views          message.Views
	now            func() time.Time
	retries        delivery.Schedule
	ownership      delivery.Ownership
	follow         follow // nil when this process is alone
	through        uint64 // in the stream of deliveries: what stood up to here at the start was taken up
	locks          *deliveryLocks
	health         *health.Health
	tally          *tally
	log            zerolog.Logger
	grace          time.Duration
}

// New opens the stream of deliveries, takes up what an earlier process left in it, and registers with the
// fan-out at the place that was planned last. It fails when the log is shorter than that place.
func New(ctx context.Context, c Config) (*Notifier, error) {
	s, err := openRecords(ctx, c.Store)
	if err != nil {
		return nil, err
	}
	n, err := open(ctx, c, s)
	if err == nil && c.Shared {
		n.follow = s.Follow
	}
	return n, err
}

func open(ctx context.Context, c Config, s stream) (*Notifier, error) {
	c.defaults()
	id, err := eventstore.NewUUID(c.Random)
	if err != nil {
		return nil, err
	}
	at, err := readPosition(ctx, s, c.Store.Shards())
	if err != nil {
		return nil, err
	}
	if err := c.Store.CheckReader(ctx, plannerName, at); err != nil {
		return nil, err
	}
	messages, err := message.NewWriter(ctx, c.Store, c.Vault, c.Views, c.Now)
	if err != nil {
		return nil, err
	}
	n := &Notifier{
		stream: s, health: &health.Health{}, tally: newTally(), log: c.Logger, grace: c.Grace, retries: delivery.NewSchedule(c.RetryDelays), locks: &deliveryLocks{},
		sender:   sender.New(sender.Config{Guard: c.Guard(), Timeout: c.Timeout, Now: c.Now}),
		messages: messages, store: c.Store, vault: c.Vault, views: c.Views, now: c.Now,
	}
	n.lanes = newLanes(s, n.health, c.Logger, c.Now)
	n.ownership = delivery.NewOwnership(id, c.Shared, c.Timeout)
	n.lanes.ownership = n.ownership
	if err := n.loadOpen(ctx); err != nil {
		return nil, err
	}
	placed := &progress{log: at}
	n.positionWriter = &positionWriter{stream: s, progress: placed, health: n.health, log: c.Logger}
	n.planner = &planner{
		store: c.Store, stream: s, reader: c.Fanout.Reader(plannerName, at), lanes: n.lanes, messages: messages,
		progress: placed, health: n.health, log: c.Logger, now: c.Now, id: id,
	}
	return n, nil
}

func (c *Config) defaults() {
	c.Timeout = cmp.Or(c.Timeout, sender.DefaultTimeout)
	c.Grace = cmp.Or(c.Grace, DefaultGrace)
	if c.RetryDelays == nil {
		c.RetryDelays = delivery.DefaultRetryDelays()
	}
}

// loadOpen has each endpoint's lane look for its open deliveries.
func (n *Notifier) loadOpen(ctx context.Context) (err error) {
	if n.through, err = n.stream.End(ctx); err != nil { // before: what comes later is followed
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

// Run plans and sends until ctx ends (nil), or until an event cannot be planned: the error names its place,
// and nothing after it is planned. Either way it ends in order: attempts in flight finish, or are cut after
// the grace; outcomes and the position are recorded; what was not sent is sent at the next start.
func (n *Notifier) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	cut, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	d := &dispatcher{
		write: n.messages.Compose, sender: n.sender, stream: n.stream, retries: n.retries, ownership: n.ownership,
		now: n.now, locks: n.locks,
		health: n.health, tally: n.tally, log: n.log, cut: cut,
	}
	n.lanes.run(ctx, d.deliver)
	var keeping sync.WaitGroup
	keeping.Go(func() { n.positionWriter.run(ctx) })
	if n.follow != nil {
		keeping.Go(func() { n.watch(ctx) })
	}

	err := n.planner.run(ctx)
	if err != nil {
		n.health.Set("", err) // the first of all troubles, and for good
		n.log.Error().Err(err).Msg("webhooks are not planned any more")
	}
	stop()
	timer := time.AfterFunc(n.grace, end)
	n.lanes.wait()
	timer.Stop()
	keeping.Wait()
	last, release := context.WithTimeout(context.WithoutCancel(ctx), recordTime)
	defer release()
	n.positionWriter.save(last)
	n.sender.Close()
	return err
}

// Healthy is nil while every event is planned and every delivery sent or being tried; else it is what is
// wrong. A receiver that fails is not.
func (n *Notifier) Healthy() error { return n.health.First() }
