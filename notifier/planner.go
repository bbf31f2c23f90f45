package notifier

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"payledger/domain"
	"payledger/domain/webhook"
	"payledger/eventstore"
	"payledger/eventstore/commands/causes"
	"payledger/eventstore/turns"
	"payledger/notifier/delivery"
)

const (
	plannerName = "notifier"
	// maxBatch is the number of events that are planned before the position moves.
	maxBatch = 512
	// planWriters is the number of deliveries that are written concurrently, so that they share a
	// sync.
	planWriters = 512
)

// planner turns events into deliveries. The order guarantees that none is lost: first a delivery is
// durable, then its lane has the delivery, then the position passes the event. In a cluster the
// node that wrote an event plans its deliveries, and the other nodes plan what it leaves unplanned.
type planner struct {
	*Notifier
	reader *eventstore.Reader
	others *turns.Queue[delivery.Delivery] // deliveries of events that other nodes wrote
	id     string                          // the planner's owner id without a cluster (Delivery.Planner)
	// registered has the endpoints that get an event.
	registered registrations
}

type plannedDelivery struct {
	delivery.Delivery
	at    uint64
	again bool // an open record existed before: it may have attempts already
}

// run plans until ctx ends (nil) or an event cannot be planned: the error names the event. No event
// is skipped.
func (p *planner) run(ctx context.Context) error {
	defer p.reader.Stop()
	return p.others.Plan(ctx, func(ctx context.Context) ([]*eventstore.Recorded, error) { return p.reader.Next(ctx, maxBatch) }, p.plan)
}

func (p *planner) plan(ctx context.Context, events []*eventstore.Recorded) error {
	owner, err := p.owner(ctx)
	if err != nil {
		return err
	}
	var own, others []delivery.Delivery
	p.registered.begin()
	floor := p.stream.Floor().Log
	for _, r := range events {
		if len(floor) > r.Shard && r.Seq <= floor[r.Shard] { // its deliveries were planned, and may have been dropped
			continue
		}
		row, err := causes.Candidates(r)
		if err == nil && len(row) > 0 {
			to := &others
			if p.ownership.Plans(r.CommandID) {
				to = &own
			}
			before := len(*to)
			*to, err = p.deliveries(ctx, *to, r, row, owner, "")
			if len(*to) > before {
				p.messages.Remember(r)
			}
		}
		if err == nil {
			err = p.planAgain(ctx, r, owner)
		}
		if err != nil {
			return planError(r, err)
		}
	}
	if err := p.create(ctx, own); err != nil {
		return err
	}
	p.registered.evaluated.Advance(events)
	return p.others.Add(ctx, events, others)
}

// taken reports whether this node knows that another node planned a delivery.
func (p *planner) taken(d delivery.Delivery) (bool, error) {
	_, err := p.stream.Known(d.Name())
	if errors.Is(err, eventstore.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// planOthers plans deliveries that other nodes have not planned in time.
func (p *planner) planOthers(ctx context.Context, deliveries []delivery.Delivery) error {
	owner, err := p.owner(ctx)
	if err != nil {
		return err
	}
	at := p.Now().UTC().Truncate(time.Microsecond)
	for i := range deliveries {
		deliveries[i].Planner, deliveries[i].PlannedAt = owner, at
	}
	return p.create(ctx, deliveries)
}

func planError(r *eventstore.Recorded, err error) error {
	return fmt.Errorf("%s revision %d (shard %d sequence %d): %w", r.Key, r.Revision, r.Shard, r.Seq, err)
}

// deliveries adds one delivery for each kind that the event causes and each endpoint that gets it;
// only, unless empty, is the one endpoint.
func (p *planner) deliveries(ctx context.Context, to []delivery.Delivery, r *eventstore.Recorded, row []webhook.Candidate, owner string, only domain.EndpointID) ([]delivery.Delivery, error) {
	at := p.Now().UTC().Truncate(time.Microsecond)
	for _, c := range row {
		var wanting []domain.EndpointID
		err := p.persist(ctx, func() (err error) {
			wanting, err = p.registered.at(ctx, r, c.Kind)
			return err
		})
		if err != nil {
			return to, err
		}
		if only != "" {
			wanting = slices.DeleteFunc(wanting, func(id domain.EndpointID) bool { return id != only })
		}
		if len(wanting) == 0 {
			continue
		}
		caused := false
		err = p.persist(ctx, func() (err error) {
			caused, err = causes.Holds(ctx, p.Store, r, c.When, p.Store.Read)
			return err
		})
		if err != nil {
			return to, err
		}
		if !caused {
			continue
		}
		for _, id := range wanting {
			to = append(to, delivery.Plan(r, id, c.Kind, owner, at))
		}
	}
	return to, nil
}

// owner returns the owner of the deliveries that this node plans now. It waits while this node may
// not send: another node plans them.
func (p *planner) owner(ctx context.Context) (string, error) {
	name, ok := p.ownerID(ctx)
	if !ok {
		return "", ctx.Err()
	}
	return cmp.Or(name, p.id), nil
}

func (p *planner) create(ctx context.Context, deliveries []delivery.Delivery) error {
	var running sync.WaitGroup
	errs, writers := make([]error, len(deliveries)), make(chan struct{}, planWriters)
	for i, d := range deliveries {
		writers <- struct{}{}
		running.Add(1)
		p.lanes.workers.Start(func() {
			defer running.Done()
			errs[i] = p.createOne(ctx, d)
			<-writers
		})
	}
	running.Wait()
	return cmp.Or(errs...)
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
	case made.again && !p.ownership.IsMine(made.Delivery): // another process owns the delivery; watch follows it
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

// planned returns an existing delivery if it is open, else the zero value. After a crash its event
// is planned again. This node has the record that came first, unless it was dropped.
func (p *planner) planned(ctx context.Context, name string) (plannedDelivery, error) {
	stored, err := p.stream.Known(name)
	if errors.Is(err, eventstore.ErrNotFound) {
		stored, err = p.stream.Last(ctx, name)
	}
	if err != nil {
		return plannedDelivery{}, err
	}
	there, err := delivery.Decode(stored)
	if err != nil || !there.Status.Open() {
		return plannedDelivery{}, err
	}
	return plannedDelivery{Delivery: there, at: stored.Seq, again: true}, nil
}

// persist repeats an operation on the store until it succeeds, fails for good, or ctx ends.
// Meanwhile Healthy returns the problem.
func (p *planner) persist(ctx context.Context, do func() error) error {
	var final error
	err := p.health.Retry(ctx, plannerName, func() error {
		err := do()
		if delivery.Permanent(err) {
			final = err
			return nil
		}
		return err
	}, func(err error) { p.Logger.Error().Err(err).Msg("webhooks cannot be planned; trying again") })
	return cmp.Or(final, err)
}
