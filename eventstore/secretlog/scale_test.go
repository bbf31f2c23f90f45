package secretlog_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"payledger/domain/seedtest"
	"payledger/eventstore/embedded"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/secretlog"
)

var (
	secretsAtScale = flag.Int("secrets", 0, "number of secrets in TestSecretsAtScale; 0: 2000, or 300 if it takes a sample")
	secretSegment  = flag.Int64("secretsegment", 0, "bytes of a segment there; 0 takes the usual size")
)

// secretsOfScale returns the number of secrets in tests that log figures.
func secretsOfScale() int {
	switch {
	case *secretsAtScale > 0:
		return *secretsAtScale
	case seedtest.Sampled():
		return 300
	}
	return 2000
}

// TestSecretsAtScale logs the memory and the time of a start with many secrets, after an orderly
// stop and after a kill: go test ./eventstore/secretlog -run SecretsAtScale -v -secrets 1000000.
func TestSecretsAtScale(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	ctx := context.Background()
	start := func(dir string) (stop func(), b *secretlog.Stream, took [3]time.Duration) {
		began := time.Now()
		server, err := embedded.Start(embedded.Config{Dir: dir, Name: "test"})
		if err != nil {
			t.Fatal(err)
		}
		took[0] = time.Since(began)
		c := eventstoretest.Config(server)
		c.Shards, c.SecretBytes = 1, *secretSegment
		s, err := engine.Open(ctx, c)
		if err != nil {
			t.Fatal(err)
		}
		took[1] = time.Since(began)
		if b, err = s.OpenSecrets(ctx); err != nil {
			t.Fatal(err)
		}
		took[2] = time.Since(began)
		return func() {
			if err := errors.Join(s.Close(), server.Close()); err != nil {
				t.Fatal(err)
			}
		}, b, took
	}
	heap := func() int64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	dir, n := t.TempDir(), secretsOfScale()
	stop, _, _ := start(dir)
	stop()
	stop, b, _ := start(dir)
	empty := heap()
	began := time.Now()
	var next atomic.Int64
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				name := fmt.Sprintf("kept-card.account%d.%026d", i%100, i)
				if err := b.Create(ctx, name, secretOf(name)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	t.Logf("%d secrets, %.0f a second; heap %.1f B each while running", n, float64(n)/time.Since(began).Seconds(), float64(heap()-empty)/float64(n))
	killed := copyFolder(t, dir)
	stop()
	t.Logf("disk: streams %.0f B a secret, tip store %.0f B", bytesUnder(t, filepath.Join(dir, "jetstream"))/float64(n), bytesUnder(t, filepath.Join(dir, "tips"))/float64(n))
	for _, from := range []struct{ name, dir string }{{"an orderly stop", dir}, {"a kill", killed}} {
		stop, b, took := start(from.dir)
		t.Logf("start after %s: server %s, store %s, secrets %s; heap %.1f B a secret", from.name, took[0].Round(time.Millisecond), took[1].Round(time.Millisecond),
			took[2].Round(time.Millisecond), float64(heap()-empty)/float64(n))
		name := fmt.Sprintf("kept-card.account%d.%026d", 1, 1)
		holds(t, b, name, true)
		stop()
	}
}

func bytesUnder(t testing.TB, dir string) (n float64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			n += float64(info.Size())
		}
		return err
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return n
}
