package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"payledger/eventstore/due"
	"payledger/eventstore/fault"
	"payledger/eventstore/format"
	"payledger/eventstore/handover"
	"payledger/eventstore/jetapi"
	"payledger/eventstore/secretlog"
	"payledger/eventstore/streams"
	"payledger/eventstore/workers"
)

const (
	// cutPatience bounds the search for a moment of a cut. It is longer than an election.
	cutPatience = 3 * time.Minute
	// cutPause is the wait between two attempts within a hold.
	cutPause = 3 * time.Millisecond
	// firstHold is how long the nodes hold their groups the first time.
	firstHold = 100 * time.Millisecond
	// coverPatience bounds the wait for the checkpoint of the newest events, while no node appends.
	coverPatience = 15 * time.Second
)

// ErrBusy means that no moment was found at which the ends of all shards stood still for two reads,
// although the nodes were requested to hold their groups.
var ErrBusy = errors.New("the nodes append without any pause, so no moment was found that is the same in all shards: repeat the command when the NATS servers answer faster")

// ErrNoNode means that a node ended after it had closed a segment, and before the next segment
// existed.
var ErrNoNode = errors.New("a segment of the log is closed, and no node has made the next one: start a node, and repeat the command")

// ErrUncovered means that the newest events have no checkpoint, and no node writes it.
var ErrUncovered = errors.New("the newest events have no position yet, because no node has written their checkpoint, and a restore could give them other positions than the ledger does: " +
	"start a node with views (--role all or views), which writes it within a second, and repeat the command")

// Cut is a moment of the log. The newest checkpoint covers exactly the events up to it. The end of
// SECRETS is from after it.
type Cut struct {
	Heads   map[int]format.Head // by shard, those beside the log included
	Secrets uint64              // all messages of SECRETS up to it are acknowledged
	Dropped uint32              // the newest segment of deliveries that is gone
}

type end struct {
	head   format.Head
	log    format.LogID
	stream string // that takes the next group
	closed bool   // the segment is closed, and the next one does not exist yet
}

// Cut returns a moment of the log that is not before the call.
func (l *Log) Cut(ctx context.Context) (c Cut, err error) {
	if err := l.list(ctx); err != nil { // before the ends: a segment of deliveries is dropped after the record that says so
		return c, err
	}
	dropped := uint32(0)
	if left := l.Segments(streams.DeliveryShard); len(left) > 0 {
		_, oldest, _ := streams.Parse(left[0])
		dropped = max(oldest, 1) - 1
	}
	if c, err = l.moment(ctx); err != nil {
		return c, err
	}
	c.Dropped = dropped
	c.Secrets, err = secretlog.Fence(ctx, l.Server())
	return c, err
}

// covered checks that the newest checkpoint covers exactly the events up to the ends. Without
// events there need be none.
func (l *Log) covered(ctx context.Context, heads map[int]format.Head) error {
	c, err := l.checkpointBefore(ctx, heads[streams.CheckpointShard])
	if err != nil {
		return fmt.Errorf("%w: %w", errSilent, err)
	}
	for shard := range l.Shards {
		switch covered := c.EventsOf(shard); {
		case covered < heads[shard].Events:
			return errUncovered
		case covered > heads[shard].Events:
			return errMoved
		}
	}
	return nil
}

// moment returns the ends of all shards at one moment, with its checkpoint. On a quiet
// log the first look finds it. Under load the nodes hold their groups for some time, and for twice
// that time if it was too short.
func (l *Log) moment(parent context.Context) (c Cut, err error) {
	ctx, cancel := context.WithTimeout(parent, cutPatience)
	defer cancel()
	c, err = l.tryMoment(ctx)
	var uncovered time.Time // since then no node has appended, and no checkpoint came
	for hold := firstHold; err != nil; hold = min(2*hold, handover.MaxHold) {
		why := ErrBusy
		switch {
		case errors.Is(err, errClosed):
			why = ErrNoNode
		case errors.Is(err, errSilent):
			why = fmt.Errorf("%w: repeat the command when a majority of the NATS servers is up", fault.ErrNoMajority)
			if place := (*fault.Place)(nil); errors.As(err, &place) {
				why = err
			}
		case errors.Is(err, errUncovered):
			why = ErrUncovered
			if uncovered.IsZero() {
				uncovered = time.Now()
			}
			if time.Since(uncovered) > coverPatience {
				return c, why
			}
		case !errors.Is(err, errMoved) && ctx.Err() == nil:
			return c, err
		}
		if !errors.Is(err, errUncovered) {
			uncovered = time.Time{}
		}
		if c, err = l.momentWithin(ctx, hold); err != nil && due.Rest(ctx, handover.HoldRest*hold, nil) != nil {
			return c, cmp.Or(parent.Err(), why)
		}
	}
	return c, nil
}

// momentWithin requests the nodes to hold their groups, and looks for the moment until the hold
// ends. Groups under way end meanwhile, and the nodes write the checkpoint at once.
func (l *Log) momentWithin(ctx context.Context, hold time.Duration) (c Cut, err error) {
	begin := time.Now()
	if err := l.api.Conn.PublishMsg(handover.HoldMessage(hold)); err != nil {
		return c, fmt.Errorf("%w: %w", errSilent, err)
	}
	for {
		c, err = l.tryMoment(ctx)
		if err == nil {
			_ = l.api.Conn.PublishMsg(handover.HoldMessage(0)) // without it the hold ends by itself
			return c, nil
		}
		if !errors.Is(err, errMoved) && !errors.Is(err, errSilent) && !errors.Is(err, errUncovered) || time.Since(begin) > hold {
			return c, err
		}
		if failed := due.Rest(ctx, cutPause, nil); failed != nil {
			return c, errors.Join(err, failed)
		}
	}
}

