package restore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"payledger/eventstore/embedded"
	"payledger/eventstore/folder"
	"payledger/eventstore/secretlog"
	"payledger/eventstore/stored"
)

// Folder makes the folder of an embedded server, durably. After an error the folder is incomplete:
// the caller removes it.
func (b *Backup) Folder(ctx context.Context, dir string, progress func(done, of uint64)) error {
	s, err := embedded.Start(embedded.Config{Dir: dir, Name: "payledger", Unsynced: true})
	if err != nil {
		return err
	}
	t, err := b.publish(ctx, s, progress)
	if err = errors.Join(err, s.Close()); err != nil {
		return err
	}
	for _, to := range t.streams {
		if err := to.compare(ctx, dir); err != nil {
			return err
		}
	}
	return folder.SyncAll(dir)
}

func (b *Backup) publish(ctx context.Context, s *embedded.Server, progress func(done, of uint64)) (*target, error) {
	nc, err := s.Connect()
	if err != nil {
		return nil, fmt.Errorf("restore: %w", err)
	}
	defer nc.Close()
	t, err := newTarget(nc, 1)
	if err == nil {
		err = b.into(ctx, t, progress)
	}
	return t, err
}

// compare reads a stream back from its files: every message must stand there with its bytes.
func (s *stream) compare(ctx context.Context, dir string) error {
	digest := sha256.New()
	filler, _ := secretlog.Filler(s.name)
	found, err := folder.Read(dir, s.name, folder.Reading{
		Pace: func(int) error { return ctx.Err() },
		Handle: stored.Standing(func(r stored.Message) error {
			if r.Subject != filler {
				note(digest, r)
			}
			return nil
		}),
	})
	if err != nil {
		return err
	}
	if len(found.Faults) > 0 || found.Torn != nil || found.Unfinished || !bytes.Equal(digest.Sum(nil), s.digest.Sum(nil)) {
		return fmt.Errorf("restore: %s is not what was written to it: the disk or the memory is faulty", s.name)
	}
	return nil
}
