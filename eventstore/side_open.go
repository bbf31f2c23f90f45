package eventstore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"payledger/eventstore/blocks"
	"payledger/eventstore/tipstore"
)

// openSide adds the records to the index that it does not have yet.
func (s *Store) openSide(ctx context.Context) error {
	if !s.indexed() {
		return nil
	}
	streams, err := blocks.Streams(s.embedded.dir, ledgerAccount)
	if err != nil {
		return fmt.Errorf("eventstore: %w", err)
	}
	for _, stream := range streams {
		if _, side := sideStream(stream); !side || isSecrets(stream) { // OpenSecrets reads those
			continue
		}
		if err := s.enterNew(ctx, stream); err != nil {
			return err
		}
	}
	return nil
}

// enterNew adds the records of a stream after the safe sequence.
func (s *Store) enterNew(ctx context.Context, stream string) error {
	info, err := s.js.Stream(ctx, stream)
	if err != nil {
		return fmt.Errorf("eventstore: %s: %w", stream, err)
	}
	last := info.CachedInfo().State.LastSeq
	acked, safe := decodeWitness(s.sideValue(append([]byte{witnessPrefix}, stream...)))
	if safe < last {
		batch := s.tips.NewBatch()
		_, err = blocks.Verify(s.embedded.dir, ledgerAccount, stream, blocks.Options{
			Deletes: true, Handle: func(r blocks.Record) error {
				if err := enter(batch, stream, safe, r); err != nil || batch.Len() < 1<<20 {
					return err
				}
				err := batch.Commit()
				batch = s.tips.NewBatch()
				return err
			},
		})
		if err = errors.Join(err, batch.Commit()); err != nil {
			return fmt.Errorf("eventstore: %s: %w", stream, err)
		}
	}
	s.side.Lock()
	p := s.sidePlace(stream)
	p.acked = max(acked, last)
	s.side.Unlock()
	s.witnessed(stream, p.acked)
	return nil
}

// enter adds one record from a file to a batch of the index.
func enter(batch tipstore.Batch, stream string, safe uint64, r blocks.Record) error {
	name, root := "", sideRoots[stream]
	switch {
	case r.Seq <= safe:
		return nil
	case r.Tombstone, r.Erased:
		return nil
	case root != "":
		name = strings.TrimPrefix(r.Subject, root)
	}
	return setNewest(batch, stream, r.Seq, name, r.Body)
}
