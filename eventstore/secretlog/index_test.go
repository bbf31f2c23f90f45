package secretlog_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"payledger/domain/seedtest"
	"payledger/eventstore"
	"payledger/eventstore/embedded"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/secretlog"
	"payledger/eventstore/streams"
)

// keeper is the store of a sole writer with its secrets, in a folder.
type keeper struct {
	server  *embedded.Server
	store   *engine.Store
	secrets *secretlog.Stream
}

// sideSegment is the size of a segment in these tests: some thirty secrets.
const sideSegment = 4 << 10

func keep(dir string) (*keeper, error) { return keepWith(dir, sideSegment) }

func keepWith(dir string, segment int64) (*keeper, error) {
	k := &keeper{}
	var err error
	if k.server, err = embedded.Start(embedded.Config{Dir: dir, Name: "test"}); err != nil {
		return nil, err
	}
	c := eventstoretest.Config(k.server)
	c.Shards, c.SecretBytes = 1, segment
	if k.store, err = engine.Open(context.Background(), c); err != nil {
		return nil, errors.Join(err, k.server.Close())
	}
	if k.secrets, err = k.store.OpenSecrets(context.Background()); err != nil {
		return nil, errors.Join(err, k.store.Close(), k.server.Close())
	}
	return k, nil
}

func mustKeep(t testing.TB, dir string) *keeper {
	t.Helper()
	k, err := keep(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.close() })
	return k
}

func (k *keeper) close() error { return errors.Join(k.store.Close(), k.server.Close()) }

func secretName(i int) string     { return fmt.Sprintf("customer-key.acct.%d", i) }
func secretOf(name string) []byte { return []byte("the value of " + name + strings.Repeat(".", 60)) }

// flushTips writes the tip store, as an archive needs it.
func flushTips(s *engine.Store) error {
	a, err := s.Archive(context.Background())
	if err == nil {
		err = a.Close()
	}
	return err
}

// remove removes a file or a folder.
func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

// testContext returns a context that ends with the test, and long before the limit of the test
// binary.
func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func create(t testing.TB, b *secretlog.Stream, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := b.Create(testContext(t), name, secretOf(name)); err != nil {
			t.Fatal(err)
		}
	}
}

// holds checks that a value is there, or was destroyed. It repeats a read without an answer.
func holds(t testing.TB, b *secretlog.Stream, name string, there bool) {
	t.Helper()
	var value []byte
	err := eventstoretest.Again(testContext(t), func() (err error) {
		value, err = b.Get(testContext(t), name)
		return err
	})
	if there && (err != nil || !bytes.Equal(value, secretOf(name))) {
		t.Errorf("%s: %q %v", name, value, err)
	}
	if !there && !errors.Is(err, eventstore.ErrNotFound) {
		t.Errorf("%s was destroyed: %q %v", name, value, err)
	}
}

