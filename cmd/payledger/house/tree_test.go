package house_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// house is this folder. Rules about words and references do not read it: it has to name them.
const house = "cmd/payledger/house"

// source is one Go file of the tree.
type source struct {
	path string // slash-separated, from the root
	text string
	file *ast.File
	set  *token.FileSet
}

// dir returns the file's folder, slash-separated from the root.
func (s source) dir() string { return path.Dir(s.path) }

func (s source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

// generated reports whether a program wrote the file.
func (s source) generated() bool { return strings.HasPrefix(s.text, "// Code generated") }

// forTests reports whether only tests use the file.
func (s source) forTests() bool { return s.isTest() || testFolder(s.dir()) }

// testFolder reports whether a folder is for tests: its name, or the name of a folder above it,
// ends in "test" or is "testdata", or it holds the log of benchmarks.
func testFolder(dir string) bool {
	return dir == "eventstore/benchlog" || slices.ContainsFunc(strings.Split(dir, "/"), func(name string) bool {
		return strings.HasSuffix(name, "test") || name == "testdata"
	})
}

// imports returns the paths that the file imports.
func (s source) imports() []string {
	var paths []string
	for _, spec := range s.file.Imports {
		paths = append(paths, strings.Trim(spec.Path.Value, `"`))
	}
	return paths
}

// ours returns the folder of an imported package of this project.
func ours(imported string) (folder string, own bool) {
	return strings.CutPrefix(imported, "payledger/")
}

// top returns the top-level folder of a path, "" for a file at the root.
func top(path string) string {
	top, _, below := strings.Cut(path, "/")
	if !below {
		return ""
	}
	return top
}

func (s source) top() string { return top(s.path) }

// at returns file and line.
func (s source) at(pos token.Pos) string {
	return fmt.Sprintf("%s:%d", s.path, s.set.Position(pos).Line)
}

// tree returns every file below the root by path, without git's files, data folders and ignored
// files.
func tree(t *testing.T) map[string]string {
	t.Helper()
	files, err := readTree()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// root returns the folder with go.mod.
func root() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, missing := os.Stat(filepath.Join(dir, "go.mod")); missing == nil {
			return dir, nil
		}
		above := filepath.Dir(dir)
		if above == dir {
			return "", errors.New("no folder above has a go.mod")
		}
		dir = above
	}
	return "", err
}

var readTree = sync.OnceValues(func() (map[string]string, error) {
	dir, err := root()
	if err != nil {
		return nil, err
	}
	files, all := map[string]string{}, os.DirFS(dir)
	err = fs.WalkDir(all, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == ".git" || path == "data" || path == "simulator" {
				return fs.SkipDir
			}
			return nil
		}
		if ignored := filepath.Ext(path); ignored == ".test" || ignored == ".prof" {
			return nil
		}
		text, err := fs.ReadFile(all, path)
		files[path] = string(text)
		return err
	})
	return files, err
})

// sources returns every Go file, with every build tag, sorted by path.
func sources(t *testing.T) []source {
	t.Helper()
	all, err := parseTree()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 50 {
		t.Fatalf("only %d Go files found", len(all))
	}
	return all
}

var parseTree = sync.OnceValues(func() ([]source, error) {
	files, err := readTree()
	var all []source
	for path, text := range files {
		if !strings.HasSuffix(path, ".go") {
			continue
		}
		set := token.NewFileSet()
		file, failed := parser.ParseFile(set, path, text, parser.ParseComments|parser.SkipObjectResolution)
		err = errors.Join(err, failed)
		all = append(all, source{path, text, file, set})
	}
	slices.SortFunc(all, func(a, b source) int { return strings.Compare(a.path, b.path) })
	return all, err
})
