package verify_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/mod/sumdb/note"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/eventstore/archive"
	"payledger/eventstore/blocks"
	"payledger/eventstore/checkpointlog"
	"payledger/eventstore/embedded"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/verify"
)

// log is a log of some payments, stopped.
type log struct {
	dir      string
	payments []domain.PaymentID
	signer   note.Signer
	verifier note.Verifier
	size     uint64
}

// made makes a log of n payments under checkpoints, and calls running before it is stopped.
func made(t testing.TB, n int, running func(l *log, s *engine.Store)) *log {
	t.Helper()
	return madeOn(t, n, 0, running, nil)
}

// madeOn is made with segments of a size; 0 takes the usual one. covered, if set, runs when
// checkpoints cover everything, before the server is stopped.
func madeOn(t testing.TB, n int, segment int64, running func(l *log, s *engine.Store), covered func(nc *nats.Conn)) *log {
	t.Helper()
	l := &log{dir: t.TempDir()}
	ctx := context.Background()
	server, err := embedded.Start(embedded.Config{Dir: l.dir, Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	config := eventstoretest.Config(server)
	config.Shards, config.SegmentBytes = 3, segment
	store, err := engine.Open(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	l.checkpoints(t, store, func() {
		if l.payments, err = eventstoretest.Generate(ctx, store, "account", n, 16); err != nil {
			t.Fatal(err)
		}
		if covered != nil { // by the checkpoints that follow
			running(l, store)
		}
	})
	switch {
	case covered != nil:
		nc, err := server.Connect()
		if err != nil {
			t.Fatal(err)
		}
		covered(nc)
		nc.Close()
	case running != nil:
		running(l, store)
	}
	if err := errors.Join(store.Close(), server.Close()); err != nil {
		t.Fatal(err)
	}
	return l
}

// checkpoints writes checkpoints while use runs, and until they cover everything.
func (l *log) checkpoints(t testing.TB, store *engine.Store, use func()) {
	t.Helper()
	if l.signer == nil {
		private, public, err := note.GenerateKey(rand.Reader, "payledger")
		if err == nil {
			l.signer, err = note.NewSigner(private)
		}
		if err == nil {
			l.verifier, err = note.NewVerifier(public)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	fanout := eventstore.NewFanout(store)
	checkpointer, err := checkpointlog.NewWriter(ctx, store.Checkpoints(), fanout.Reader, l.signer)
	if err != nil {
		t.Fatal(err)
	}
	checkpointer.Every = time.Millisecond
	var loops sync.WaitGroup
	loops.Go(func() { _ = checkpointer.Run(ctx) }) // its error is the end of ctx
	loops.Go(func() { _ = fanout.Run(ctx) })
	use()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for ; l.size < store.Events(); <-again.C {
		if c, err := store.Checkpoints().Last(ctx); err == nil {
			l.size = c.Size
		}
	}
	cancel()
	loops.Wait()
}

// faults runs a check of everything.
func (l *log) faults(t testing.TB, a *archive.Archive, change func(*verify.Config)) ([]verify.Fault, verify.Result) {
	t.Helper()
	var all []verify.Fault
	c := verify.Config{Archive: a, Verifier: l.verifier, Temp: t.TempDir(), Report: func(f verify.Fault) error {
		all = append(all, f)
		return nil
	}}
	if change != nil {
		change(&c)
	}
	result, err := verify.Run(context.Background(), c)
	if err != nil {
		all = append(all, verify.Fault{Difference: err.Error()})
	}
	if left, err := os.ReadDir(c.Temp); err != nil || len(left) > 0 {
		t.Errorf("the check left %v behind: %v", left, err)
	}
	return all, result
}

func (l *log) stopped(t testing.TB, change func(*verify.Config)) ([]verify.Fault, verify.Result) {
	t.Helper()
	a, err := archive.Open(l.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}()
	return l.faults(t, a, change)
}

// contents are the names and contents of all files of a folder.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		all[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestWholeLog: a whole log has no fault, beside the running server and after its stop, with much
// memory and with little; no byte of the folder changes.
func TestWholeLog(t *testing.T) {
	t.Parallel()
	const payments = 40
	expect := func(name string, l *log, faults []verify.Fault, got verify.Result) {
		t.Helper()
		if len(faults) > 0 {
			t.Errorf("%s: %d faults, the first: %s", name, len(faults), faults[0])
		}
		if got.Events != payments*eventstoretest.LifeEvents || got.Aggregates != payments*eventstoretest.LifeAggregates ||
			got.Size != l.size || got.Events != l.size || got.Checkpoints == 0 || !got.Tips || !got.Signed || len(got.Root) != 64 {
			t.Errorf("%s: %+v", name, got)
		}
	}
	l := made(t, payments, func(l *log, s *engine.Store) {
		a, err := s.Archive(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		faults, result := l.faults(t, a, nil)
		expect("beside the running server", l, faults, result)
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	before := contents(t, l.dir)
	faults, result := l.stopped(t, nil)
	expect("stopped", l, faults, result)
	faults, result = l.stopped(t, func(c *verify.Config) { c.Memory = 1 })
	expect("with a cache of nothing", l, faults, result)
	newest := map[string]uint64{}
	_, _ = l.stopped(t, func(c *verify.Config) {
		c.Newest = func(_ context.Context, n verify.Newest) error { newest[n.Key.ID] = n.Revision; return nil }
	})
	if len(newest) != payments*eventstoretest.LifeAggregates || newest[string(l.payments[0])] != 4 {
		t.Errorf("%d aggregates were handed on, a payment with revision %d", len(newest), newest[string(l.payments[0])])
	}
	faults, result = l.stopped(t, func(c *verify.Config) { c.Only = l.payments[7] })
	if len(faults) > 0 || result.Events != 4 {
		t.Errorf("one payment: %v %+v", faults, result)
	}
	after := contents(t, l.dir)
	for path, content := range before {
		if after[path] != content {
			t.Errorf("%s was changed", path)
		}
	}
	if len(after) != len(before) {
		t.Errorf("the folder had %d files and has %d", len(before), len(after))
	}
}

// TestForeignSignature: checkpoints of another key are found, each of them.
func TestForeignSignature(t *testing.T) {
	t.Parallel()
	l := made(t, 4, nil)
	_, public, err := note.GenerateKey(rand.Reader, "payledger")
	if err == nil {
		l.verifier, err = note.NewVerifier(public)
	}
	if err != nil {
		t.Fatal(err)
	}
	faults, result := l.stopped(t, nil)
	if result.Checkpoints == 0 || uint64(len(faults)) != min(result.Checkpoints, 100) {
		t.Errorf("%d faults of %d checkpoints: %v", len(faults), result.Checkpoints, faults)
	}
	for i, f := range faults {
		if !strings.Contains(f.String(), fmt.Sprintf("CHECKPOINTS_1 at sequence %d: it is not signed by this ledger", i+1)) {
			t.Errorf("%v", f)
		}
	}
}

// TestFlippedBit: a flipped bit of a group is found, with stream and sequence.
func TestFlippedBit(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	l := made(t, 40, nil)
	files, err := blocks.Files(blocks.Folder(l.dir, "LEDGER", "LEDGER_1_1"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	path := files[0].Path
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	faults, _ := l.stopped(t, nil)
	if len(faults) == 0 {
		t.Fatal("nothing was found")
	}
	for _, f := range faults {
		if f.Stream == "LEDGER_1_1" && f.Sequence > 0 {
			return
		}
	}
	t.Errorf("no fault names the stream: %v", faults)
}