var (
	errMoved     = errors.New("remote: a shard has grown")
	errClosed    = errors.New("remote: a segment is closed")
	errSilent    = errors.New("remote: no answer to an append")
	errUncovered = errors.New("remote: no checkpoint covers the newest events")
)

func (l *Log) tryMoment(ctx context.Context) (c Cut, err error) {
	var ends [2]map[int]end
	for i := range ends {
		if ends[i], err = l.ends(ctx); err != nil {
			return c, err
		}
	}
	c.Heads = map[int]format.Head{}
	for shard, e := range ends[1] {
		if e.closed {
			return c, errors.Join(errClosed, errMoved, l.list(ctx))
		}
		// A later end of the checkpoints has all that is named.
		if e.head.Link != ends[0][shard].head.Link && !streams.KindOf(shard).Covers {
			return c, errMoved
		}
		c.Heads[shard] = e.head
	}
	if err = l.covered(ctx, c.Heads); err != nil {
		return c, err
	}
	return c, l.inAll(func(shard int) error { return l.confirm(ctx, shard, ends[1][shard]) })
}

func (l *Log) inAll(do func(shard int) error) error {
	shards := streams.All(l.Shards)
	errs := workers.Each(len(shards), len(shards), func(i int) error { return do(shards[i]) })
	for _, err := range errs { // an error that a repetition does not repair comes first
		if err != nil && !errors.Is(err, errMoved) && !errors.Is(err, errSilent) {
			return err
		}
	}
	return errors.Join(errs...)
}

func ofAll[T any](l *Log, read func(shard int) (T, error)) (map[int]T, error) {
	var mu sync.Mutex
	all := map[int]T{}
	return all, l.inAll(func(shard int) error {
		one, err := read(shard)
		mu.Lock()
		defer mu.Unlock()
		all[shard] = one
		return err
	})
}

func (l *Log) ends(ctx context.Context) (map[int]end, error) {
	return ofAll(l, func(shard int) (end, error) { return l.end(ctx, shard) })
}

func (l *Log) end(ctx context.Context, shard int) (e end, err error) {
	segments := l.Segments(shard)
	if len(segments) == 0 {
		return e, fault.Damage(streams.Name(shard, 1), 1, errors.New("the stream is gone"))
	}
	e.stream = segments[len(segments)-1]
	for i := len(segments) - 1; i >= 0; i-- {
		m, err := l.api.AtLeader(ctx, segments[i], jetapi.Get{LastBySubject: ">"})
		if errors.Is(err, fault.ErrNotFound) {
			continue
		}
		if err != nil {
			return e, fmt.Errorf("%w: %w", errSilent, err)
		}
		g, err := parsed(segments[i], shard, m)
		if err != nil {
			e.head.Seq = m.Seq
			return e, err
		}
		last := i == len(segments)-1
		if next := l.configs()[segments[min(i+1, len(segments)-1)]]; !last && (g.Kind != format.KindClosing || g.Seq+1 != next.FirstSeq) {
			return e, fmt.Errorf("%w: %s shows an old end", errSilent, segments[i])
		}
		e.log, e.closed = g.Log, g.Kind == format.KindClosing && last
		e.head = g.After(format.Head{Link: format.Link{Seq: g.Seq - 1, Hash: g.Before}, Events: g.Events, Aggregates: g.Aggregates})
		return e, nil
	}
	err = l.emptyEnd(shard, &e)
	return e, err
}

// emptyEnd completes the end of a shard without a group.
func (l *Log) emptyEnd(shard int, e *end) error {
	config := l.configs()[e.stream]
	if config.FirstSeq > 1 {
		return fault.Damage(e.stream, config.FirstSeq, errors.New("the groups before it are gone"))
	}
	var err error
	e.log, err = streams.LogID(config.Metadata)
	if err != nil {
		err = fault.Damage(streams.Name(shard, 1), 1, err)
	}
	return err
}

// Segments returns the names of a shard's segments in their order.
func (l *Log) Segments(shard int) []string {
	return streams.Segments(shard, slices.Collect(maps.Keys(l.configs())))
}

// confirm returns nil if no group came after the end that was read: it appends an empty group there
// (doc.go). The shard of the checkpoints is confirmed, too: an empty group may follow the
// checkpoint that covers all events, and groups of other shards name it.
func (l *Log) confirm(ctx context.Context, shard int, last end) error {
	g := &format.Group{
		Kind: format.KindEmpty, Shard: shard, Log: last.log, Seq: last.head.Seq + 1, Before: last.head.Hash,
		Events: last.head.Events, Aggregates: last.head.Aggregates, Witness: format.Witness{Shard: format.NoShard},
	}
	header := nats.Header{nats.ExpectedLastSeqHdr: {strconv.FormatUint(last.head.Seq, 10)}}
	handover.NameWriter(header, format.Writer{Visitor: true})
	of, number, _ := streams.Parse(last.stream)
	ack, err := l.api.Publish(ctx, &nats.Msg{Subject: streams.Subject(of, number), Data: g.Encode(), Header: header})
	switch {
	case err == nil && ack.Error == nil:
		return nil
	case err == nil && ack.Error.Definite(l.api.Replicas):
		return fmt.Errorf("%w: an empty group in %s: %w", fault.ErrRefused, last.stream, ack.Error)
	case err == nil && ack.Error.Taken():
		return errMoved
	default: // the outcome is unknown
		return errSilent
	}
}
