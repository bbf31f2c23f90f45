// Package benchlog makes the log that benchmarks of several packages read. Only tests import it.
//
// It stands above package eventstoretest: it runs the writer of checkpoints.
package benchlog

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/eventstore/checkpointlog"
	"payledger/eventstore/embedded"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/ordered"
	"payledger/eventstore/secrets"
)

var folder = flag.String("benchlog", "", "folder of the log that a benchmark reads; made if it is missing or empty, and kept")

var account = domain.NewAccountID([16]byte{7})

const writers = 512 // how many payments Dir makes at the same moment: enough that the groups of the log are large

// Dir returns the folder of a stopped log for benchmarks: a fresh one of n payments under
// checkpoints, or, with -benchlog, the one in that folder, whatever its size. Its secrets have
// eventstoretest.MasterKey. A benchmark must append nothing to it.
func Dir(b *testing.B, n int) (dir string) {
	b.Helper()
	dir = *folder
	if dir == "" {
		dir = filepath.Join(b.TempDir(), "log")
	}
	if there, err := os.ReadDir(dir); err == nil && len(there) > 0 {
		return dir
	}
	part := dir + ".part" // an interrupted benchmark leaves no half log in the folder
	err := os.RemoveAll(part)
	if err == nil {
		err = makeLog(b.Context(), part, n)
	}
	if err == nil {
		err = os.RemoveAll(dir) // it is empty
	}
	if err == nil {
		err = os.Rename(part, dir)
	}
	if err != nil {
		b.Fatal(err)
	}
	return dir
}

// Open opens the log of Dir for the benchmark's life, as the service opens its own.
func Open(b *testing.B, n int) *engine.Store {
	b.Helper()
	return eventstoretest.Open(b, Dir(b, n))
}

func makeLog(ctx context.Context, dir string, n int) error {
	server, err := embedded.Start(embedded.Config{Dir: dir, Name: "test"})
	if err != nil {
		return err
	}
	store, err := engine.Open(ctx, eventstoretest.Config(server))
	if err != nil {
		return errors.Join(err, server.Close())
	}
	return errors.Join(generateCovered(ctx, store, n), store.Close(), server.Close())
}

// generateCovered appends n payments, and returns when checkpoints cover them.
func generateCovered(ctx context.Context, store *engine.Store, n int) error {
	vault, err := secrets.Open(ctx, store, eventstoretest.MasterKey, rand.Reader)
	if err != nil {
		return err
	}
	signer, _, err := vault.CheckpointSigner(ctx)
	if err != nil {
		return err
	}
	fanout := eventstore.NewFanout(store)
	writer, err := checkpointlog.NewWriter(ctx, store.Checkpoints(), fanout.Reader, signer)
	if err != nil {
		return err
	}
	running, cancel := context.WithCancel(ctx)
	var loops sync.WaitGroup
	var read, covered error
	loops.Go(func() { read = fanout.Run(running) })
	loops.Go(func() { covered = writer.Run(running) })
	_, err = eventstoretest.Generate(ctx, store, account, n, writers)
	if err == nil {
		err = ordered.New(store).Await(ctx, store.Events()-1)
	}
	cancel()
	loops.Wait()
	return errors.Join(err, read, covered)
}
