package eventstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"payledger/eventstore/blocks"
	"payledger/eventstore/tipstore"
	"strings"

	"github.com/nats-io/nats.go"
)

// openSide brings the index up to the streams, and goes on with destructions that were begun.
func (s *Store) openSide(ctx context.Context) error {
	if !s.indexed() {
		return nil
	}
	streams, err := blocks.Streams(s.embedded.dir, ledgerAccount)
	if err != nil {
		return fmt.Errorf("eventstore: %w", err)
	}
	for _, stream := range streams {
		if _, side := sideStreams[stream]; !side {
			continue
		}
		if err := s.enterNew(ctx, stream); err != nil {
			return err
		}
	}
	dying, err := s.sideNames(dyingPrefix, secretStream, "")
	if err != nil || len(dying) == 0 {
		return err
	}
	return s.destroyAgain(ctx, dying)
}

// enterNew enters the records behind the safe sequence.
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
	p.acked, p.safe = max(acked, last), max(acked, last)
	s.side.Unlock()
	s.witnessed(stream, p.acked)
	return nil
}

// enter enters one record that was read from a file.
func enter(batch tipstore.Batch, stream string, safe uint64, r blocks.Record) error {
	name, root := "", sideRoots[stream]
	switch {
	case r.Seq <= safe:
		return nil
	case r.Tombstone:
		return batch.Delete(recordKey(stream, r.Seq))
	case r.Erased:
		return nil
	case root != "":
		name = strings.TrimPrefix(r.Subject, root)
	}
	if stream == checkpointStream || stream == positionStream || stream == secretStream && name == secretFence || bytes.Contains(r.Header, []byte(nats.MsgRollup+":")) {
		return setNewest(batch, stream, r.Seq, name, r.Body)
	}
	return setRecord(batch, stream, r.Seq, name, r.Body)
}

// destroyAgain ends destructions that a stop interrupted.
func (s *Store) destroyAgain(ctx context.Context, names map[string]uint64) error {
	stream, err := s.js.Stream(ctx, secretStream)
	if err != nil {
		return fmt.Errorf("eventstore: %s: %w", secretStream, err)
	}
	for _, seq := range names {
		if err := stream.SecureDeleteMsg(ctx, seq); err == nil {
			continue
		}
		_, err := s.messageAtLeader(ctx, "$JS.API.STREAM.MSG.GET."+secretStream, getRequest{Seq: seq})
		if !errors.Is(err, ErrNotFound) {
			return fmt.Errorf("eventstore: destroy secret: sequence %d could not be destroyed: %w", seq, err)
		}
	}
	return s.sideGone(names)
}
