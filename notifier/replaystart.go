package notifier

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/webhook"
	"payledger/eventstore"
	"payledger/eventstore/codec"
	"payledger/notifier/delivery"
	"payledger/notifier/message"
	"payledger/projections/deliveries"
)

const (
	// plannedTime bounds the wait for the planner, and plannedRetry is the time between two reads of its position.
	plannedTime  = 5 * time.Second
	plannedRetry = 5 * time.Millisecond
	// modelReplay is the name of the request's model in violations.
	modelReplay = "WebhookReplayRequest"
)

// StartReplay counts the webhooks of one endpoint for the events of a time range that were recorded before the call, and
// starts to send them: existing deliveries again, missing ones for the first time, each with the state at its event. If dry
// is set, StartReplay only counts. It refuses an endpoint that is deleted or disabled.
func (l *DeliveryLog) StartReplay(ctx context.Context, q deliveries.ReplayRequest, dry bool) (deliveries.Replay, error) {
	p, err := l.newReplay(ctx, q)
	if err != nil {
		return deliveries.Replay{}, err
	}
	if err := l.count(ctx, &p); err != nil {
		return deliveries.Replay{}, errUnreadable(err)
	}
	if dry {
		v := p.value()
		v.ID, v.State = "", ""
		return v, nil
	}
	if err := l.begin(ctx, p); err != nil {
		return deliveries.Replay{}, err
	}
	return p.value(), nil
}

// Replay returns a replay's progress. A replay that is unknown or belongs to another account is EntityNotFound.
func (l *DeliveryLog) Replay(ctx context.Context, owner domain.AccountID, id string) (deliveries.Replay, error) {
	if !domain.ValidID(id) {
		return deliveries.Replay{}, errNoReplay()
	}
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	stored, err := l.stream.Last(ctx, replayName(owner, id))
	if errors.Is(err, eventstore.ErrNotFound) {
		return deliveries.Replay{}, errNoReplay()
	}
	if err != nil {
		return deliveries.Replay{}, errUnreadable(err)
	}
	p, err := decodeReplay(stored)
	return p.value(), err
}

func errNoReplay() error {
	return domain.Refuse(domain.KindNotFound, domain.ReasonEntityNotFound, "There is no webhook replay of this id.")
}

// newReplay returns the requested replay. Its End is the planner's position.
func (l *DeliveryLog) newReplay(ctx context.Context, q deliveries.ReplayRequest) (replay, error) {
	endpoint, err := l.notifier.messages.Endpoint(ctx, q.Account, q.Endpoint)
	switch {
	case errors.Is(err, message.ErrNoEndpoint):
		return replay{}, account.NoEndpoint()
	case err != nil:
		return replay{}, errUnreadable(err)
	case !endpoint.Enabled:
		return replay{}, domain.Invalid(modelReplay, domain.Violation{Path: "$.endpointId", Description: "names an endpoint that is disabled"})
	}
	id, err := eventstore.NewUUID(l.random)
	if err != nil {
		return replay{}, err
	}
	end, err := l.planned(ctx)
	if err != nil {
		return replay{}, errUnreadable(err)
	}
	p := replay{
		Schema: replaySchema, ID: id, Account: q.Account, Endpoint: q.Endpoint, From: q.From, To: q.To,
		Kinds: replayed(q.EventTypes, endpoint), OnlyFailed: q.OnlyFailed, CreatedAt: l.now().UTC().Truncate(time.Microsecond),
		Runner: l.runner, State: deliveries.ReplayRunning, End: end, At: make([]uint64, len(end)),
	}
	return p, nil
}

