package restore

import (
	"context"
	"errors"
	"fmt"

	"payledger/eventstore/embedded"
	"payledger/eventstore/folder"
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
		if err := to.compareIn(ctx, dir); err != nil {
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

// compareIn reads a stream back from its files.
func (s *stream) compareIn(ctx context.Context, dir string) error {
	return s.compare(func(handle func(stored.Message) error) error {
		found, err := folder.Read(dir, s.name, folder.Reading{Pace: func(int) error { return ctx.Err() }, Handle: stored.Standing(handle)})
		if err == nil && (len(found.Faults) > 0 || found.Torn != nil || found.Unfinished) {
			err = errors.New("restore: its files are damaged: the disk or the memory is faulty")
		}
		return err
	})
}
