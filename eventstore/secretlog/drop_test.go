package secretlog_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"payledger/domain/seedtest"
	"payledger/eventstore"
	"payledger/eventstore/archive"
	"payledger/eventstore/backup"
	"payledger/eventstore/backup/restore"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/jetapi"
	"payledger/eventstore/secretlog"
)

const rotatedCard = "card.7.acct.token"

// fillForRotation makes a folder with values in several segments, some of them destroyed.
func fillForRotation(t *testing.T, dir string) *keeper {
	t.Helper()
	k := mustKeep(t, dir)
	for i := range 100 {
		create(t, k.secrets, secretName(i))
	}
	err := errors.Join(
		k.secrets.CreateIn(testContext(t), "card.7", rotatedCard, secretOf(rotatedCard)),
		k.secrets.Destroy(testContext(t), secretName(3)),
		k.secrets.Remove(testContext(t), secretName(4), secretName(60)),
		flushTips(k.store),
	)
	if err != nil || len(k.secrets.Segments()) < 3 {
		t.Fatal(len(k.secrets.Segments()), err)
	}
	return k
}

// has checks the values of fillForRotation. later reports whether a value and the card were
// destroyed, too.
func has(t *testing.T, k *keeper, later bool) {
	t.Helper()
	for i := range 100 {
		holds(t, k.secrets, secretName(i), !isGone(i, later))
	}
	holds(t, k.secrets, rotatedCard, !later)
}

func isGone(i int, later bool) bool { return i == 3 || i == 4 || i == 60 || later && i == 50 }

// isRotated is has, and checks that each value stands once on the disk. It closes the folder.
func isRotated(t *testing.T, k *keeper, dir string, later bool) {
	t.Helper()
	has(t, k, later)
	if err := errors.Join(k.store.Scrub(testContext(t)), k.store.Healthy(), k.close()); err != nil {
		t.Error(err)
	}
	files := serverFiles(t, dir)
	for i := range 100 {
		want := 1
		if isGone(i, later) {
			want = 0
		}
		if n := countIn(files, secretOf(secretName(i))); n != want {
			t.Errorf("value %d stands %d times on the disk", i, n)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "*SECRETS_1")); len(left) > 0 {
		t.Errorf("%q stays", left)
	}
}

// TestRotationCrashes cuts a rotation of a folder short after each of its steps. After the next
// start, with the tip store and without it, each value is there, and a second run completes the
// rotation. Then each value stands once on the disk. A rotation follows another one.
func TestRotationCrashes(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	dir := t.TempDir()
	k := fillForRotation(t, dir)
	copies, steps := map[string]string{}, []string{}
	stepped := func(step string) {
		if copies[step] == "" {
			copies[step], steps = copyFolder(t, dir), append(steps, step)
		}
	}
	count, err := k.secrets.Rotate(testContext(t), stepped)
	if err != nil || count != 98 {
		t.Fatal(count, err)
	}
	isRotated(t, k, dir, false)
	last := steps[len(steps)-1]
	for _, what := range []string{"meta.inf", ""} { // the server removes the description first, and renames the folder then
		name := "a dropped segment is half removed: " + what
		copies[name], steps = copyFolder(t, copies["the drop of the earlier segments is recorded"]), append(steps, name)
		streams := filepath.Join(copies[name], "jetstream", "LEDGER", "streams")
		remove(t, filepath.Join(streams, "SECRETS_1", "meta.inf"))
		if what == "" {
			if err := os.Rename(filepath.Join(streams, "SECRETS_1"), filepath.Join(streams, ".SECRETS_1")); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(steps) != 7 || last != "the earlier segments are deleted" {
		t.Fatalf("%q", steps)
	}
	for i, step := range steps {
		for _, tips := range []bool{true, false} {
			if seedtest.Sampled() && (i%2 == 0) != tips { // each step once, with and without tips in turn
				continue
			}
			t.Run(fmt.Sprint(step, " tips ", tips), func(t *testing.T) {
				t.Parallel()
				dir := copyFolder(t, copies[step])
				if !tips {
					remove(t, filepath.Join(dir, "tips"))
				}
				k := mustKeep(t, dir)
				has(t, k, false)
				if err := errors.Join(k.secrets.Destroy(testContext(t), secretName(50)), k.secrets.Purge(testContext(t), "card.7", k.secrets.End())); err != nil {
					t.Fatal(err)
				}
				if n := countBytes(t, dir, secretOf(secretName(50))); n != 0 {
					t.Errorf("a value that is destroyed meanwhile stands %d times on the disk", n)
				}
				if err := k.close(); err != nil {
					t.Fatal(err)
				}
				if !tips {
					remove(t, filepath.Join(dir, "tips"))
				}
				k = mustKeep(t, dir)
				has(t, k, true)
				for range 2 {
					if _, err := k.secrets.Resume(testContext(t), nil); err != nil {
						t.Fatal(err)
					}
				}
				isRotated(t, k, dir, true)
				for _, lost := range []bool{false, true} {
					if lost {
						remove(t, filepath.Join(dir, "tips"))
					}
					k = mustKeep(t, dir)
					isRotated(t, k, dir, true)
				}
				k = mustKeep(t, dir)
				if count, err := k.secrets.Rotate(testContext(t), nil); err != nil || count != 96 {
					t.Errorf("again: %d %v", count, err)
				}
				isRotated(t, k, dir, true)
			})
		}
	}
}

// TestMissingSegment: a segment of the secrets that is gone without a drop is damage, with the tip
// store and without it. So is one that follows dropped ones.
func TestMissingSegment(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	for _, rotated := range []bool{false, true} {
		for _, tips := range []bool{true, false} {
			t.Run(fmt.Sprint("rotated ", rotated, " tips ", tips), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				k := fillForRotation(t, dir)
				if rotated {
					if _, err := k.secrets.Rotate(testContext(t), nil); err != nil {
						t.Fatal(err)
					}
				}
				if err := k.close(); err != nil {
					t.Fatal(err)
				}
				all, err := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "SECRETS_*"))
				if err != nil || len(all) < 2 {
					t.Fatal(all, err)
				}
				remove(t, all[0])
				if !tips {
					remove(t, filepath.Join(dir, "tips"))
				}
				if k, err := keep(dir); !errors.Is(err, eventstore.ErrUnhealthy) || !strings.Contains(err.Error(), "SECRETS") {
					t.Errorf("a start without %s: %v", filepath.Base(all[0]), err)
					if err == nil {
						k.close()
					}
				}
			})
		}
	}
}

