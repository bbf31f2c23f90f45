package sidelog

import (
	"context"
	"errors"
	"fmt"

	"payledger/eventstore/fault"
	"payledger/eventstore/jetapi"
)

// CatchUp adds the newest record of CHECKPOINTS on an embedded server, if the index does not have
// it yet.
func (x *Index) CatchUp(ctx context.Context, log *Log) error {
	if x.Tips == nil {
		return nil
	}
	for _, g := range log.All() {
		info, err := log.JS.Stream(ctx, g.Stream)
		if err == nil {
			err = x.enterNew(ctx, log, g, info.CachedInfo().State.LastSeq)
		}
		if err != nil {
			return fmt.Errorf("eventstore: %s: %w", g.Stream, err)
		}
	}
	return nil
}

// enterNew adds the last record of a segment, unless the index is whole up to it.
func (x *Index) enterNew(ctx context.Context, log *Log, g Segment, last uint64) error {
	acked, safe := ParseWitness(x.Value(WitnessKey(g.Stream)))
	if safe < last && g.First <= last {
		newest, err := log.API.AtLeader(ctx, g.Stream, jetapi.Get{Seq: last})
		if errors.Is(err, fault.ErrNotFound) {
			return x.Damage(g.Stream, last, "the newest record is missing")
		}
		if err != nil {
			return err
		}
		batch := x.Tips.NewBatch()
		if err := errors.Join(batch.Set(newestKey(g.Stream), Entry{last, DigestOf(newest.Body)}.Encode()), batch.Commit()); err != nil {
			return err
		}
	}
	x.Witnessed(g.Stream, max(acked, last))
	return nil
}
