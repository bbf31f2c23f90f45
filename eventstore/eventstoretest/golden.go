package eventstoretest

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"payledger/eventstore"
)

// Golden returns the golden events of eventstore/engine/testdata/golden: an event of every type,
// with every field set. dir is the path of that folder.
func Golden(t testing.TB, dir string) (events []*eventstore.Recorded) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files in %s: %v", dir, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		read, err := ParseGolden(string(text))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		events = append(events, read...)
	}
	return events
}

// goldenHeading is the first line of a golden file, with the aggregate and its schema.
const goldenHeading = "# Aggregate %s, schema %d. A line is an event type, and the bytes of an event with the state after it.\n"

// FormatGolden returns the text of the golden file with an aggregate's events.
func FormatGolden(aggregate string, schema int, events []*eventstore.Recorded) string {
	var text strings.Builder
	fmt.Fprintf(&text, goldenHeading, aggregate, schema)
	for _, r := range events {
		fmt.Fprintf(&text, "%s %x\n", r.Type, r.Body)
	}
	return text.String()
}

// ParseGolden returns the events of a golden file.
func ParseGolden(text string) (events []*eventstore.Recorded, err error) {
	key, schema := eventstore.Key{Account: "a", ID: "id"}, 0
	heading, lines, _ := strings.Cut(text, "\n")
	if _, err := fmt.Sscanf(strings.ReplaceAll(heading, ",", " ,"), "# Aggregate %s , schema %d.", &key.Aggregate, &schema); err != nil {
		return nil, fmt.Errorf("the first line is %q: %w", heading, err)
	}
	for line := range strings.Lines(lines) {
		name, digits, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		body, err := hex.DecodeString(digits)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		events = append(events, &eventstore.Recorded{Key: key, Type: name, Schema: schema, Revision: 1, Body: body})
	}
	return events, nil
}
