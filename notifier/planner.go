package notifier

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/webhook"
	"payledger/eventstore"
	"payledger/eventstore/causes"
	"payledger/eventstore/position"
	"payledger/notifier/delivery"
	"payledger/notifier/health"
	"payledger/notifier/message"
)

const (
	plannerName = "notifier"
	// maxBatch is the number of events that are planned before the position moves.
	maxBatch = 512
	// planWriters is the number of deliveries that are written concurrently, so that they share a sync.
	planWriters = 512
)

// planner turns events into deliveries. The order guarantees that none is lost: first a delivery is durable, then its lane
// has the delivery, then the position passes the event.
type planner struct {
	store    *eventstore.Store
	stream   stream
	reader   *eventstore.Reader
	lanes    *lanes
	messages *message.Writer
	position *position.Position
	health   *health.Health
	log      zerolog.Logger
	now      func() time.Time
	id       string // of this process, if it is alone (Delivery.Planner)
}

type plannedDelivery struct {
	delivery.Delivery
	at    uint64
	again bool // an open record existed before: it may have attempts already
}

// run plans until ctx ends (nil) or an event cannot be planned: the error names the event. No event is skipped.
func (p *planner) run(ctx context.Context) error {
	defer p.reader.Stop()
	for {
		events, err := p.reader.Next(ctx, maxBatch)
		if err == nil {
			err = p.plan(ctx, events)
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// plan creates the deliveries of events, then moves the position past the events.
func (p *planner) plan(ctx context.Context, events []*eventstore.Recorded) error {
	var deliveries []delivery.Delivery
	var causing []*eventstore.Recorded
	accounts := map[domain.AccountID]account.State{}
	floor := p.stream.Floor().Log
	for _, r := range events {
		row, err := causes.Candidates(r)
		if len(floor) > r.Shard && r.Seq <= floor[r.Shard] { // its deliveries were planned, and may have been dropped
			continue
		}
		if err == nil && len(row) > 0 {
			before := len(deliveries)
			deliveries, err = p.deliveries(ctx, deliveries, accounts, r, row)
			if len(deliveries) > before {
				causing = append(causing, r)
			}
		}
		if err != nil {
			return fmt.Errorf("%s revision %d (shard %d sequence %d): %w", r.Key, r.Revision, r.Shard, r.Seq, err)
		}
	}
	if len(deliveries) > 0 {
		for _, r := range causing {
			p.messages.Remember(r)
		}
		if err := p.create(ctx, deliveries); err != nil {
			return err
		}
	}
	p.position.Advance(events)
	return nil
}

// deliveries adds one delivery for each kind that the event causes and each endpoint that wants it. It evaluates a
// condition only if an endpoint wants the kind.
func (p *planner) deliveries(ctx context.Context, to []delivery.Delivery, accounts map[domain.AccountID]account.State, r *eventstore.Recorded, row []webhook.Candidate) ([]delivery.Delivery, error) {
	merchant, known := accounts[r.Account]
	if !known {
		var err error
		if merchant, err = p.account(ctx, r.Account); err != nil {
			return to, err
		}
		accounts[r.Account] = merchant
	}
	at := p.now().UTC().Truncate(time.Microsecond)
	for _, c := range row {
		wanting := endpoints(merchant, c.Kind)
		if len(wanting) == 0 {
			continue
		}
		caused, err := p.caused(ctx, r, c.When)
		if err != nil {
			return to, err
		}
		if !caused {
			continue
		}
		for _, id := range wanting {
			to = append(to, delivery.Plan(r, id, c.Kind, p.name(), at))
		}
	}
	return to, nil
}

// name returns the owner of the deliveries that this process plans now.
func (p *planner) name() string {
	name, _ := p.lanes.ownership.Holder() // others take the deliveries over if this name is gone
	return cmp.Or(name, p.id)
}

func endpoints(merchant account.State, kind webhook.Kind) (wanting []domain.EndpointID) {
	for _, e := range merchant.Endpoints {
		if e.Wants(string(kind)) {
			wanting = append(wanting, e.ID)
		}
	}
	return wanting
}

// caused reports whether the condition holds. It repeats failed reads.
func (p *planner) caused(ctx context.Context, r *eventstore.Recorded, when webhook.Condition) (is bool, err error) {
	err = p.persist(ctx, func() error {
		is, err = causes.Holds(ctx, p.store, r, when, p.store.Read)
		return err
	})
	return is, err
}

// account returns the account from the log, because a view may lag and not have an endpoint that existed before the event.
// It repeats failed reads.
func (p *planner) account(ctx context.Context, id domain.AccountID) (state account.State, err error) {
	err = p.persist(ctx, func() error {
		state, err = p.messages.Account(ctx, id)
		return err
	})
	return state, err
}

// create makes deliveries durable and passes each to its lane at once.
func (p *planner) create(ctx context.Context, deliveries []delivery.Delivery) (err error) {
	var (
		mu      sync.Mutex
		running sync.WaitGroup
		writers = make(chan struct{}, planWriters)
	)
	for _, d := range deliveries {
		writers <- struct{}{}
		running.Add(1)
		p.lanes.workers.Start(func() {
			defer running.Done()
			failure := p.createOne(ctx, d)
			<-writers
			mu.Lock()
			defer mu.Unlock()
			err = cmp.Or(err, failure)
		})
	}
	running.Wait()
	return err
}

func (p *planner) createOne(ctx context.Context, d delivery.Delivery) error {
	var made plannedDelivery
	err := p.persist(ctx, func() (err error) {
		if made, err = p.put(ctx, d); errors.Is(err, eventstore.ErrConflict) {
			made, err = p.planned(ctx, d.Name())
		}
		return err
	})
	if err != nil || made.at == 0 {
		return err
	}
	switch lane := p.lanes.of(d.Lane()); {
	case made.again && !p.lanes.ownership.IsMine(made.Delivery): // another process owns the delivery; watch follows it
	case made.again:
		lane.found(made.at, made.Delivery)
	default:
		lane.offer(made)
	}
	return nil
}

// put writes the first record of a delivery. ErrConflict means that the delivery exists.
func (p *planner) put(ctx context.Context, d delivery.Delivery) (plannedDelivery, error) {
	body, err := d.Encode()
	if err != nil {
		return plannedDelivery{}, err
	}
	at, err := p.stream.Put(ctx, d.Name(), 0, body, true)
	return plannedDelivery{Delivery: d, at: at}, err
}

// planned returns an existing delivery if it is open, else the zero value. After a crash its event is planned again.
func (p *planner) planned(ctx context.Context, name string) (plannedDelivery, error) {
	stored, err := p.stream.Last(ctx, name)
	if err != nil {
		return plannedDelivery{}, err
	}
	there, err := delivery.Decode(stored)
	if err != nil || !there.Status.Open() {
		return plannedDelivery{}, err
	}
	return plannedDelivery{Delivery: there, at: stored.Seq, again: true}, nil
}

// persist repeats an operation on the store until it succeeds, fails for good, or ctx ends. Meanwhile Healthy returns
// the problem.
func (p *planner) persist(ctx context.Context, do func() error) error {
	var final error
	err := p.health.Retry(ctx, plannerName, func() error {
		err := do()
		if delivery.Permanent(err) {
			final = err
			return nil
		}
		return err
	}, func(err error) { p.log.Error().Err(err).Msg("webhooks cannot be planned; trying again") })
	return cmp.Or(final, err)
}