// onCluster restores the folder of fillForRotation on a cluster, and returns what stores there are
// opened with.
func onCluster(t *testing.T) engine.Config {
	t.Helper()
	dir, out, keys := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "keys")
	if err := fillForRotation(t, dir).close(); err != nil {
		t.Fatal(err)
	}
	source, err := backup.Stopped(testContext(t), dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = backup.Run(testContext(t), backup.Config{Source: source, Out: out, Keys: keys, Now: time.Now})
	if err := errors.Join(err, source.Close()); err != nil {
		t.Fatal(err)
	}
	c := eventstoretest.Cluster(t)
	b, err := restore.Open(out, keys)
	if err != nil {
		t.Fatal(err)
	}
	to := restore.Target{Access: c.External, Replicas: c.Replicas, Verify: func(context.Context, *archive.Archive, secretlog.Reader) error { return nil }}
	for tries := 1; ; tries++ {
		err := b.Cluster(testContext(t), to)
		if err == nil {
			return c
		}
		if tries == 5 { // a busy cluster may elect a leader meanwhile: the restore is repeated
			t.Fatal(err)
		}
	}
}

// joinNode opens the secrets as one of several nodes.
func joinNode(t *testing.T, c engine.Config) *keeper {
	t.Helper()
	c.Tips, c.ReadTimeout = t.TempDir(), 3*time.Second // a look-up in a segment that another node has dropped ends by it
	s := eventstoretest.OpenOn(t, c)
	b, err := s.OpenSecrets(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Fence(testContext(t)); err != nil { // the stream has a leader now
		t.Fatal(err)
	}
	return &keeper{nil, s, b}
}

// segmentsOn returns the streams of the secrets on a cluster.
func segmentsOn(t *testing.T, c engine.Config) (names []string) {
	t.Helper()
	nc, err := c.External.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	list, err := jetapi.ListStreams(testContext(t), js, "secrets.>")
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range list {
		names = append(names, info.Config.Name)
	}
	return names
}

// TestDropOfAnotherRun: of two runs that complete one rotation, one is cut after it recorded the
// drop. The other one deletes the segments.
func TestDropOfAnotherRun(t *testing.T) {
	t.Parallel()
	c := onCluster(t)
	first, second := joinNode(t, c), joinNode(t, c)
	cut := make(chan struct{})
	go func() {
		defer close(cut)
		_, err := first.secrets.Rotate(testContext(t), func(step string) {
			if step == "the drop of the earlier segments is recorded" {
				runtime.Goexit()
			}
		})
		t.Error("the rotation was not cut:", err)
	}()
	<-cut
	if _, err := second.secrets.Resume(testContext(t), nil); err != nil {
		t.Fatal(err)
	}
	has(t, second, false)
	if left := segmentsOn(t, c); len(left) != 1 {
		t.Errorf("%q stays", left)
	}
}

// TestRotationOfRestored: a log with several segments, as a restore of a folder makes it on a
// cluster, has several nodes. One rotates: the closed segments are dropped, and the values in the
// open segment are destroyed one by one. Another node, which runs, and a later one go on.
func TestRotationOfRestored(t *testing.T) {
	t.Parallel()
	c := onCluster(t)
	node := func() *keeper { return joinNode(t, c) }
	first, second := node(), node()
	if _, err := first.secrets.Rotate(testContext(t), nil); err != nil {
		t.Fatal(err)
	}
	has(t, second, false) // it has not read that the segments are dropped
	create(t, second.secrets, "customer-key.acct.more")
	for _, k := range []*keeper{first, second, node()} {
		has(t, k, false)
		if err := k.secrets.Refresh(testContext(t)); err != nil {
			t.Error(err)
		}
		holds(t, k.secrets, "customer-key.acct.more", true)
		if len(k.secrets.Segments()) != 1 {
			t.Errorf("%d segments", len(k.secrets.Segments()))
		}
	}
	if left := segmentsOn(t, c); len(left) != 1 {
		t.Errorf("%q stays", left)
	}
}
