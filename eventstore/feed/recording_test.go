//go:build system

package feed_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"payledger/eventstore/feed"
)

var update = flag.Bool("update", false, "write testdata/events.jsonl anew")

const recording = "testdata/events.jsonl"

// TestRecording: the recorded events have the types and the fields of the service's events.
func TestRecording(t *testing.T) {
	var lines [][]byte
	for e, err := range feed.HTTP(url, apiKey).Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, e.JSON)
	}
	if *update {
		if err := os.WriteFile(recording, append(bytes.Join(lines, []byte("\n")), '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(recording)
	if err != nil {
		t.Fatal(err)
	}
	if want, got := fields(t, lines), fields(t, bytes.Split(bytes.TrimSpace(text), []byte("\n"))); !slices.Equal(got, want) {
		t.Errorf("the recording has %v\nthe service writes %v\nwrite it anew with -update", got, want)
	}
}

// fields returns the fields of events, each with the type of its event, sorted.
func fields(t *testing.T, events [][]byte) []string {
	t.Helper()
	found := map[string]bool{}
	for _, text := range events {
		var e map[string]any
		if err := json.Unmarshal(text, &e); err != nil {
			t.Fatal(err)
		}
		var walk func(path string, value any)
		walk = func(path string, value any) {
			found[path] = true
			switch v := value.(type) {
			case map[string]any:
				for name, inner := range v {
					walk(path+"."+name, inner)
				}
			case []any:
				for _, inner := range v {
					walk(path+"[]", inner)
				}
			}
		}
		walk(fmt.Sprint(e["type"]), e)
	}
	return slices.Sorted(maps.Keys(found))
}
