package restore

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"payledger/eventstore/backup"
	"payledger/eventstore/format"
	"payledger/eventstore/secretlog"
	"payledger/eventstore/stored"
	"payledger/eventstore/streams"
)

func (b *Backup) into(ctx context.Context, t *target, progress func(done, of uint64)) error {
	done := uint64(0)
	for _, name := range b.Streams {
		if err := b.stream(ctx, t, name, func(events uint64) {
			if done += events; progress != nil {
				progress(done, b.Events)
			}
		}); err != nil {
			return err
		}
	}
	if err := b.secrets(ctx, t); err != nil {
		return err
	}
	return b.beside(t)
}

// stream restores one segment of a shard.
func (b *Backup) stream(ctx context.Context, t *target, name string, events func(uint64)) error {
	var to *stream
	counted := streams.KindIn(name).Events
	err := b.chain.ReadStream(ctx, name, func(h backup.Header) (err error) {
		if to == nil {
			to, err = t.create(ctx, name, h.Configs[name])
		}
		return err
	}, func(m stored.Message) error {
		if counted {
			events(format.CountFrames(m.Body))
		}
		return t.keep(ctx, to, m)
	})
	if err != nil {
		return err
	}
	if to == nil {
		return fmt.Errorf("%w: it has no file of %s", backup.ErrDamaged, name)
	}
	if err := t.flush(ctx); err != nil {
		return err
	}
	if err := t.purge(ctx, to, ""); err != nil {
		return err
	}
	return t.step("filled " + name)
}

func (b *Backup) secrets(ctx context.Context, t *target) error {
	var segments []string
	_, err := backup.Read(b.keys, func(h backup.Header) error { return b.createSecrets(ctx, t, h, &segments) }, func(m stored.Message) error {
		to := t.streams[secretlog.StreamOf(m.Subject)]
		if to == nil {
			return b.damaged(m.Seq, fmt.Errorf("subject %q", m.Subject))
		}
		if b.ended.Has(m.Seq) {
			return nil
		}
		if err := t.fill(ctx, to, m.Seq); err != nil {
			return err
		}
		return t.keep(ctx, to, m)
	})
	for i := 1; i < len(segments) && err == nil; i++ { // a segment ends where the next one begins
		err = t.fill(ctx, t.streams[segments[i-1]], t.streams[segments[i]].first)
	}
	if err == nil {
		err = t.flush(ctx)
	}
	for _, name := range segments {
		if err == nil {
			subject, _ := secretlog.Filler(name)
			err = t.purge(ctx, t.streams[name], subject)
		}
	}
	return err
}

// fill publishes a filler for every sequence before a message.
func (t *target) fill(ctx context.Context, to *stream, before uint64) error {
	subject, body := secretlog.Filler(to.name)
	for to.next < before {
		to.fillers++
		if err := t.publish(ctx, to, stored.Message{Seq: to.next, Subject: subject, Body: body}); err != nil {
			return err
		}
	}
	return nil
}

func (b *Backup) createSecrets(ctx context.Context, t *target, h backup.Header, segments *[]string) error {
	*segments = streams.Segments(streams.SecretShard, slices.Collect(maps.Keys(h.Configs)))
	for _, name := range *segments {
		if _, err := t.create(ctx, name, h.Configs[name]); err != nil {
			return err
		}
	}
	return nil
}
