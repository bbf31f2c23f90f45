package payledger_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
)

// maxFolder is the number of Go files that a folder may have, tests aside.
const maxFolder = 20

// crowded lists the folders that still have more files, with their number. Folders leave this list; none joins it.
var crowded = map[string]int{
	"eventstore": 58, "eventstore/commands": 40,
}

// TestRooms: a reader can take in each folder at one look.
func TestRooms(t *testing.T) {
	files := map[string]int{}
	for _, s := range sources(t) {
		if !s.isTest() {
			files[path.Dir(s.path)]++
		}
	}
	for dir, n := range files {
		if n > max(maxFolder, crowded[dir]) {
			t.Errorf("%s has %d Go files; %d are the limit", dir, n, max(maxFolder, crowded[dir]))
		}
	}
}

// TestDrawnImports: the table of imports in the README equals the rule that TestImports checks.
func TestDrawnImports(t *testing.T) {
	text := tree(t)["README.md"]
	_, table, found := strings.Cut(text, "| folder | may import |\n|---|---|\n")
	if !found {
		t.Fatal("the README has no table of imports")
	}
	drawn := map[string]string{}
	for row := range strings.Lines(table) {
		cells := strings.Split(row, "|")
		if len(cells) != 4 {
			break
		}
		drawn[strings.Trim(cells[1], " `")] = strings.TrimSpace(cells[2])
	}
	if len(drawn) != len(mayImport) {
		t.Errorf("the README's table has %d folders, expected %d", len(drawn), len(mayImport))
	}
	for folder, targets := range mayImport {
		expected := ""
		if len(targets) == len(mayImport)-1 {
			expected = "all of them"
		} else if len(targets) > 0 {
			targets = slices.Sorted(slices.Values(targets))
			expected = fmt.Sprintf("`%s`", strings.Join(targets, "`, `"))
		}
		if drawn[folder] != expected {
			t.Errorf("the README's table says that %s may import %q, expected %q", folder, drawn[folder], expected)
		}
	}
}
