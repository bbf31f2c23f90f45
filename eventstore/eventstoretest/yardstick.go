package eventstoretest

import (
	"testing"

	"payledger/eventstore/ceiling"
)

// MeasureYardstick measures n durable publishes of the given size from as many writers to a number
// of streams, on its own embedded server.
func MeasureYardstick(t testing.TB, streams, writers, n, size int) ceiling.Rate {
	t.Helper()
	server, err := ceiling.Open(t.Context(), t.TempDir(), streams, writers)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	rate, err := server.Publishes(t.Context(), n, size)
	if err != nil {
		t.Fatal(err)
	}
	return rate
}
