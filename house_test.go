// Package payledger_test checks the rules of the whole tree: imports, sizes, forbidden words, language, and references to the
// contract.
package payledger_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// source is one Go file of the tree.
type source struct {
	path string // slash-separated, from the root
	text string
	file *ast.File
	set  *token.FileSet
}

func (s source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

// generated files are exempt from sizes.
func (s source) generated() bool { return strings.HasPrefix(s.text, "// Code generated") }

// forTests reports whether the file is used by tests only.
func (s source) forTests() bool {
	return s.isTest() || slices.Contains(testPackages, filepath.Base(filepath.Dir(s.path)))
}

// testPackages are imported by the tests of several packages.
var testPackages = []string{"accountstest", "benchlog", "eventstoretest", "openapitest", "eventjsontest", "goclient", "duckdb", "cloudevents", "clustertest", "manifests", "docstest"}

// top returns the top-level folder, "" for a file at the root.
func (s source) top() string {
	top, _, below := strings.Cut(s.path, "/")
	if !below {
		return ""
	}
	return top
}

// at returns file and line.
func (s source) at(pos token.Pos) string {
	return fmt.Sprintf("%s:%d", s.path, s.set.Position(pos).Line)
}

// tree returns every file below the root by path, without git's files, data folders and ignored files.
func tree(t *testing.T) map[string]string {
	t.Helper()
	files, err := readTree()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

var readTree = sync.OnceValues(func() (map[string]string, error) {
	files := map[string]string{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == ".git" || path == "data" || path == "simulator" {
				return filepath.SkipDir
			}
			return nil
		}
		if ignored := filepath.Ext(path); ignored == ".test" || ignored == ".prof" {
			return nil
		}
		text, err := os.ReadFile(path)
		files[filepath.ToSlash(path)] = string(text)
		return err
	})
	return files, err
})

// sources returns every Go file, sorted by path.
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
		file, failed := parser.ParseFile(set, path, text, parser.ParseComments)
		err = errors.Join(err, failed)
		all = append(all, source{path, text, file, set})
	}
	slices.SortFunc(all, func(a, b source) int { return strings.Compare(a.path, b.path) })
	return all, err
})

// mayImport lists the folders of the project that each folder may import besides itself.
var mayImport = map[string][]string{
	"domain":       {},
	"eventstore":   {"domain"},
	"projections":  {"domain", "eventstore"},
	"notifier":     {"domain", "eventstore", "projections"},
	"httpapi":      {"domain", "eventstore", "projections"},
	"processorsim": {"domain"},
	"cmd":          {"domain", "eventstore", "projections", "notifier", "httpapi", "processorsim"},
	"deploy":       {}, // it uses the programs, as an operator does
}

// confined lists third-party packages, by import path prefix, with the folders that may import them.
var confined = map[string][]string{
	"github.com/nats-io/nats.go":      {"eventstore", "notifier"},
	"github.com/nats-io/nats-server":  {"eventstore"},
	"github.com/nats-io/jwt":          {"eventstore"},
	"github.com/nats-io/nkeys":        {"eventstore"},
	"github.com/vmihailenco/msgpack":  {"eventstore"},
	"github.com/gorilla/mux":          {"httpapi", "processorsim"},
	"modernc.org/sqlite":              {"projections"},
	"database/sql":                    {"projections"},
	"github.com/alecthomas/kong":      {"cmd", "deploy"},
	"github.com/prometheus":           {"cmd"},
	"github.com/getkin/kin-openapi":   {"httpapi"},
	"github.com/golang-jwt/jwt":       {"httpapi"},
	"github.com/pquerna/otp":          {"eventstore"},
	"github.com/modelcontextprotocol": {"cmd"},
	"github.com/jackc/pgx":            {"deploy"}, // yardstick, a module of its own
}

// pure lists the packages of the standard library that domain may import: no I/O, clock, randomness or external encoding. The
// packages in ports may also import context.
var pure = []string{
	"cmp", "crypto/sha256", "crypto/subtle", "embed", "encoding/base32", "errors", "fmt", "hash/crc32", "hash/fnv",
	"maps", "math", "math/big", "slices", "strconv", "strings", "time", "unicode", "unicode/utf8",
}

// ports are the packages of domain that declare interfaces with a context.
var ports = []string{"domain/processor", "domain/process"}

