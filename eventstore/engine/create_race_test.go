package engine_test

import (
	"crypto/rand"
	"io"
	"testing"

	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
)

// readerFunc is an io.Reader.
type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// TestLogMadeMeanwhile: a call that makes a log finds, as it begins to, that another call has just
// made it. It takes over the number of shards of that log, unless its own caller wants another
// number.
func TestLogMadeMeanwhile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		shards int
		works  bool
	}{{0, true}, {3, true}, {1, false}} {
		config := eventstoretest.Cluster(t)
		config.Shards = c.shards
		config.Random = io.MultiReader(readerFunc(func([]byte) (int, error) { // the first random value is the id of the new log
			other := config
			other.Shards, other.Random = 3, rand.Reader
			eventstoretest.OpenOn(t, other)
			return 0, io.EOF
		}), rand.Reader)
		store, err := engine.Open(t.Context(), config)
		if (err == nil) != c.works {
			t.Errorf("a log with 3 shards opened for %d: %v", c.shards, err)
		}
		if err == nil {
			if store.Shards() != 3 {
				t.Errorf("the log has %d shards", store.Shards())
			}
			store.Close()
		}
	}
}
