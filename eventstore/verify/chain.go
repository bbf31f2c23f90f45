package verify

import (
	"context"
	"errors"
	"fmt"

	"payledger/eventstore"
	"payledger/eventstore/checkpoint"
	"payledger/eventstore/format"
	"payledger/eventstore/streams"
)

// chain checks the events of one shard.
type chain struct {
	*run
	shard  int
	stream string // that is being read
	head   format.Head
	log    *format.LogID
	cache  aggregates
	away   int                 // aggregates of the shard in the scratch store
	tail   map[format.Key]bool // aggregates with events that the tip store has not applied
	hashes chan<- leaves       // for the tree
	covers chan<- numbered     // of the checkpoints, for the tree

	newestTips *tips // nil: the check looks them up
	times      stretches

	ends ends // by the shard's groups

	events, aggregates, older uint64
	tips                      uint64 // that were compared
}

// leaves are the hashes of a group's events.
type leaves struct {
	seq    uint64
	hashes []format.Hash
}

// aggregate is the newest event of an aggregate so far, and the state after it.
type aggregate struct {
	stream   string
	seq      uint64 // address
	number   uint64 // of the event in its shard
	previous uint64 // address of the event before
	revision uint64
	hash     format.Hash
	before   format.Hash // of the event before
	schema   int
	state    any  // nil: unknown
	tip      bool // the tip store has exactly this event as the newest one
	size     int  // in memory, roughly
}

