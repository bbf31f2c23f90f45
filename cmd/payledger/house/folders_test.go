package house_test

import (
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestLayout(t *testing.T) {
	check(t)
	for file := range tree(t) {
		if folder := top(file); folder != "" && !strings.HasPrefix(folder, ".") && mayImport[folder] == nil {
			t.Errorf("%s stands in a top-level folder that is not agreed", file)
		}
		if top(file) == "" && path.Ext(file) == ".go" {
			t.Errorf("%s is a Go file at the root", file)
		}
	}
}

func TestDrawnImports(t *testing.T) {
	check(t)
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

func TestSequential(t *testing.T) {
	check(t)
	_, pattern, found := strings.Cut(tree(t)[".ci/run"], "\nsequential='")
	pattern, _, ended := strings.Cut(pattern, "'\n")
	if !found || !ended {
		t.Fatal(".ci/run has no list of sequential packages")
	}
	sequential, seen := regexp.MustCompile(pattern), 0
	for _, s := range sources(t) {
		if s.forTests() || !sequential.MatchString(path.Join("payledger", s.dir())) {
			continue
		}
		seen++
		for _, imported := range s.imports() {
			if imported == "sync" || imported == "sync/atomic" {
				t.Errorf("%s imports %s: .ci/run must test its package under the race detector", s.path, imported)
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
