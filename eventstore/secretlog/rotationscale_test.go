package secretlog_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"payledger/eventstore/eventstoretest"
)

// TestRotationAtScale logs the time of a rotation of many secrets, and the bytes on the disk:
// go test ./eventstore/secretlog -run RotationAtScale -v -secrets 100000.
func TestRotationAtScale(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	dir, n := t.TempDir(), secretsOfScale()
	k, err := keepWith(dir, *secretSegment)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	var next atomic.Int64
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				name := fmt.Sprintf("customer-key.account%d.%026d", i%100, i)
				if err := k.secrets.Create(context.Background(), name, secretOf(name)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	t.Logf("%d secrets in %s", n, time.Since(began))
	t.Logf("before: jetstream %.0f, tips %.0f", bytesUnder(t, filepath.Join(dir, "jetstream")), bytesUnder(t, filepath.Join(dir, "tips")))
	began = time.Now()
	count, err := k.secrets.Rotate(context.Background(), nil)
	if count != n || err != nil {
		t.Fatal(err)
	}
	t.Logf("rotate %s", time.Since(began))
	began = time.Now()
	if err := k.close(); err != nil {
		t.Fatal(err)
	}
	t.Logf("close %s", time.Since(began))
	began = time.Now()
	if k, err = keepWith(dir, *secretSegment); err != nil {
		t.Fatal(err)
	}
	t.Logf("open %s", time.Since(began))
	if err := k.close(); err != nil {
		t.Fatal(err)
	}
	t.Logf("after: jetstream %.0f, tips %.0f", bytesUnder(t, filepath.Join(dir, "jetstream")), bytesUnder(t, filepath.Join(dir, "tips")))
}