func (c *chain) group(ctx context.Context, stream string, g *format.Group) error {
	dropped := c.log != nil && c.Archive.Served() && stream != c.stream && g.Seq > c.head.Seq+1 // while it was read
	if c.stream = stream; streams.KindOf(c.shard).Drops() && (c.log == nil || dropped) {        // its first segments may have been dropped
		c.head, c.ends.begin = headBefore(g), g.Seq
	}
	if c.log == nil {
		c.log = &g.Log
	}
	if err := g.Follows(c.head); err != nil {
		if err := c.beginAnew(g, err); err != nil {
			return err
		}
	}
	c.ends.see(g)
	if g.Log != *c.log {
		if err := c.report(Fault{Stream: stream, Sequence: g.Seq, Difference: "it is a group of another log"}); err != nil {
			return err
		}
	}
	if c.head = g.After(c.head); c.head.Seq == c.end().Seq && c.head != c.end() {
		if err := c.report(Fault{Stream: stream, Sequence: g.Seq, Difference: "the tip store has applied another group here, or other counts"}); err != nil {
			return err
		}
	}
	switch kind := streams.KindOf(c.shard); {
	case kind.Covers:
		return c.checkpoints(ctx, g)
	case !kind.Events:
		return c.deliveries(ctx, g)
	}
	var all []format.Hash
	end := c.viewEnd(c.shard)
	for _, r := range g.Frames {
		if err := c.event(ctx, r); err != nil {
			return err
		}
		if r.Seq == end && c.Shown != nil {
			if err := c.alone(func() error { return c.Shown(r) }); err != nil {
				return err
			}
		}
		if c.hashes != nil {
			all = append(all, r.Hash)
		}
	}
	c.done.Add(uint64(len(g.Frames)))
	if c.hashes == nil {
		return nil
	}
	select {
	case c.hashes <- leaves{g.Seq, all}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (c *chain) checkpoints(ctx context.Context, g *format.Group) error {
	for _, r := range g.Frames {
		found, err := checkpoint.Of(r)
		if err == nil && found.Number != r.Number {
			err = fmt.Errorf("it is checkpoint %d, and stands in the place of checkpoint %d", found.Number, r.Number)
		}
		if err != nil {
			if err := c.report(Fault{Stream: c.stream, Sequence: g.Seq, Difference: err.Error()}); err != nil {
				return err
			}
			continue
		}
		select {
		case c.covers <- numbered{c.stream, found}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func (c *chain) deliveries(ctx context.Context, g *format.Group) error {
	if c.Delivery == nil {
		return nil
	}
	return c.alone(func() error {
		for _, r := range g.Frames {
			if err := c.Delivery(ctx, c.stream, r); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *chain) event(ctx context.Context, r *format.Recorded) error {
	if c.Only != "" && (r.Aggregate != eventstore.Payments.Name || r.ID != string(c.Only)) {
		return nil
	}
	c.events++
	if err := c.time(r); err != nil {
		return err
	}
	before, err := c.take(r.Key)
	if err != nil {
		return err
	}
	if before != nil {
		if err := c.passed(ctx, r, before); err != nil {
			return err
		}
	} else {
		c.aggregates++
	}
	next, err := c.follow(before, r)
	if err != nil {
		return err
	}
	if err := c.left(r); err != nil {
		return err
	}
	if err := c.run.event(ctx, r); err != nil {
		return err
	}
	if c.newestTips != nil {
		if next.tip, err = c.newestTips.has(r); err != nil {
			return err
		}
		if next.tip {
			c.owners.note(r.Key, next.state)
		}
	}
	for _, old := range c.cache.put(r.Key, next) {
		if err := c.evict(ctx, old.key, old.aggregate); err != nil {
			return err
		}
	}
	return nil
}

// passed compares an aggregate that gets its next event with everything that has not applied that
// event.
func (c *chain) passed(ctx context.Context, r *format.Recorded, before *aggregate) error {
	if c.Archive.HasTips() && c.applied(before.seq) && !c.applied(r.Seq) {
		if _, err := c.compareTip(r.Key, before, true); err != nil {
			return err
		}
	}
	if end := c.viewEnd(c.shard); before.seq <= end && end < r.Seq {
		return c.newest(ctx, r.Key, before, c.shard)
	}
	return nil
}

// follow checks that r follows the aggregate's event before it, and returns the aggregate after r.
func (c *chain) follow(before *aggregate, r *format.Recorded) (*aggregate, error) {
	next := &aggregate{
		stream: c.stream, seq: r.Seq, number: r.Number, previous: r.PrevSeq, revision: r.Revision, hash: r.Hash, schema: r.Schema,
		size: entrySize + 2*len(r.Body),
	}
	var state any
	var chained string
	switch {
	case before == nil && r.Revision != 1:
		chained = fmt.Sprintf("revision %d is the first that is there", r.Revision)
	case before != nil && r.Revision != before.revision+1:
		chained = fmt.Sprintf("revision %d follows revision %d", r.Revision, before.revision)
	case before != nil && r.PrevSeq != before.seq:
		chained = fmt.Sprintf("it names group %d as the place of the event before; that is in group %d", format.GroupOf(r.PrevSeq), format.GroupOf(before.seq))
	default:
		if before != nil {
			next.before, state = before.hash, before.state
		}
		if r.Link(next.before) != r.Hash {
			chained = "its hash is not that of its bytes and of the event before"
		}
	}
	if chained != "" {
		if err := c.report(of(c.stream, r, "%s", chained)); err != nil {
			return nil, err
		}
	}
	kind := cores[r.Aggregate]
	if kind == nil {
		return next, c.report(of(c.stream, r, "this version of payledger does not know the aggregate %q", r.Aggregate))
	}
	if chained != "" || before != nil && state == nil { // the recorded state is the only one there is
		next.state, _ = kind.DecodeState(r)
		return next, nil
	}
	after, body, err := apply(kind, state, r)
	next.state = after
	switch {
	case errors.Is(err, format.ErrNewerSchema):
		return next, c.report(of(c.stream, r, "a newer payledger wrote it; verify with that version"))
	case err != nil:
		return next, c.report(of(c.stream, r, "%s", err))
	case body == nil:
		c.older++
	case string(body) != string(r.Body):
		fault := of(c.stream, r, "%s", difference(r, body))
		next.state, _ = kind.DecodeState(r)
		return next, c.report(fault)
	}
	return next, nil
}

// left compares the part that r moved out of the state.
func (c *chain) left(r *format.Recorded) error {
	if !c.Archive.HasTips() || !c.applied(r.Seq) || !r.HasMore() {
		return nil
	}
	_, part, err := r.Parts()
	if err != nil || part == nil {
		return nil //nolint:nilerror // follow has reported it
	}
	stored, err := c.Archive.Left(r.Key, r.Revision)
	if err != nil || string(stored) != string(part) {
		return c.report(of(c.stream, r, "the tip store does not have the part that it moved out of the state%s", cause(err)))
	}
	return nil
}

func cause(err error) string {
	if err == nil {
		return ""
	}
	return ": " + err.Error()
}

// take removes an aggregate from the cache or the scratch store; nil: it is new.
func (c *chain) take(key format.Key) (*aggregate, error) {
	if a := c.cache.get(key); a != nil {
		return a, nil
	}
	if c.away == 0 {
		return nil, nil
	}
	a, err := c.scratch.take(c.shard, key)
	if a != nil {
		c.away--
	}
	return a, err
}

func (c *chain) keep(key format.Key, a *aggregate) error {
	c.away++
	return c.scratch.put(c.shard, key, a)
}

// evict ends the check of an aggregate that has no later event, and puts any other into the scratch
// store.
func (c *chain) evict(ctx context.Context, key format.Key, a *aggregate) error {
	if !c.Archive.HasTips() || c.tail[key] || !c.applied(a.seq) {
		return c.keep(key, a)
	}
	newest, err := c.compareTip(key, a, false)
	if err != nil {
		return err
	}
	if !newest {
		return c.keep(key, a)
	}
	return c.settle(ctx, key, a)
}

// settle hands the newest event of an aggregate to the views and the claims.
func (c *chain) settle(ctx context.Context, key format.Key, a *aggregate) error {
	if err := c.claims(ctx, key, a); err != nil {
		return err
	}
	if a.seq <= c.viewEnd(c.shard) {
		return c.newest(ctx, key, a, c.shard)
	}
	return nil
}

// last ends the check of an aggregate at the end of the shard.
func (c *chain) last(ctx context.Context, key format.Key, a *aggregate) error {
	if c.Archive.HasTips() && c.applied(a.seq) {
		if _, err := c.compareTip(key, a, true); err != nil {
			return err
		}
	}
	return c.settle(ctx, key, a)
}

// compareTip compares an aggregate with its tip. If the tip store has another event, compareTip
// reports that only with must.
func (c *chain) compareTip(key format.Key, a *aggregate, must bool) (same bool, err error) {
	switch {
	case a.tip:
		c.tips++
		return true, nil
	case c.newestTips != nil && !must:
		return false, nil
	}
	tip, err := c.Archive.Tip(c.shard, key)
	fault := c.faultOf(key, a)
	switch {
	case errors.Is(err, eventstore.ErrNotFound) && must:
		c.tips++
		return true, fault("the tip store does not have the aggregate")
	case errors.Is(err, eventstore.ErrNotFound):
		return false, nil
	case err != nil:
		c.tips++
		return true, fault("the tip store cannot be read: %s", err)
	case tip.Seq != a.seq && !must:
		return false, nil
	}
	c.tips++
	switch {
	case tip.Seq != a.seq:
		return true, fault("the tip store has revision %d in group %d as the newest event", tip.Revision, format.GroupOf(tip.Seq))
	case tip.Key != key || tip.Number != a.number || tip.PrevSeq != a.previous || tip.Revision != a.revision || tip.Hash != a.hash || tip.Link(a.before) != a.hash:
		return true, fault("the tip store has other bytes of the event")
	}
	return true, nil
}

func (c *chain) faultOf(key format.Key, a *aggregate) func(difference string, args ...any) error {
	return func(difference string, args ...any) error {
		return c.report(faultAt(a.stream, key, format.GroupOf(a.seq), a.revision, difference, args...))
	}
}

// finish ends the check of all aggregates of the shard that are still open.
func (c *chain) finish(ctx context.Context) error {
	for _, old := range c.cache.all() {
		if err := c.last(ctx, old.key, old.aggregate); err != nil {
			return err
		}
	}
	if c.away == 0 {
		return nil
	}
	return c.scratch.each(c.shard, func(key format.Key, a *aggregate) error { return c.last(ctx, key, a) })
}
