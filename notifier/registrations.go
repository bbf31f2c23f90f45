package notifier

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/webhook"
	"payledger/eventstore"
	"payledger/eventstore/commands/causes"
	"payledger/eventstore/position"
	"payledger/notifier/delivery"
)

// registrations returns the endpoints that an account had at an event (doc.go, "Which endpoints get
// an event"). Only the planner uses it.
type registrations struct {
	*Notifier
	started []uint64 // the planner's position at the start of this process
	// evaluated are the addresses of the last events whose endpoints were determined. The position
	// may be behind: it waits for other nodes.
	evaluated *position.Places
	// read is the newest state of each account that this process has read.
	read map[domain.AccountID]readAccount
	// batch has the accounts that were read for the events that are being planned.
	batch map[domain.AccountID]*timeline
}

type readAccount struct {
	revision  uint64
	endpoints []account.Endpoint
	after     []uint64 // the place of their newest change
	// planned is evaluated when these endpoints were read: events up to it may have been planned
	// with older ones.
	planned []uint64
}

// timeline has the states of an account, the newest first. Each older one is the state before a
// change of endpoints.
type timeline struct {
	states []account.State
	oldest *eventstore.Recorded // of the last state; nil: the account did not exist
}

func (g *registrations) begin() { g.batch = map[domain.AccountID]*timeline{} }

// at returns the endpoints of the event's account that get the webhooks of a kind.
func (g *registrations) at(ctx context.Context, r *eventstore.Recorded, kind webhook.Kind) (wanting []domain.EndpointID, err error) {
	t, err := g.account(ctx, r.Account)
	if err != nil {
		return nil, err
	}
	for i := 0; ; i++ {
		if i == len(t.states) {
			if err := g.extend(ctx, t); err != nil {
				return nil, err
			}
		}
		if s := t.states[i]; s.EndpointsApplyTo(r.Shard, r.Seq) {
			for _, e := range s.Endpoints {
				if e.Wants(string(kind)) {
					wanting = append(wanting, e.ID)
				}
			}
			return wanting, nil
		}
	}
}

// account returns the timeline of an account. Its newest state is from the event log: a view may
// lag.
func (g *registrations) account(ctx context.Context, id domain.AccountID) (*timeline, error) {
	if t := g.batch[id]; t != nil {
		return t, nil
	}
	tip, err := g.messages.AccountTip(ctx, id)
	if err != nil {
		return nil, err
	}
	before, known := g.read[id]
	now := readAccount{tip.State.Revision, tip.State.Endpoints, tip.State.EndpointsAfter, g.started}
	switch {
	case !known: // this process has planned no event of the account
		g.read[id] = now
	case before.revision < now.revision:
		if now.planned = before.planned; !reflect.DeepEqual(before.endpoints, now.endpoints) || !slices.Equal(before.after, now.after) {
			now.planned = g.evaluated.At()
		}
		g.read[id] = now
	}
	t := &timeline{[]account.State{tip.State}, tip.Recorded}
	g.batch[id] = t
	return t, nil
}

// extend adds the state before the change that led to the timeline's oldest state.
func (g *registrations) extend(ctx context.Context, t *timeline) error {
	newer := t.states[len(t.states)-1]
	for r := t.oldest; ; {
		var state account.State
		previous, err := g.before(ctx, r)
		if err == nil && previous != nil {
			state, err = eventstore.StateAt(ctx, g.Store, eventstore.Accounts, previous)
		}
		if err != nil {
			return err
		}
		if r = previous; r == nil || !slices.Equal(state.EndpointsAfter, newer.EndpointsAfter) {
			t.states, t.oldest = append(t.states, state), r
			return nil
		}
	}
}

// before returns the previous event of an account; nil if there is none.
func (g *registrations) before(ctx context.Context, r *eventstore.Recorded) (*eventstore.Recorded, error) {
	if r == nil || r.PrevSeq == 0 {
		return nil, nil
	}
	previous, err := g.Store.Read(ctx, r.Shard, r.PrevSeq)
	if err == nil && (previous.Key != r.Key || previous.Revision != r.Revision-1) {
		err = fmt.Errorf("notifier: %w: %s revision %d follows %s revision %d", eventstore.ErrUnhealthy, r.Key, r.Revision, previous.Key, previous.Revision)
	}
	return previous, err
}

// widening returns the endpoint that an event created or changed, and the place of the change; ""
// if the event did neither.
func widening(r *eventstore.Recorded) (id domain.EndpointID, after []uint64, err error) {
	if r.Aggregate != eventstore.Accounts.Name {
		return "", nil, nil
	}
	switch r.Type {
	case account.EndpointCreated{}.Type(), account.EndpointChanged{}.Type():
	default:
		return "", nil, nil
	}
	e, err := eventstore.Accounts.Event(r)
	switch e := e.(type) {
	case account.EndpointCreated:
		return e.Endpoint.ID, e.EndpointsAfter, err
	case account.EndpointChanged:
		return e.ID, e.EndpointsAfter, err
	}
	return "", nil, err
}

// planAgain plans the events after the place of an endpoint's change that may have been planned
// before the change was in the log. Usually there are none. They are planned for this endpoint
// only.
func (p *planner) planAgain(ctx context.Context, changed *eventstore.Recorded, owner string) error {
	id, after, err := widening(changed)
	if err != nil || id == "" {
		return err
	}
	if err := p.persist(ctx, func() error { _, err := p.registered.account(ctx, changed.Account); return err }); err != nil {
		return err
	}
	floor := p.stream.Floor().Log
	for shard, through := range p.registered.read[changed.Account].planned {
		if shard >= len(after) {
			break
		}
		from := after[shard]
		if shard < len(floor) {
			from = max(from, floor[shard])
		}
		if from >= through {
			continue
		}
		if err := p.planRange(ctx, shard, from, through, changed.Account, id, owner); err != nil {
			return err
		}
	}
	return nil
}

// planRange plans the account's events of a shard, after from and up to through, for one endpoint.
func (p *planner) planRange(ctx context.Context, shard int, from, through uint64, owner domain.AccountID, id domain.EndpointID, planner string) error {
	for from < through {
		var events []*eventstore.Recorded
		last := from
		err := p.persist(ctx, func() (err error) {
			events, last, err = p.readRange(ctx, shard, from, through, owner)
			return err
		})
		var deliveries []delivery.Delivery
		for _, r := range events {
			var row []webhook.Candidate
			if err == nil {
				row, err = causes.Candidates(r)
			}
			if err == nil {
				deliveries, err = p.deliveries(ctx, deliveries, r, row, planner, id)
			}
		}
		if err == nil {
			err = p.create(ctx, deliveries)
		}
		if err != nil {
			return err
		}
		from = last
	}
	return nil
}

var errRangeRead = errors.New("notifier: the range is read")

// readRange returns an account's events of a shard, after from and up to through, maxBatch at most,
// and the address up to which it read.
func (p *planner) readRange(ctx context.Context, shard int, from, through uint64, owner domain.AccountID) (events []*eventstore.Recorded, last uint64, err error) {
	err = p.Store.Subscribe(ctx, shard, from, func(r *eventstore.Recorded) error {
		last = r.Seq
		if r.Account == owner && r.Seq <= through {
			events = append(events, r)
		}
		if r.Seq >= through || len(events) == maxBatch {
			return errRangeRead
		}
		return nil
	})
	if errors.Is(err, errRangeRead) {
		err = nil
	}
	return events, last, err
}