// aggregates are the folders of domain that must not import each other.
var aggregates = []string{"payment", "session", "instrument", "account", "attempt", "dispute", "inbox", "workflow"}

// TestImports: every import obeys mayImport, confined and pure. Tests may import any package except cmd; tests of domain import only
// domain, the standard library and test libraries.
func TestImports(t *testing.T) {
	for _, s := range sources(t) {
		for _, spec := range s.file.Imports {
			path := strings.Trim(spec.Path.Value, `"`)
			if s.forTests() {
				checkTestImport(t, s, path)
				continue
			}
			checkOwn(t, s, path)
			for prefix, folders := range confined {
				if strings.HasPrefix(path, prefix) && !slices.Contains(folders, s.top()) {
					t.Errorf("%s imports %s, which is confined to %v", s.path, path, folders)
				}
			}
			if s.top() == "domain" {
				checkPure(t, s, path)
			}
		}
	}
}

func checkTestImport(t *testing.T, s source, path string) {
	t.Helper()
	if s.top() != "cmd" && strings.HasPrefix(path, "payledger/cmd") {
		t.Errorf("%s imports %s: nothing stands above the command", s.path, path)
	}
	helpers := []string{"pgregory.net/rapid", "github.com/google/go-cmp"}
	within := !strings.Contains(path, ".") && !strings.HasPrefix(path, "payledger/") || strings.HasPrefix(path, "payledger/domain") ||
		slices.ContainsFunc(helpers, func(h string) bool { return strings.HasPrefix(path, h) })
	if s.top() == "domain" && !within {
		t.Errorf("%s imports %s: the rules are tested by themselves", s.path, path)
	}
}

func checkOwn(t *testing.T, s source, path string) {
	t.Helper()
	rest, ours := strings.CutPrefix(path, "payledger/")
	if !ours {
		return
	}
	target := strings.Split(rest, "/")[0]
	if target != s.top() && !slices.Contains(mayImport[s.top()], target) {
		t.Errorf("%s imports %s: %s may import %v", s.path, path, s.top(), mayImport[s.top()])
	}
	if slices.Contains(testPackages, rest[strings.LastIndex(rest, "/")+1:]) {
		t.Errorf("%s imports %s, which is for tests", s.path, path)
	}
}

func checkPure(t *testing.T, s source, path string) {
	t.Helper()
	dir := filepath.ToSlash(filepath.Dir(s.path))
	if !strings.HasPrefix(path, "payledger/") {
		if !slices.Contains(pure, path) && !(path == "context" && slices.Contains(ports, dir)) {
			t.Errorf("%s imports %s: the rules are pure and use %v", s.path, path, pure)
		}
		return
	}
	target := strings.Split(strings.TrimPrefix(path, "payledger/domain/"), "/")[0]
	own := strings.Split(strings.TrimPrefix(dir, "domain/"), "/")[0]
	if slices.Contains(aggregates, own) && slices.Contains(aggregates, target) && own != target {
		t.Errorf("%s imports %s: aggregates do not know each other", s.path, path)
	}
	if dir == "domain" {
		t.Errorf("%s imports %s: the root of domain is below its folders", s.path, path)
	}
}

// effects are the impure functions of packages that domain may import.
var effects = map[string][]string{
	"time": {"Now", "Since", "Until", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick", "Sleep", "Local", "LoadLocation"},
	"fmt":  {"Print", "Printf", "Println", "Scan", "Scanf", "Scanln"},
}

// TestDomainIsPure: domain reads no clock, prints nothing and starts no goroutine.
func TestDomainIsPure(t *testing.T) {
	for _, s := range sources(t) {
		if s.top() != "domain" || s.isTest() {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s starts a goroutine", s.at(n.Pos()))
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && slices.Contains(effects[x.Name], n.Sel.Name) {
					t.Errorf("%s calls %s.%s: time and the like arrive in the command", s.at(n.Pos()), x.Name, n.Sel.Name)
				}
			}
			return true
		})
	}
}

// TestLayout: the tree has only the agreed top-level folders.
func TestLayout(t *testing.T) {
	agreed := []string{"cmd", "domain", "eventstore", "projections", "httpapi", "notifier", "processorsim", "deploy"}
	for path := range tree(t) {
		top, _, below := strings.Cut(path, "/")
		if below && !slices.Contains(agreed, top) && !strings.HasPrefix(top, ".") {
			t.Errorf("%s stands in a top-level folder that is not agreed", path)
		}
	}
}
