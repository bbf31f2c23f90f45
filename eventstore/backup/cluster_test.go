package backup_test

import (
	"context"
	"crypto/rand"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"payledger/domain"
	"payledger/eventstore/archive"
	"payledger/eventstore/backup"
	"payledger/eventstore/backup/restore"
	"payledger/eventstore/clustertest"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/external"
	"payledger/eventstore/remote"
	"payledger/eventstore/secretlog"
	"payledger/eventstore/streams"
	"payledger/eventstore/verify"
)

// newCluster starts three servers, and returns the access to them.
func newCluster(t testing.TB) (*clustertest.Cluster, external.Access) {
	t.Helper()
	c := clustertest.Start(t, 3, nil).Formed(t)
	return c, external.Access{URL: c.URL(clustertest.User)}
}

// toCluster returns the target of a restore, whose log is verified.
func toCluster(t testing.TB, access external.Access) restore.Target {
	return restore.Target{Access: access, Replicas: 3, Verify: func(ctx context.Context, files *archive.Archive, _ secretlog.Reader) error {
		_, err := verify.Run(ctx, verify.Config{Archive: files, Report: func(f verify.Fault) error {
			t.Errorf("the restored cluster: %s", f)
			return nil
		}})
		return err
	}}
}

// fromCluster makes a back-up of a cluster into a rig's folders.
func (r *rig) fromCluster(t testing.TB, access external.Access) backup.Result {
	t.Helper()
	log, err := remote.Open(context.Background(), access)
	if err != nil {
		t.Fatal(err)
	}
	s := backup.Cluster(log)
	result, err := backup.Run(context.Background(), r.config(s))
	if err = errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	return result
}

// TestClusterRestoreInterrupted: a log of a folder with several segments and destroyed secrets is
// restored to a cluster. A restore that ends after any of its steps leaves a log that no store
// opens, until the last step; the next restore completes it. A back-up of that cluster is restored
// to a folder: it has every message of the first one.
func TestClusterRestoreInterrupted(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	r := newRig(t)
	r.fill(t, "a", 30)
	r.halt(t)
	r.backup(t)
	cluster, access := newCluster(t)
	b, err := restore.Open(r.out, r.keys)
	if err != nil {
		t.Fatal(err)
	}
	var steps []string
	elections := 0
	for stop := 1; ; stop += 3 {
		steps = steps[:0]
		to := toCluster(t, access)
		to.Stepped = func(step string) error {
			if steps = append(steps, step); len(steps) == stop && step != "complete" {
				return errKilled
			}
			return nil
		}
		err := b.Cluster(context.Background(), to)
		if err == nil {
			break
		}
		if !errors.Is(err, errKilled) { // the servers may elect a leader, and lose messages without an acknowledgement: the restore is repeated
			if elections++; elections > 4 {
				t.Fatalf("after %v: %v", steps, err)
			}
			t.Logf("the restore ended after %v: %v", steps, err)
			cluster.Formed(t)
		}
		if _, err := openCluster(access); !errors.Is(err, streams.ErrRestoring) {
			t.Fatalf("after %v a store opens the log: %v", steps, err)
		}
	}
	if len(steps) < 10 || steps[len(steps)-1] != "complete" {
		t.Errorf("the last restore had the steps %v", steps)
	}
	if err := restore.Unused(context.Background(), access); !errors.Is(err, restore.ErrLedger) {
		t.Errorf("a restore to a cluster with a ledger: %v", err)
	}
	again := &rig{out: filepath.Join(t.TempDir(), "out"), keys: filepath.Join(t.TempDir(), "keys")}
	first := again.fromCluster(t, access)
	if second := again.fromCluster(t, access); second.New != 0 || first.Events != b.Events || second.Events != b.Events {
		t.Errorf("%+v, then %+v, of %d events", first, second, b.Events)
	}
	dir, _ := again.restored(t)
	segments := map[string]bool{}
	before, after := messages(t, r.dir), messages(t, dir)
	for place, message := range before {
		segments[place] = true
		if after[place] != message {
			t.Errorf("%s: %.60s became %.60s", place, message, after[place])
		}
	}
	if len(segments) == 0 {
		t.Error("the log has no message")
	}
}

func openCluster(access external.Access) (*engine.Store, error) {
	return engine.Open(context.Background(), engine.Config{
		External: access, Replicas: 3, Now: time.Now, Random: rand.Reader, ReadTimeout: time.Minute,
	})
}

// BenchmarkCluster measures the back-up of a cluster with 2,000 payments, and its restore to
// another cluster.
func BenchmarkCluster(b *testing.B) {
	_, access := newCluster(b)
	s, err := openCluster(access)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := eventstoretest.Generate(context.Background(), s, domain.AccountID("account"), 2_000, 64); err != nil {
		b.Fatal(err)
	}
	stop := checkpoints(b, s, time.Millisecond)
	for b.Loop() {
		r := &rig{out: filepath.Join(b.TempDir(), "out"), keys: filepath.Join(b.TempDir(), "keys")}
		begun := time.Now()
		result := r.fromCluster(b, access)
		copied := time.Since(begun)
		from, err := restore.Open(r.out, r.keys)
		if err != nil {
			b.Fatal(err)
		}
		_, other := newCluster(b)
		begun = time.Now()
		if err := from.Cluster(context.Background(), toCluster(b, other)); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(result.New)/copied.Seconds(), "events/s")
		b.ReportMetric(float64(result.New)/time.Since(begun).Seconds(), "restored/s")
	}
	stop()
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}