// TestSecretsAreConstant: the number of subjects, which the server keeps in memory, does not grow
// with the number of secrets. A start finds all secrets in the segments, with and without the
// index.
func TestSecretsAreConstant(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	dir := t.TempDir()
	k := mustKeep(t, dir)
	var names []string
	for i := range 200 {
		names = append(names, secretName(i))
	}
	create(t, k.secrets, names...)
	for i := range 40 {
		name := fmt.Sprintf("card.%d.acct.%d", i/20, i)
		if err := k.secrets.CreateIn(testContext(t), fmt.Sprintf("card.%d", i/20), name, secretOf(name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, i := range []int{3, 50, 199} {
		if err := k.secrets.Destroy(testContext(t), secretName(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := k.secrets.Purge(testContext(t), "card.0", k.secrets.End()); err != nil {
		t.Fatal(err)
	}
	create(t, k.secrets, secretName(50)) // again
	conn, err := k.server.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn, jetstream.WithDefaultTimeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	streams := 0
	for info := range js.ListStreams(testContext(t), jetstream.WithStreamListSubject("secrets.>")).Info() {
		if streams++; info.State.NumSubjects > 4 {
			t.Errorf("%s has %d subjects", info.Config.Name, info.State.NumSubjects)
		}
	}
	if streams < 5 || streams != len(k.secrets.Segments()) {
		t.Errorf("%d streams, %d segments", streams, len(k.secrets.Segments()))
	}
	check := func(when string) {
		t.Helper()
		for i, name := range names {
			holds(t, k.secrets, name, i != 3 && i != 199)
		}
		for prefix, want := range map[string]int{"customer-key": 198, "card": 20, "card.0": 0, "card.1": 20} {
			if got, err := k.secrets.Names(testContext(t), prefix); err != nil || len(got) != want {
				t.Errorf("%s: %d names under %s: %v", when, len(got), prefix, err)
			}
		}
		if err := k.store.Scrub(testContext(t)); err != nil {
			t.Errorf("%s: %v", when, err)
		}
	}
	check("at first")
	for _, when := range []string{"after a restart", "without the index"} {
		if err := k.close(); err != nil {
			t.Fatal(err)
		}
		if when == "without the index" {
			remove(t, filepath.Join(dir, "tips"))
		}
		k = mustKeep(t, dir)
		check(when)
	}
}

// TestLostSecret: a value that is missing without a destruction is damage, with and without the
// index. So is a value at the place of another value.
func TestLostSecret(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		damage func(*keeper) error
	}{
		{"erased", func(k *keeper) error { return k.secrets.EraseBehind(context.Background(), secretName(2)) }},
		{"swapped", func(k *keeper) error { return k.secrets.SwapEntries(secretName(2), secretName(5)) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			k := mustKeep(t, dir)
			for i := range 100 {
				create(t, k.secrets, secretName(i))
			}
			if err := c.damage(k); err != nil {
				t.Fatal(err)
			}
			if _, err := k.secrets.Get(testContext(t), secretName(2)); !errors.Is(err, eventstore.ErrUnhealthy) {
				t.Errorf("a read: %v", err)
			}
			if err := k.store.Healthy(); !errors.Is(err, eventstore.ErrUnhealthy) || !strings.Contains(err.Error(), "SECRETS_1") {
				t.Errorf("health: %v", err)
			}
			if err := k.close(); err != nil {
				t.Fatal(err)
			}
			if c.name == "swapped" {
				return
			}
			remove(t, filepath.Join(dir, "tips"))
			for start := range 3 { // a start that is refused leaves no index that hides the loss from the next one
				if again, err := keep(dir); !errors.Is(err, eventstore.ErrUnhealthy) {
					t.Errorf("start %d without the index: %v", start+1, err)
					if err == nil {
						again.close()
					}
				}
			}
		})
	}
}

// TestDestructionCrashes: after a crash following any step, the next start completes the
// destruction, with and without the index, and no byte of the value stays. If the crash precedes
// the first step, the value is unchanged.
func TestDestructionCrashes(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	dir := t.TempDir()
	k := mustKeep(t, dir)
	for i := range 60 { // two segments
		create(t, k.secrets, secretName(i))
	}
	card := "card.7.acct.token"
	if err := k.secrets.CreateIn(testContext(t), "card.7", card, secretOf(card)); err != nil {
		t.Fatal(err)
	}
	if err := flushTips(k.store); err != nil { // without the synced destruction, a start reports the deleted value as lost
		t.Fatal(err)
	}
	copies := map[string]string{"nothing": copyFolder(t, dir)}
	kind := "destroy"
	k.secrets.OnStep(func(step string) { copies[kind+" "+step] = copyFolder(t, dir) })
	if err := k.secrets.Destroy(testContext(t), secretName(7)); err != nil {
		t.Fatal(err)
	}
	kind = "purge"
	if err := k.secrets.Purge(testContext(t), "card.7", k.secrets.End()); err != nil {
		t.Fatal(err)
	}
	kind = "remove"
	if err := k.secrets.Remove(testContext(t), secretName(9), secretName(40)); err != nil {
		t.Fatal(err)
	}
	if len(copies) != 1+3*len(secretlog.Steps) {
		t.Fatal(copies)
	}
	for i, name := range slices.Sorted(maps.Keys(copies)) {
		for _, tips := range []bool{true, false} {
			if seedtest.Sampled() && (i%2 == 0) != tips { // each step once, with and without tips in turn
				continue
			}
			t.Run(fmt.Sprint(name, " tips ", tips), func(t *testing.T) {
				t.Parallel()
				dir := copyFolder(t, copies[name])
				if !tips {
					remove(t, filepath.Join(dir, "tips"))
				}
				k := mustKeep(t, dir)
				for i := range 60 {
					removed := (i == 9 || i == 40) && strings.HasPrefix(name, "remove")
					holds(t, k.secrets, secretName(i), (i != 7 || name == "nothing") && !removed)
				}
				holds(t, k.secrets, card, !strings.HasPrefix(name, "purge") && !strings.HasPrefix(name, "remove"))
				if err := errors.Join(k.store.Scrub(testContext(t)), k.close()); err != nil {
					t.Error(err)
				}
				if n := countBytes(t, dir, secretOf(secretName(7))); (n == 0) != (name != "nothing") {
					t.Errorf("the destroyed value stands %d times on the disk", n)
				}
			})
		}
	}
}

// copyFolder copies the folder of a server, running or stopped, as a crash leaves it. If a running
// tip store creates or removes files during the copy, the copy shows no single moment, and
// copyFolder copies again.
func copyFolder(t testing.TB, from string) string {
	t.Helper()
	for {
		to, before := t.TempDir(), namesIn(t, filepath.Join(from, "tips"))
		err := os.CopyFS(to, os.DirFS(from))
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			t.Fatal(err)
		case err == nil && slices.Equal(namesIn(t, filepath.Join(from, "tips")), before):
			return to
		}
	}
}

// namesIn returns the names of the files in a folder, sorted; none if the folder does not exist.
func namesIn(t testing.TB, dir string) (names []string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, f := range files {
		names = append(names, f.Name())
	}
	return names
}

// countBytes counts the occurrences of a text in the server's files.
func countBytes(t testing.TB, dir string, text []byte) int {
	t.Helper()
	return countIn(serverFiles(t, dir), text)
}

// serverFiles returns the content of the server's files.
func serverFiles(t testing.TB, dir string) (all [][]byte) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(dir, "jetstream"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		all = append(all, b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func countIn(files [][]byte, text []byte) (n int) {
	for _, b := range files {
		n += bytes.Count(b, text)
	}
	return n
}

// TestStartLeavesOldBlocks: if the server trusts its index of a segment, a start reads only the
// segment's newest block, so its time does not grow with the number of secrets. Reads and the scrub
// find damage in older blocks. If the server would read all blocks, the start reads them first, and
// refuses a damaged folder without changing it.
func TestStartLeavesOldBlocks(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	for _, segment := range []int64{9 << 20, 1 << 30} {
		t.Run(fmt.Sprint("segments of ", segment), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			fillSecrets(t, dir, segment)
			for written := time.Now(); time.Since(written) <= streams.Duplicates; { // a start within that time reads more
				k, err := keepWith(dir, segment)
				if err != nil {
					t.Fatal(err)
				}
				if err := k.close(); err != nil {
					t.Fatal(err)
				}
			}
			flip(t, filepath.Join(dir, "jetstream", "LEDGER", "streams", "SECRETS_1", "msgs", "1.blk"))
			k, err := keepWith(dir, segment)
			if err != nil {
				t.Fatal(err)
			}
			create(t, k.secrets, "customer-key.acct.more")
			killed := copyFolder(t, dir)
			if err := k.store.Scrub(testContext(t)); !errors.Is(err, eventstore.ErrUnhealthy) {
				t.Error("the scrub:", err)
			}
			if err := k.close(); err != nil {
				t.Fatal(err)
			}
			before := contents(t, killed)
			k, err = keepWith(killed, segment)
			if closed := segment == 9<<20; closed { // the damaged segment was not written to
				if err != nil {
					t.Fatal(err)
				}
				unhealthy := 0
				for i := range 150 {
					if _, err := k.secrets.Get(testContext(t), secretName(i)); errors.Is(err, eventstore.ErrUnhealthy) {
						unhealthy++
					} else if err != nil {
						t.Error(err)
					}
				}
				if unhealthy == 0 {
					t.Error("no read found the damage")
				}
				k.close()
				return
			}
			if !errors.Is(err, eventstore.ErrUnhealthy) {
				t.Error("a start at which the server would have cut a block:", err)
			}
			if diff := cmp.Diff(before, contents(t, killed)); diff != "" {
				t.Error("the folder was changed:", diff)
			}
		})
	}
}

// flip changes a byte of a file.
func flip(t *testing.T, file string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err == nil {
		b[1<<20] ^= 1
		err = os.WriteFile(file, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// contents returns the hashes of all files in a folder that a refused start must not change.
func contents(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "LOCK" || d.Name() == "ballast" {
			return err
		}
		b, err := os.ReadFile(path)
		all[path] = fmt.Sprintf("%x", sha256.Sum256(b))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// fillSecrets fills two blocks of the server and stops it.
func fillSecrets(t testing.TB, dir string, segment int64) {
	t.Helper()
	k, err := keepWith(dir, segment)
	if err != nil {
		t.Fatal(err)
	}
	noise := make([]byte, 64<<10)
	for i := range 150 {
		rand.Read(noise)
		if err := k.secrets.Create(testContext(t), secretName(i), noise); err != nil {
			t.Fatal(err)
		}
	}
	if err := k.close(); err != nil {
		t.Fatal(err)
	}
}

// TestSecretsReadOnly: a folder that is opened for reading shows the values after the index's end,
// and no destroyed value. The index is not written.
func TestSecretsReadOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	k := mustKeep(t, dir)
	create(t, k.secrets, secretName(0), secretName(1), secretName(2))
	if err := flushTips(k.store); err != nil {
		t.Fatal(err)
	}
	create(t, k.secrets, secretName(3), secretName(4))
	for _, i := range []int{1, 3} {
		if err := k.secrets.RecordDestruction(testContext(t), secretName(i)); err != nil {
			t.Fatal(err)
		}
	}
	killed := copyFolder(t, dir)
	server := eventstoretest.Server(t, killed)
	c := eventstoretest.Config(server)
	c.ReadOnly = true
	b, err := eventstoretest.OpenOn(t, c).OpenSecrets(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		holds(t, b, secretName(i), i != 1 && i != 3)
	}
	if names, err := b.Names(testContext(t), "customer-key"); err != nil || len(names) != 3 {
		t.Error(names, err)
	}
}

// TestPurgeOfSurplus: a group is purged while one of its values, which was stored twice, waits for
// the destruction of the second copy. Without the tip store, the next start finds a destruction for
// every value.
func TestPurgeOfSurplus(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	k := mustKeep(t, dir)
	for _, name := range []string{"g.a", "g.a", "g.b"} { // the first answer was lost, and the process had no time to destroy the second
		if err := k.secrets.PutIn(context.Background(), "g", name); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(k.secrets.Purge(context.Background(), "g", math.MaxUint64), k.close()); err != nil {
		t.Fatal(err)
	}
	remove(t, filepath.Join(dir, "tips"))
	mustKeep(t, dir)
}

// TestPurgeThrough: a value that is stored in a group after the place of a purge stays, also for
// the next start.
func TestPurgeThrough(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	k := mustKeep(t, dir)
	const before, after = "card.7.acct.before", "card.7.acct.after"
	store := func(name string) {
		if err := k.secrets.CreateIn(testContext(t), "card.7", name, secretOf(name)); err != nil {
			t.Fatal(err)
		}
	}
	store(before)
	through := k.secrets.End()
	store(after)
	if err := k.secrets.Purge(testContext(t), "card.7", through); err != nil {
		t.Fatal(err)
	}
	holds(t, k.secrets, before, false)
	holds(t, k.secrets, after, true)
	if err := k.close(); err != nil {
		t.Fatal(err)
	}
	remove(t, filepath.Join(dir, "tips"))
	k = mustKeep(t, dir)
	holds(t, k.secrets, before, false)
	holds(t, k.secrets, after, true)
}
