package sidelog

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"payledger/eventstore/blocks"
)

const batchBytes = 1 << 20 // the size from which a batch of the index is written

// CatchUp adds the records in the files of an embedded server that the index does not have yet. It leaves SECRETS out.
func (x *Index) CatchUp(ctx context.Context, js jetstream.JetStream, dir, account string) error {
	if x.Tips == nil {
		return nil
	}
	names, err := blocks.Streams(dir, account)
	if err != nil {
		return fmt.Errorf("eventstore: %w", err)
	}
	for _, stream := range names {
		if _, beside := Beside(stream); !beside || IsSecrets(stream) {
			continue
		}
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

// enterNew adds the records of a stream between the safe and the last sequence.
func (x *Index) enterNew(stream string, last uint64, dir, account string) error {
	acked, safe := ParseWitness(x.Value(WitnessKey(stream)))
	if safe < last {
		batch := x.Tips.NewBatch()
		_, err := blocks.Verify(dir, account, stream, blocks.Options{Deletes: true, Handle: blocks.Standing(func(r blocks.Record) error {
			if r.Seq <= safe {
				return nil
			}
			if err := setNewest(batch, stream, r.Seq, RecordName(stream, r.Subject), r.Body); err != nil || batch.Len() < batchBytes {
				return err
			}
			err := batch.Commit()
			batch = x.Tips.NewBatch()
			return err
		})})
		if err = errors.Join(err, batch.Commit()); err != nil {
			return err
		}
	}
	x.Witnessed(stream, max(acked, last))
	return nil
}
