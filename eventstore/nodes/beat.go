package nodes

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// pause is the wait before the records are read again.
	pause     = 20 * time.Millisecond
	beatPause = 100 * time.Millisecond
)

// keptEnds is how many records of ended nodes stay in the stream. A node that was ended finds its
// end, or no record: both mean the same.
const keptEnds = 32

var (
	errReplaced = errors.New("the record of this node has changed since this node wrote it")
	errUnread   = errors.New("a record was not read yet")
	errOld      = errors.New("the server has not stored the newest record of this node yet")
)

func (r *Registry) run(ctx context.Context) {
	next := time.NewTimer(r.Beat)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		case <-r.kick:
		}
		after := r.Beat
		if err := r.round(ctx); err != nil {
			if ctx.Err() != nil {
				return
			}
			r.Logger.Debug().Err(err).Msg("the record of this node was not written; trying again")
			after = beatPause
		}
		next.Reset(after)
	}
}

// round beats once, reads all records up to the beat, and ends silent nodes.
func (r *Registry) round(ctx context.Context) error {
	r.rounds.Lock()
	defer r.rounds.Unlock()
	r.judge()
	joined, err := r.beat(ctx)
	if err != nil {
		return err
	}
	r.mu.Lock()
	if joined > 0 && joined == r.joins && r.state == Serving && !r.open && r.entering != joined {
		r.entering = joined
		r.loops.Go(func() { r.enter(joined) })
	}
	r.mu.Unlock()
	reading, cancel := context.WithTimeout(ctx, r.ReadTime)
	defer cancel()
	if err := r.surely(reading, func() error { return r.refresh(reading) }); err != nil {
		return err
	}
	r.mu.Lock()
	r.work.recordsAsOf = r.work.lastBeatSent
	for _, p := range r.peers {
		if r.work.recordsAsOf-p.since >= r.Absence {
			r.work.lose(p)
		}
	}
	close(r.rounded)
	r.rounded = make(chan struct{})
	r.mu.Unlock()
	return r.endSilent(ctx)
}

// beat writes the record of this node, and renews the lease. joined is the join of a record that
// says Serving, else 0.
func (r *Registry) beat(ctx context.Context) (joined int, err error) {
	record, joins := r.own()
	r.Settle()
	sent, day := r.Clock(), r.Now()
	r.mu.Lock()
	expected := r.seq
	record.Term = r.work.next(sent)
	r.mu.Unlock()
	seq, err := r.write(ctx, record, expected)
	if errors.Is(err, errReplaced) {
		return 0, errors.Join(err, r.findOwn(ctx))
	}
	if err != nil {
		return 0, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seq, r.until = seq, sent+r.Lease
	acked := r.Clock()
	r.day.beat, r.day.sent, r.day.acked, r.day.at = seq, sent, acked, day.Add((acked-sent)/2)
	r.work.beat(record.Term, sent, acked, r.Tenure)
	if record.State != Serving {
		joins = 0
	}
	return joins, nil
}

// write replaces the record of a node, if its sequence is the expected one.
func (r *Registry) write(ctx context.Context, record Record, expected uint64) (uint64, error) {
	data, err := json.Marshal(record)
	if err != nil {
		return 0, err
	}
	ack, err := r.API.Publish(ctx, &nats.Msg{Subject: root + record.Node, Data: data, Header: nats.Header{
		nats.ExpectedLastSubjSeqHdr: {strconv.FormatUint(expected, 10)},
	}})
	switch {
	case err != nil:
		return 0, err
	case ack.Error != nil && ack.Error.Taken():
		return 0, errReplaced
	case ack.Error != nil:
		return 0, ack.Error
	}
	return ack.Seq, nil
}

// findOwn determines why this node's newest record differs from its last write: a beat without an
// answer was stored, or the record was ended. An ended node joins again with its next beat.
func (r *Registry) findOwn(ctx context.Context) error {
	all, err := r.read(ctx)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	own, found := all[r.Self.Node]
	if found && own.seq < r.seq {
		return errOld
	}
	if (!found || own.State == Ended) && r.state != Ended {
		if r.state == Serving {
			r.Logger.Warn().Str("by", own.EndedBy).Msg("this node was cut off from the other nodes, and joins again")
			r.joins++
		}
		r.shut()
	}
	r.seq = own.seq // 0: none
	return nil
}

// enter applies the log after a join that is stored, and lets the node answer requests. A later
// join makes it void.
func (r *Registry) enter(joins int) {
	began, ended := r.Clock(), r.endedNodes()
	err := r.CatchUp(r.life)
	if err == nil {
		r.count(ended, began)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.joins != joins || r.state != Serving:
	case err != nil:
		r.Logger.Debug().Err(err).Msg("this node did not apply the log after it joined; trying again")
		r.entering = 0 // the next beat begins again
	default:
		r.open = true
		close(r.entered)
	}
}
