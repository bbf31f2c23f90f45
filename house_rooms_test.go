package payledger_test

import (
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// maxFolder is the number of Go files that a folder may have, tests aside.
const maxFolder = 20

// TestRooms: a reader can take in each folder at one look.
func TestRooms(t *testing.T) {
	files := map[string]int{}
	for _, s := range sources(t) {
		if !s.isTest() {
			files[path.Dir(s.path)]++
		}
	}
	for dir, n := range files {
		if n > maxFolder {
			t.Errorf("%s has %d Go files; %d are the limit", dir, n, maxFolder)
		}
	}
}

// TestDrawnImports: the table of imports in the command's doc.go equals the rule that TestImports checks.
func TestDrawnImports(t *testing.T) {
	const drawing = "cmd/payledger/doc.go"
	_, table, found := strings.Cut(tree(t)[drawing], "no others of the project (a test checks it):\n//\n")
	if !found {
		t.Fatalf("%s has no table of imports", drawing)
	}
	drawn := map[string][]string{}
	for row := range strings.Lines(table) {
		words, is := strings.CutPrefix(row, "//\t")
		if !is {
			break
		}
		folders := strings.Fields(words)
		drawn[folders[0]] = folders[1:]
	}
	if len(drawn) != len(mayImport) {
		t.Errorf("the table in %s has %d folders, expected %d", drawing, len(drawn), len(mayImport))
	}
	for folder, targets := range mayImport {
		if expected := slices.Sorted(slices.Values(targets)); !slices.Equal(drawn[folder], expected) {
			t.Errorf("%s says that %s may import %q, expected %q", drawing, folder, drawn[folder], expected)
		}
	}
}

// apart lists pairs of folders that must not import each other, nor any folder below the other.
var apart = [][2]string{
	{"processorsim/adapter", "processorsim/simulator"}, // the service must not link the simulator's server
}

// TestApart: the folders of each pair in apart stay apart.
func TestApart(t *testing.T) {
	below := func(dir, parent string) bool { return dir == parent || strings.HasPrefix(dir, parent+"/") }
	for _, pair := range apart {
		seen := [2]bool{}
		for _, s := range sources(t) {
			for side, parent := range pair {
				if s.forTests() || !below(path.Dir(s.path), parent) {
					continue
				}
				seen[side] = true
				for _, spec := range s.file.Imports {
					target, own := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), "payledger/")
					if other := pair[1-side]; own && below(target, other) {
						t.Errorf("%s imports %s: %s and %s must not import each other", s.path, target, parent, other)
					}
				}
			}
		}
		if !seen[0] || !seen[1] {
			t.Errorf("%v: one of the folders has no Go file", pair)
		}
	}
}

// TestTestHelpersAreBelow: a package of test helpers imports no package whose tests import it, except the folder above it.
func TestTestHelpersAreBelow(t *testing.T) {
	helpers := map[string]bool{}          // folders
	users := map[string]map[string]bool{} // by folder of test helpers: the folders whose tests import it
	each := func(visit func(s source, dir, target string)) {
		for _, s := range sources(t) {
			for _, spec := range s.file.Imports {
				if target, own := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), "payledger/"); own {
					visit(s, path.Dir(s.path), target)
				}
			}
		}
	}
	each(func(s source, dir, target string) {
		if slices.Contains(testPackages, path.Base(dir)) && !s.isTest() {
			helpers[dir] = true
		}
		if slices.Contains(testPackages, path.Base(target)) && s.isTest() && dir != target {
			if users[target] == nil {
				users[target] = map[string]bool{}
			}
			users[target][dir] = true
		}
	})
	each(func(s source, dir, target string) {
		if helpers[dir] && !s.isTest() && target != path.Dir(dir) && users[dir][target] {
			t.Errorf("%s imports %s, whose tests import %s", s.path, target, dir)
		}
	})
	if !helpers["eventstore/eventstoretest"] || !users["eventstore/eventstoretest"]["eventstore"] {
		t.Error("the test helpers of the log were not found")
	}
}

// TestSequential: the packages that .ci/run leaves out under the race detector start no goroutine, and share nothing.
func TestSequential(t *testing.T) {
	_, pattern, found := strings.Cut(tree(t)[".ci/run"], "\nsequential='")
	pattern, _, ended := strings.Cut(pattern, "'\n")
	if !found || !ended {
		t.Fatal(".ci/run has no list of sequential packages")
	}
	sequential, seen := regexp.MustCompile(pattern), 0
	for _, s := range sources(t) {
		if s.forTests() || !sequential.MatchString(path.Join("payledger", path.Dir(s.path))) {
			continue
		}
		seen++
		for _, spec := range s.file.Imports {
			if name := strings.Trim(spec.Path.Value, `"`); name == "sync" || name == "sync/atomic" {
				t.Errorf("%s imports %s: .ci/run must test its package under the race detector", s.path, name)
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if _, is := n.(*ast.GoStmt); is {
				t.Errorf("%s starts a goroutine: .ci/run must test its package under the race detector", s.path)
			}
			return true
		})
	}
	if seen == 0 {
		t.Error("no sequential package was found")
	}
}
