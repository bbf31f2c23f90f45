package sidelog

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"payledger/eventstore/blocks"
	"payledger/eventstore/checkpoint"
)

// CatchUp adds the newest record of CHECKPOINTS in the files of an embedded server, if the index
// does not have it yet.
func (x *Index) CatchUp(ctx context.Context, js jetstream.JetStream, dir, account string) error {
	if x.Tips == nil {
		return nil
	}
	names, err := blocks.Streams(dir, account)
	if err != nil {
		return fmt.Errorf("eventstore: %w", err)
	}
	for _, stream := range SegmentsOf(checkpoint.Stream, names) {
		info, err := js.Stream(ctx, stream)
		if err == nil {
			err = x.enterNew(stream, info.CachedInfo().State.LastSeq, dir, account)
		}
		if err != nil {
			return fmt.Errorf("eventstore: %s: %w", stream, err)
		}
	}
	return nil
}

// enterNew adds the last record of a stream, unless the index is whole up to it.
func (x *Index) enterNew(stream string, last uint64, dir, account string) error {
	acked, safe := ParseWitness(x.Value(WitnessKey(stream)))
	if safe < last {
		var newest Entry
		_, err := blocks.Verify(dir, account, stream, blocks.Options{Deletes: true, Handle: blocks.Standing(func(r blocks.Record) error {
			if r.Seq > safe {
				newest = Entry{r.Seq, DigestOf(r.Body)}
			}
			return nil
		})})
		batch := x.Tips.NewBatch()
		if err == nil && newest.Seq > 0 {
			err = batch.Set(newestKey(stream), newest.Encode())
		}
		if err = errors.Join(err, batch.Commit()); err != nil {
			return err
		}
	}
	x.Witnessed(stream, max(acked, last))
	return nil
}
