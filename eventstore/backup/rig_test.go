package backup_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/eventstore/archive"
	"payledger/eventstore/backup"
	"payledger/eventstore/backup/restore"
	"payledger/eventstore/blocks"
	"payledger/eventstore/checkpointlog"
	"payledger/eventstore/embedded"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/folder"
	"payledger/eventstore/secretlog"
	"payledger/eventstore/secrets"
	"payledger/eventstore/stored"
	"payledger/eventstore/streams"
	"payledger/eventstore/verify"
)

// rig is a log with small segments, and the folders of its back-up.
type rig struct {
	dir, out, keys string
	large          bool          // segments of the usual size
	every          time.Duration // between two checkpoints under load; 0: 1 ms

	server *embedded.Server
	store  *engine.Store
	vault  *secretlog.Stream
	stop   func()
}

func newRig(t testing.TB) *rig {
	t.Helper()
	dir := t.TempDir()
	r := &rig{dir: filepath.Join(dir, "log"), out: filepath.Join(dir, "out"), keys: filepath.Join(dir, "keys")}
	r.start(t)
	t.Cleanup(func() { r.halt(t) })
	return r
}

// start opens the log, and writes checkpoints of it.
func (r *rig) start(t testing.TB) {
	t.Helper()
	ctx := context.Background()
	var err error
	if r.server, err = embedded.Start(embedded.Config{Dir: r.dir, Name: "test"}); err != nil {
		t.Fatal(err)
	}
	c := eventstoretest.Config(r.server)
	c.Shards, c.SegmentBytes, c.SecretBytes = 3, 100<<10, 8<<10
	if r.large {
		c.Shards, c.SegmentBytes, c.SecretBytes = 0, 0, 0
	}
	if r.store, err = engine.Open(ctx, c); err != nil {
		t.Fatal(err)
	}
	if r.vault, err = r.store.OpenSecrets(ctx); err != nil {
		t.Fatal(err)
	}
	every := r.every
	if every == 0 {
		every = time.Millisecond
	}
	r.stop = checkpoints(t, r.store, every)
}

// checkpoints writes checkpoints of a log until the caller calls stop.
func checkpoints(t testing.TB, store *engine.Store, every time.Duration) (stop func()) {
	t.Helper()
	ctx := context.Background()
	signer, _, err := eventstoretest.Secrets(t, store).CheckpointSigner(ctx)
	if err != nil {
		t.Fatal(err)
	}
	fanout := eventstore.NewFanout(store)
	writer, err := checkpointlog.NewWriter(ctx, store.Checkpoints(), fanout.Reader, signer)
	if err != nil {
		t.Fatal(err)
	}
	writer.Every = every
	running, cancel := context.WithCancel(ctx)
	var loops sync.WaitGroup
	loops.Go(func() { _ = fanout.Run(running) })
	loops.Go(func() { _ = writer.Run(running) })
	return func() { cancel(); loops.Wait() }
}

