package restore

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"payledger/eventstore/archive"
	"payledger/eventstore/backup"
	"payledger/eventstore/external"
	"payledger/eventstore/jetapi"
	"payledger/eventstore/remote"
	"payledger/eventstore/secretlog"
	"payledger/eventstore/stored"
	"payledger/eventstore/streams"
)

// ErrLedger means that the cluster holds a ledger, or streams of a ledger that no restore made.
var ErrLedger = errors.New("a restore needs a cluster without a ledger")

// firstStream is made first and completed last: its mark tells a node that the log is incomplete.
var firstStream = streams.Name(0, 1)

// Target is a cluster that the log is restored to.
type Target struct {
	Access    external.Access
	Replicas  int
	Placement *jetstream.Placement // of all streams; nil: no limit
	// Verify checks the log before nodes may serve it.
	Verify   func(context.Context, *archive.Archive, secretlog.Reader) error
	Progress func(done, of uint64)
	// Stepped, if set, is called after each step, and an error ends the restore there, as a kill
	// does (tests).
	Stepped func(step string) error
}

// Unused returns nil if the cluster holds nothing, or a part that a restore left behind.
func Unused(ctx context.Context, a external.Access) error {
	nc, err := a.Connect(nats.Name("payledger restore"))
	if err != nil {
		return err
	}
	defer nc.Close()
	t, err := newTarget(nc, 0)
	if err != nil {
		return err
	}
	_, err = t.leftovers(ctx)
	return err
}

// Cluster makes the log on an external cluster. It first removes the remains of an interrupted
// restore. Until the end no node serves the log.
func (b *Backup) Cluster(ctx context.Context, to Target) error {
	if len(b.Streams) == 0 || b.Streams[0] != firstStream {
		return fmt.Errorf("%w: its first stream is not %s", backup.ErrDamaged, firstStream)
	}
	nc, err := to.Access.Connect(append(jetapi.External(), nats.Name("payledger restore"))...)
	if err != nil {
		return err
	}
	defer nc.Close()
	t, err := newTarget(nc, to.Replicas)
	if err != nil {
		return err
	}
	t.placement = to.Placement
	t.mark, t.stepped = rand.Text(), to.Stepped
	if err := t.remove(ctx); err != nil {
		return err
	}
	if err := b.into(ctx, t, to.Progress); err != nil {
		return err
	}
	if err := b.check(ctx, t, to); err != nil {
		return err
	}
	if err := t.step("verified"); err != nil {
		return err
	}
	return t.complete(ctx)
}

// leftovers returns the streams that a restore left behind, the first one last. A cluster with
// other streams of a ledger is ErrLedger.
func (t *target) leftovers(ctx context.Context) (names []string, err error) {
	marked, first := false, false
	list, err := jetapi.ListStreams(ctx, t.js, "")
	if err != nil {
		return nil, fmt.Errorf("NATS: list of streams: %w", err)
	}
	for _, info := range list {
		name := info.Config.Name
		if !streams.Ours(name) {
			continue
		}
		if name == firstStream {
			first, marked = true, streams.Restoring(info.Config.Metadata)
			continue
		}
		names = append(names, name)
	}
	switch {
	case marked:
		return append(names, firstStream), nil
	case first:
		return nil, fmt.Errorf("%w, and this one holds a ledger: give another cluster with --nats-url; nothing was changed", ErrLedger)
	case len(names) > 0:
		return nil, fmt.Errorf("%w, and this one has the streams %v of an init that was cut short: delete them, or give another cluster; nothing was changed", ErrLedger, names)
	}
	return nil, nil
}

func (t *target) remove(ctx context.Context) error {
	names, err := t.leftovers(ctx)
	for _, name := range names {
		if err == nil {
			err = jetapi.DeleteStream(ctx, t.js, name)
		}
	}
	return err
}

// check reads all messages back, compares them with the written messages, and verifies the log.
func (b *Backup) check(ctx context.Context, t *target, to Target) error {
	log, err := remote.OpenRestoring(ctx, to.Access)
	if err != nil {
		return err
	}
	defer log.Close()
	for _, s := range t.streams {
		if err := s.compareOn(ctx, log); err != nil {
			return err
		}
	}
	ends := map[int]uint64{}
	for _, e := range b.Ends {
		ends[e.Shard] = e.Sequence
	}
	files := archive.OfServed(archive.Served{Log: log, Ends: ends, Events: b.Events, Secrets: t.secretsEnd()})
	return to.Verify(ctx, files, log.Secrets())
}

// secretsEnd returns the last sequence of SECRETS that has a message.
func (t *target) secretsEnd() (last uint64) {
	for name, s := range t.streams {
		if streams.KindIn(name).Destroys {
			last = max(last, s.kept)
		}
	}
	return last
}

// compareOn reads a stream back from the cluster.
func (s *stream) compareOn(ctx context.Context, log *remote.Log) error {
	return s.compare(func(handle func(stored.Message) error) error {
		if s.kept == 0 {
			return nil
		}
		return log.Read(ctx, s.name, s.first, s.kept, s.fillers > 0 || streams.KindIn(s.name).Destroys, handle)
	})
}

// compare compares the messages that are read back with those that were written: every one must
// stand there with its bytes. A replica may not have purged the fillers yet.
func (s *stream) compare(read func(handle func(stored.Message) error) error) error {
	digest := sha256.New()
	filler, _ := secretlog.Filler(s.name)
	err := read(func(r stored.Message) error {
		if r.Subject != filler {
			note(digest, r)
		}
		return nil
	})
	if err == nil && !bytes.Equal(digest.Sum(nil), s.digest.Sum(nil)) {
		err = errors.New("restore: it is not what was written to it: a disk or the memory is faulty")
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", s.name, err)
	}
	return err
}

// complete makes the streams that a back-up of a folder may lack, and removes the mark: from then
// on nodes serve the log.
func (t *target) complete(ctx context.Context) error {
	there, err := t.js.Stream(ctx, firstStream)
	if err != nil {
		return fmt.Errorf("restore: %s: %w", firstStream, err)
	}
	config := there.CachedInfo().Config
	if config.Metadata[streams.MetadataRestore] != t.mark {
		return errors.New("restore: another restore into this cluster has begun: wait for its end")
	}
	maps.DeleteFunc(config.Metadata, func(key, _ string) bool {
		return key == streams.MetadataRestore || strings.HasPrefix(key, serverMetadata)
	})
	if _, err := t.js.UpdateStream(ctx, config); err != nil {
		return fmt.Errorf("restore: the log is complete, but its mark could not be removed: %w; repeat the command", err)
	}
	return t.step("complete")
}

// beside checks that a cluster's log gets the streams that a log in a folder gets at their first
// use.
func (b *Backup) beside(t *target) error {
	if t.replicas == 1 {
		return nil
	}
	for _, shard := range streams.Beside {
		if len(streams.Segments(shard, b.Streams)) == 0 {
			return fmt.Errorf("%w: it has no %s", backup.ErrDamaged, streams.Shard(shard))
		}
	}
	if len(streams.Segments(streams.SecretShard, slices.Collect(maps.Keys(t.streams)))) == 0 {
		return fmt.Errorf("%w: the keys have no segment of %s", backup.ErrDamaged, streams.Secrets)
	}
	return nil
}

func (t *target) step(name string) error {
	if t.stepped == nil {
		return nil
	}
	return t.stepped(name)
}
