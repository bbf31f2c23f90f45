package engine_test

import (
	"context"
	"testing"

	"payledger/eventstore/ceiling"
)

// TestCeilings: each measurement works more than once in a folder, on every stream, and has a rate
// and a median.
func TestCeilings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server, err := ceiling.Open(t.Context(), dir, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	for range 2 {
		fsyncs, err := ceiling.Fsyncs(dir, 5, 1000)
		if err != nil || fsyncs.PerSecond <= 0 || fsyncs.Median <= 0 {
			t.Errorf("fsyncs %+v, %v", fsyncs, err)
		}
		publishes, err := server.Publishes(t.Context(), 20, 1000) // of new subjects: a repeated one is refused
		if err != nil || publishes.PerSecond <= 0 || publishes.Median <= 0 {
			t.Errorf("publishes %+v, %v", publishes, err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := server.Publishes(ended, 20, 1000); err == nil {
		t.Errorf("interrupted publishes are %+v", r)
	}
	if r, err := ceiling.Fsyncs(dir+"/missing", 1, 1); err == nil {
		t.Errorf("fsyncs in a missing folder are %+v", r)
	}
}
