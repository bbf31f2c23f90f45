package archive

import (
	"context"
	"errors"
	"time"

	"payledger/eventstore/due"
	"payledger/eventstore/fault"
	"payledger/eventstore/secretlog"
	"payledger/eventstore/stored"
	"payledger/eventstore/streams"
)

// Inspect checks that a destruction names each missing record of SECRETS.
func (s *served) Inspect(ctx context.Context, damaged Damaged) error {
	if s.Secrets == 0 {
		return nil
	}
	for {
		before := s.Log.Segments(streams.SecretShard)
		missing, err := s.missingSecret(ctx)
		if err == nil && missing > 0 {
			return damaged(streams.Secrets, missing, "the record is missing, and no destruction names it")
		}
		if err == nil || ctx.Err() != nil {
			return err
		}
		gone := false
		for _, stream := range before { // a rotation of the master key dropped it meanwhile
			away, goneErr := s.Log.Gone(ctx, stream)
			if goneErr != nil {
				return errors.Join(err, goneErr)
			}
			gone = gone || away
		}
		if !gone {
			return fault.Report(err, damaged)
		}
	}
}

// missingSecret returns a sequence without a record that no destruction names; 0: there is none. A
// record that is destroyed meanwhile is named by a later destruction.
func (s *served) missingSecret(ctx context.Context) (missing uint64, err error) {
	end, since := s.Secrets, time.Time{}
	copied, err := secretlog.NewCopy(ctx, s.Log.Secrets(), end)
	if err != nil {
		return 0, err
	}
	for {
		if err := copied.Each(ctx, end, func(stored.Message) error { return nil }); err != nil {
			return 0, err
		}
		missing, whole := copied.Whole()
		if whole {
			return 0, nil
		}
		stands, err := s.Log.Secret(ctx, missing)
		if err == nil {
			s.noteReplica(streams.Secrets, missing)
			if err := copied.Late(stands); err != nil {
				return 0, err
			}
			continue
		}
		if !errors.Is(err, fault.ErrNotFound) {
			return 0, err
		}
		last, err := s.Log.SecretsEnd(ctx)
		switch {
		case err != nil:
			return 0, err
		case last > end:
			end, since = last, time.Time{}
			continue
		case since.IsZero():
			since = time.Now()
		}
		if time.Since(since) >= s.Log.Patience() { // else the leader may be without its cluster
			return missing, nil
		}
		if err := due.Rest(ctx, laterPause, nil); err != nil {
			return 0, err
		}
	}
}
