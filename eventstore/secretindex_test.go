package eventstore_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"payledger/eventstore"
	"payledger/eventstore/eventstoretest"
)

// keeper is a sole writer's store with its secrets, on a folder.
type keeper struct {
	server  *eventstore.Server
	store   *eventstore.Store
	secrets *eventstore.SecretBytes
}

// sideSegment is the size of a segment in these tests: some thirty secrets.
const sideSegment = 4 << 10

func keep(dir string) (*keeper, error) { return keepWith(dir, sideSegment) }

func keepWith(dir string, segment int64) (*keeper, error) {
	k := &keeper{}
	var err error
	if k.server, err = eventstore.StartServer(eventstore.ServerConfig{Dir: dir, Name: "test"}); err != nil {
		return nil, err
	}
	c := eventstoretest.Config(k.server)
	c.Shards, c.SoleWriter, c.SideBytes = 1, true, segment
	if k.store, err = eventstore.Open(context.Background(), c); err != nil {
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

func create(t testing.TB, b *eventstore.SecretBytes, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := b.Create(testContext(t), name, secretOf(name)); err != nil {
			t.Fatal(err)
		}
	}
}

// readSecret returns a value. A server of a busy cluster may not answer in time; readSecret then repeats the request. Only an answer counts.
func readSecret(t testing.TB, b *eventstore.SecretBytes, name string) (value []byte, err error) {
	t.Helper()
	eventually(t, time.Minute, "an answer about "+name, func() error {
		value, err = b.Get(testContext(t), name)
		if errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		return nil
	})
	return value, err
}

// holds checks that a value is there, or was destroyed.
func holds(t testing.TB, b *eventstore.SecretBytes, name string, there bool) {
	t.Helper()
	value, err := readSecret(t, b, name)
	if there && (err != nil || !bytes.Equal(value, secretOf(name))) {
		t.Errorf("%s: %q %v", name, value, err)
	}
	if !there && !errors.Is(err, eventstore.ErrNotFound) {
		t.Errorf("%s was destroyed: %q %v", name, value, err)
	}
}

// The server remembers every subject for ever: their number must not grow with that of the secrets. Streams follow one
// another; a start finds everything in them, also without the index.
func TestSecretsAreConstant(t *testing.T) {
	t.Parallel()
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
	if err := k.secrets.Purge(testContext(t), "card.0"); err != nil {
		t.Fatal(err)
	}
	create(t, k.secrets, secretName(50)) // again
	js, err := jetstream.New(k.store.Conn())
	if err != nil {
		t.Fatal(err)
	}
	streams := 0
	for info := range js.ListStreams(testContext(t), jetstream.WithStreamListSubject("secrets.>")).Info() {
		if streams++; info.State.NumSubjects > 4 {
			t.Errorf("%s has %d subjects", info.Config.Name, info.State.NumSubjects)
		}
	}
	if streams < 5 || streams != k.secrets.Segments() {
		t.Errorf("%d streams, %d segments", streams, k.secrets.Segments())
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

// A value that is gone without a destruction is damage, with the index and without it; so is one that stands where another
// one must.
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
			if again, err := keep(dir); !errors.Is(err, eventstore.ErrUnhealthy) {
				t.Errorf("a start without the index: %v", err)
				if err == nil {
					again.close()
				}
			}
		})
	}
}

