package house_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"payledger/domain/childtest"
)

// maxObject is the limit of TestObjects, in kilobytes.
const maxObject = 2500

// importers are packages of few lines that import the event store: their objects are the price of
// the import.
var importers = []string{
	"payledger/eventstore/commands/causes", "payledger/eventstore/ordered", "payledger/eventstore/prover", "payledger/httpapi/events",
	"payledger/projections/eventfeed",
}

func TestObjects(t *testing.T) {
	check(t, maxObject)
	list := childtest.Tied(exec.Command("go", append([]string{"list", "-export", "-f", "{{.ImportPath}} {{.Export}}"}, importers...)...))
	dir, err := root()
	if err != nil {
		t.Fatal(err)
	}
	list.Dir, list.Stderr = dir, os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for line := range strings.Lines(string(out)) {
		name, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		seen++
		if size := info.Size() / 1000; size > maxObject {
			t.Errorf("the object of %s has %d kB; %d are the limit", name, size, maxObject)
		}
	}
	if seen != len(importers) {
		t.Errorf("%d of %d packages were measured", seen, len(importers))
	}
}