// checkpointed waits until there is a checkpoint.
func (r *rig) checkpointed(t testing.TB) {
	t.Helper()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for end := time.Now().Add(time.Minute); ; <-again.C {
		if _, err := r.store.Checkpoints().Last(context.Background()); err == nil {
			return
		} else if !errors.Is(err, eventstore.ErrNotFound) || time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// halt stops the log.
func (r *rig) halt(t testing.TB) {
	t.Helper()
	if r.store == nil {
		return
	}
	r.stop()
	if err := errors.Join(r.store.Close(), r.server.Close()); err != nil {
		t.Error(err)
	}
	r.store = nil
}

// fill appends payments, deliveries, positions and secrets, and destroys most of the secrets.
func (r *rig) fill(t testing.TB, name string, payments int) []domain.PaymentID {
	t.Helper()
	ctx := context.Background()
	ids, err := eventstoretest.Generate(ctx, r.store, domain.AccountID("account"+name), payments, 16)
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	defer running.Wait()
	for w := range 8 {
		running.Go(func() { r.fillBeside(t, name, w, 2*payments) })
	}
	return ids
}

// fillBeside appends every eighth of n records beside the log, from a first one on.
func (r *rig) fillBeside(t testing.TB, name string, from, n int) {
	ctx := context.Background()
	for i := from; i < n; i += 8 {
		secret := fmt.Sprintf("personal.%s.%d", name, i)
		err := r.vault.Create(ctx, secret, fmt.Appendf(nil, "value of %s", secret))
		if err == nil && i%5 > 0 {
			err = eventstoretest.Again(ctx, func() error { return r.vault.Destroy(ctx, secret) })
		}
		if err == nil {
			_, err = r.store.Deliveries().Put(ctx, fmt.Sprintf("account.delivery.endpoint.%s%d.kind", name, i), 0, []byte(secret), i%2 == 0)
		}
		if err == nil {
			err = eventstoretest.SavePosition(ctx, r.store.Deliveries(), fmt.Sprint("reader", i%3), []uint64{0, 0, uint64(i)})
		}
		if err != nil {
			t.Error(err)
			return
		}
	}
}

// source returns the source of the running or stopped log.
func (r *rig) source(t testing.TB) *backup.Source {
	t.Helper()
	if r.store != nil {
		return backup.Running(r.dir, r.store.Cut)
	}
	s, err := backup.Stopped(context.Background(), r.dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (r *rig) config(s *backup.Source) backup.Config {
	return backup.Config{Source: s, Out: r.out, Keys: r.keys, Now: time.Now}
}

// backup makes a back-up.
func (r *rig) backup(t testing.TB) backup.Result {
	t.Helper()
	s := r.source(t)
	result, err := backup.Run(context.Background(), r.config(s))
	if err = errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	return result
}

// restored restores the back-up, opens the log once and verifies it. It returns the folder.
func (r *rig) restored(t testing.TB) (dir string, b *restore.Backup) {
	t.Helper()
	b, err := restore.Open(r.out, r.keys)
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(t.TempDir(), "restored")
	if err := b.Folder(context.Background(), dir, nil); err != nil {
		t.Fatal(err)
	}
	other := &rig{dir: dir}
	other.start(t)
	other.halt(t)
	verified(t, dir)
	return dir, b
}

// verified checks a stopped log.
func verified(t testing.TB, dir string) verify.Result {
	t.Helper()
	files, err := archive.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	key, err := secrets.Verifier(secretlog.Stopped(dir), eventstoretest.MasterKey)
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := note.NewVerifier(key)
	if err != nil {
		t.Fatal(err)
	}
	result, err := verify.Run(context.Background(), verify.Config{Archive: files, Verifier: verifier, Report: func(f verify.Fault) error {
		t.Errorf("%s: %s", dir, f)
		return nil
	}})
	if err = errors.Join(err, files.Close()); err != nil {
		t.Fatal(err)
	}
	return result
}

// messages returns the messages of a stopped log, by stream and sequence.
func messages(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	names, err := folder.Streams(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		_, err := blocks.Verify(dir, streams.Account, name, blocks.Options{Deletes: true, Handle: func(m stored.Message) error {
			place := fmt.Sprint(name, " ", m.Seq)
			if delete(all, place); !m.Tombstone && !m.Erased {
				all[place] = fmt.Sprintf("%s %s %x", m.Subject, m.Header, m.Body)
			}
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// standing returns the names of secrets that have a value in a stopped log, with the values.
func standing(t testing.TB, dir string) (names []string) {
	t.Helper()
	other := &rig{dir: dir}
	other.start(t)
	defer other.halt(t)
	names, err := other.vault.Names(context.Background(), "personal")
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		value, err := other.vault.Get(context.Background(), name)
		if err != nil {
			t.Fatal(err)
		}
		names[i] += " = " + string(value)
	}
	slices.Sort(names)
	return names
}