// replayed returns the kinds of a replay: the requested kinds, else the kinds that the endpoint takes now.
func replayed(asked []string, endpoint account.Endpoint) []webhook.Kind {
	if len(asked) == 0 {
		asked = endpoint.EventTypes
	}
	if len(asked) == 0 {
		return webhook.Kinds()
	}
	var kinds []webhook.Kind
	for _, k := range asked {
		kinds = append(kinds, webhook.Kind(k))
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// planned waits until the planner reaches the present end of the log, for plannedTime at most, and returns the planner's
// position. Webhooks of later events are not missing: the planner plans them.
func (l *DeliveryLog) planned(ctx context.Context) ([]uint64, error) {
	ends := make([]uint64, l.store.Shards())
	for shard := range ends {
		var err error
		if ends[shard], err = l.store.LastSeq(ctx, shard); err != nil {
			return nil, err
		}
	}
	limit := time.NewTimer(plannedTime)
	defer limit.Stop()
	look := time.NewTicker(plannedRetry)
	defer look.Stop()
	for {
		at := l.notifier.planner.progress.at()
		if !behind(at, ends) {
			return at, nil
		}
		select {
		case <-look.C:
		case <-limit.C:
			return at, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func behind(at, ends []uint64) bool {
	for shard, end := range ends {
		if at[shard] < end {
			return true
		}
	}
	return false
}

// count counts the webhooks that the replay has to send. Only one count runs at a time, because it reads the log.
func (l *DeliveryLog) count(ctx context.Context, p *replay) error {
	select {
	case l.counting <- struct{}{}:
		defer func() { <-l.counting }()
	case <-ctx.Done():
		return ctx.Err()
	}
	var err error
	if p.Through, err = l.waitForIndex(ctx); err != nil {
		return err
	}
	return l.eachEvent(ctx, p, func(e relevantEvent) error {
		for _, c := range e.wanted {
			what, _, err := l.stepOf(ctx, p, e.Recorded, c)
			if err != nil {
				return err
			}
			if what != stepNone {
				p.Count++
			}
		}
		return nil
	})
}

// begin makes a replay durable in three writes: its record, its entry in the list of open replays, and, when the replay
// starts to run, its record again, now open. A record is open only while the list has the replay, so a process that ends
// between two writes leaves no open record that nobody closes:
//
//   - after the first write: the caller has no answer, and the replay never runs.
//   - after the second write: the next start runs the replay.
func (l *DeliveryLog) begin(ctx context.Context, p replay) error {
	body, err := p.encode()
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	o, _, err := l.openReplays(ctx)
	if err != nil {
		return errUnreadable(err)
	}
	if err := refuseTooMany(o.Open, p.Account); err != nil {
		return err
	}
	at, err := l.stream.Put(ctx, p.name(), 0, body, false)
	if err != nil {
		return domain.Unavailable(err)
	}
	err = l.changeOpen(ctx, func(open []string) ([]string, error) { // other processes may have started replays meanwhile
		return append(open, p.name()), refuseTooMany(open, p.Account)
	})
	if err != nil {
		if domain.ReasonOf(err) == domain.ReasonRequestValidation {
			return err
		}
		return domain.OutcomeUnknown(err)
	}
	l.start(p, at)
	return nil
}

// refuseTooMany refuses a further replay of an account if maxReplays of its replays are open.
func refuseTooMany(open []string, owner domain.AccountID) error {
	mine := 0
	for _, name := range open {
		if strings.HasPrefix(name, replayName(owner, "")) {
			mine++
		}
	}
	if mine < maxReplays {
		return nil
	}
	return domain.Invalid(modelReplay, domain.Violation{Path: "$", Description: fmt.Sprintf("comes while %d replays are under way, which is as many as may be", mine)})
}

// openSchema is the schema version of openReplays' bytes. The rules of delivery.Schema apply.
const openSchema = 1

// openReplays is the record that lists the open replays by name.
type openReplays struct {
	Schema int      `json:"schema"`
	Open   []string `json:"open"`
	Runner string   `json:"runner"` // with Before: so that no two writers write the same bytes
	Before uint64   `json:"before"` // place of the previous record
}

func (l *DeliveryLog) openReplays(ctx context.Context) (openReplays, uint64, error) {
	var o openReplays
	stored, err := l.stream.Last(ctx, replaysName)
	if errors.Is(err, eventstore.ErrNotFound) {
		return o, 0, nil
	}
	if err == nil {
		err = codec.Unmarshal(stored.Body, &o)
	}
	if err == nil && o.Schema > openSchema {
		err = fmt.Errorf("%w: schema %d, known is %d", delivery.ErrNewerRecord, o.Schema, openSchema)
	}
	if err != nil {
		return openReplays{}, 0, fmt.Errorf("notifier: replays: %w", err)
	}
	return o, stored.Seq, nil
}

// changeOpen changes the list of open replays with compare-and-swap.
func (l *DeliveryLog) changeOpen(ctx context.Context, change func([]string) ([]string, error)) error {
	for {
		o, at, err := l.openReplays(ctx)
		if err != nil {
			return err
		}
		open, err := change(slices.Clone(o.Open))
		if err != nil || slices.Equal(open, o.Open) {
			return err
		}
		body, err := codec.Marshal(openReplays{Schema: openSchema, Open: open, Runner: l.runner, Before: at})
		if err != nil {
			return fmt.Errorf("notifier: replays: %w", err)
		}
		if _, err = l.stream.Put(ctx, replaysName, at, body, true); !errors.Is(err, eventstore.ErrConflict) {
			return err
		}
	}
}

// removeOpen removes a replay from the list of open replays.
func (l *DeliveryLog) removeOpen(ctx context.Context, name string) error {
	return l.changeOpen(ctx, func(open []string) ([]string, error) {
		return slices.DeleteFunc(open, func(other string) bool { return other == name }), nil
	})
}
