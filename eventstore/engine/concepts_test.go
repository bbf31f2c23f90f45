package engine_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// maxConcepts is the most that a reader of the append path has to learn.
const maxConcepts = 25

// TestConcepts: the list of concepts in doc.go is short, and each of them is declared where the
// list says.
func TestConcepts(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, list, found := strings.Cut(string(page), "// # Concepts\n")
	list, _, ended := strings.Cut(list, "\n// # ")
	if !found || !ended {
		t.Fatal("doc.go has no list of concepts")
	}
	list = regexp.MustCompile(`\n// {4,}`).ReplaceAllString(list, " ") // a concept may take several lines
	line := regexp.MustCompile(`(?m)^//   - ([A-Z][a-z]+( [a-z]+)?): .*\((.+)\)\.$`)
	place := regexp.MustCompile(`(?:package ([a-z]+)|([a-z]+\.go)): (\w+)`)
	concepts := line.FindAllStringSubmatch(list, -1)
	if n := strings.Count(list, "//   - "); len(concepts) != n || n > maxConcepts || n < 10 {
		t.Errorf("%d of %d concepts are lines of the form “name: meaning (file: identifier).”; %d are the limit", len(concepts), n, maxConcepts)
	}
	for _, concept := range concepts {
		places := place.FindAllStringSubmatch(concept[3], -1)
		if len(places) == 0 {
			t.Errorf("%s names no place", concept[1])
		}
		for _, at := range places {
			files := at[2]
			if at[1] != "" {
				files = filepath.Join("..", at[1], "*.go")
			}
			if !declares(t, files, at[3]) {
				t.Errorf("%s: there is no %s in %s", concept[1], at[3], files)
			}
		}
	}
}

// declares reports whether one of the files declares a type, a constant, a function or a field.
func declares(t *testing.T, files, name string) bool {
	t.Helper()
	paths, err := filepath.Glob(files)
	if err != nil {
		t.Fatal(err)
	}
	declaration := regexp.MustCompile(`(?m)^(type |func |const |\t)` + name + `\b +[^:\s]`)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(path, "_test.go") && declaration.Match(text) {
			return true
		}
	}
	return false
}