// TestDestructionCrashes: after a crash at any step the next start ends a destruction that was begun, with the index and
// without it, and no byte of the value stays. Without a first step the value is unchanged.
func TestDestructionCrashes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	k := mustKeep(t, dir)
	for i := range 60 { // two segments
		create(t, k.secrets, secretName(i))
	}
	card := "card.7.acct.token"
	if err := k.secrets.CreateIn(testContext(t), "card.7", card, secretOf(card)); err != nil {
		t.Fatal(err)
	}
	if err := k.store.FlushTips(); err != nil { // a start takes for lost what is gone, unless the destruction is synced, too
		t.Fatal(err)
	}
	copies := map[string]string{"nothing": copyFolder(t, dir)}
	kind := "destroy"
	k.store.OnStep(func(step string) { copies[kind+" "+step] = copyFolder(t, dir) })
	if err := k.secrets.Destroy(testContext(t), secretName(7)); err != nil {
		t.Fatal(err)
	}
	kind = "purge"
	if err := k.secrets.Purge(testContext(t), "card.7"); err != nil {
		t.Fatal(err)
	}
	if len(copies) != 1+2*len(eventstore.Steps) {
		t.Fatal(copies)
	}
	for name, from := range copies {
		for _, tips := range []bool{true, false} {
			t.Run(fmt.Sprint(name, " tips ", tips), func(t *testing.T) {
				t.Parallel()
				dir := copyFolder(t, from)
				if !tips {
					remove(t, filepath.Join(dir, "tips"))
				}
				k := mustKeep(t, dir)
				for i := range 60 {
					holds(t, k.secrets, secretName(i), i != 7 || name == "nothing")
				}
				holds(t, k.secrets, card, !strings.HasPrefix(name, "purge"))
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

// copyFolder copies the folder of a running or stopped server, as a crash leaves it. The tip store of a running one may write
// and remove files meanwhile: then what was copied never stood on the disk at one moment, and is copied again.
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

// namesIn are the names of the files in a folder, in order; none if it does not exist.
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

// countBytes counts a text in the streams of secrets.
func countBytes(t testing.TB, dir string, text []byte) (n int) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(dir, "jetstream"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		n += bytes.Count(b, text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Nodes learn of each other's values and destructions from the stream: of many that create a name one succeeds, and what
// one has ended no other opens.
func testSecretNodes(t *testing.T, r *rig) {
	var nodes []*eventstore.SecretBytes
	for _, s := range []*eventstore.Store{r.store(), r.other()} {
		b, err := s.OpenSecrets(testContext(t))
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, b)
	}
	here, there := nodes[0], nodes[1]
	rounds := 20
	if testing.Short() {
		rounds = 5
	}
	for i := range rounds {
		name := "race.acct." + newKey().ID + fmt.Sprint(i)
		var made atomic.Int32
		var value atomic.Value
		var all sync.WaitGroup
		for n := range 6 {
			all.Go(func() {
				mine := fmt.Sprintf("%s %d", name, n)
				err := nodes[n%2].Create(testContext(t), name, []byte(mine))
				switch {
				case err == nil:
					made.Add(1)
					value.Store(mine)
				case !errors.Is(err, eventstore.ErrConflict):
					t.Error(err)
				}
			})
		}
		all.Wait()
		if made.Load() != 1 {
			t.Fatalf("%d created %s", made.Load(), name)
		}
		for _, b := range nodes {
			if got, err := readSecret(t, b, name); err != nil || string(got) != value.Load() {
				t.Fatalf("%q instead of %q: %v", got, value.Load(), err)
			}
		}
	}
	name := "again.acct." + newKey().ID
	for range 3 {
		create(t, here, name)
		holds(t, there, name, true)
		if err := there.Create(testContext(t), name, nil); !errors.Is(err, eventstore.ErrConflict) {
			t.Error("it stands:", err)
		}
		if err := there.Destroy(testContext(t), name); err != nil {
			t.Fatal(err)
		}
		holds(t, here, name, false)
	}
	if names, err := here.Names(testContext(t), "again"); err != nil || slices.Contains(names, name) {
		t.Error(names, err)
	}
	testUnfinished(t, here, there)
}

// testUnfinished has one node record a destruction and stop there: the other ends it.
func testUnfinished(t *testing.T, here, there *eventstore.SecretBytes) {
	t.Helper()
	name := "left.acct." + newKey().ID
	create(t, here, name)
	if err := here.RecordDestruction(testContext(t), name); err != nil {
		t.Fatal(err)
	}
	if err := there.Destroy(testContext(t), name); err != nil {
		t.Fatal(err)
	}
	for _, b := range []*eventstore.SecretBytes{here, there} {
		holds(t, b, name, false)
		if err := b.EraseBehind(testContext(t), name); err == nil {
			t.Error("the value was still there")
		}
	}
}

// An answer that is lost leaves two messages: one is the value, the other is destroyed.
func TestSecretAnswerLost(t *testing.T) {
	t.Parallel()
	eachWriter(t, func(t *testing.T, _ *eventstore.Server, s *eventstore.Store, p *proxy, _ <-chan struct{}) {
		b, err := s.OpenSecrets(testContext(t))
		if err != nil {
			t.Fatal(err)
		}
		var lost atomic.Int32
		p.Answers(func(piece []byte) bool {
			return !bytes.Contains(piece, []byte(`"stream":"SECRETS_`)) || lost.Add(1) > 1
		})
		create(t, b, "customer-key.acct.lost")
		holds(t, b, "customer-key.acct.lost", true)
		if lost.Load() < 2 {
			t.Fatal("no answer was lost")
		}
		if err := b.Destroy(testContext(t), "customer-key.acct.lost"); err != nil {
			t.Fatal(err)
		}
		holds(t, b, "customer-key.acct.lost", false)
		js, err := jetstream.New(s.Conn())
		if err != nil {
			t.Fatal(err)
		}
		stream, err := js.Stream(testContext(t), "SECRETS_1")
		if err != nil {
			t.Fatal(err)
		}
		info, err := stream.Info(testContext(t), jetstream.WithSubjectFilter("secrets.1.value"))
		if err != nil || len(info.State.Subjects) != 0 {
			t.Error("values stand there:", info.State.Subjects, err)
		}
	})
}

// A start reads the newest block of a segment alone where the server, too, believes its index: the time does not grow with
// the number of secrets. An older block is left to reads and to the scrub. Where the server would read all blocks, so does
// the start before it, and refuses damage without a change.
func TestStartLeavesOldBlocks(t *testing.T) {
	t.Parallel()
	for _, segment := range []int64{9 << 20, 1 << 30} {
		t.Run(fmt.Sprint("segments of ", segment), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			fillSecrets(t, dir, segment)
			flip(t, filepath.Join(dir, "jetstream", "LEDGER", "streams", "SECRETS_1", "msgs", "1.blk"), 1<<20)
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
					t.Error("no read met the damage")
				}
				k.close()
				return
			}
			if !errors.Is(err, eventstore.ErrUnhealthy) {
				t.Error("a start that the server would have cut a block at:", err)
			}
			same(t, "the folder", contents(t, killed), before)
		})
	}
}

// contents are all files of a folder that a refused start must not change.
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
	for i := range 150 {
		if err := k.secrets.Create(testContext(t), secretName(i), []byte(noise(64<<10))); err != nil {
			t.Fatal(err)
		}
	}
	if err := k.close(); err != nil {
		t.Fatal(err)
	}
}

// A folder that is only read shows what stands behind the index, and nothing that was destroyed; the index is not written.
func TestSecretsReadOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	k := mustKeep(t, dir)
	create(t, k.secrets, secretName(0), secretName(1), secretName(2))
	if err := k.store.FlushTips(); err != nil {
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
	c.SoleWriter, c.ReadOnly = true, true
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
