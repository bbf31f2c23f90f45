// Package payledger_test holds the tree to the rules of the house: who imports whom, how large things get,
// what has no place in it, and that every pointer to the contract resolves.
package payledger_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
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

// forTests tells whether the package serves tests only.
func (s source) forTests() bool {
	dir := filepath.Base(filepath.Dir(s.path))
	return s.isTest() || dir == "eventstoretest" || dir == "openapitest"
}

// tree reads every file below the root that is not in a dot-folder.
func tree(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path != "." && (strings.HasPrefix(d.Name(), ".") || path == "data" || path == "simulator") {
				return filepath.SkipDir
			}
			return nil
		}
		text, err := os.ReadFile(path)
		files[filepath.ToSlash(path)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	for path, text := range tree(t) {
		if !strings.HasSuffix(path, ".go") {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, text, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, source{path, text, file, set})
	}
	slices.SortFunc(all, func(a, b source) int { return strings.Compare(a.path, b.path) })
	if len(all) < 50 {
		t.Fatalf("only %d Go files found", len(all))
	}
	return all
}

// mayImport says which packages of ours each folder may import, itself aside.
var mayImport = map[string][]string{
	"domain":       {},
	"eventstore":   {"domain"},
	"projections":  {"domain", "eventstore"},
	"notifier":     {"domain", "eventstore", "projections"},
	"httpapi":      {"domain", "eventstore", "projections"},
	"processorsim": {"domain"},
	"cmd":          {"domain", "eventstore", "projections", "notifier", "httpapi", "processorsim"},
}

// confined packages of others, by import path prefix, with the folders that may use them.
var confined = map[string][]string{
	"github.com/nats-io/nats.go":     {"eventstore", "notifier"},
	"github.com/nats-io/nats-server": {"eventstore"},
	"github.com/vmihailenco/msgpack": {"eventstore"},
	"github.com/gorilla/mux":         {"httpapi", "processorsim"},
	"modernc.org/sqlite":             {"projections"},
	"database/sql":                   {"projections"},
	"github.com/alecthomas/kong":     {"cmd"},
	"github.com/prometheus":          {"cmd"},
	"github.com/getkin/kin-openapi":  {"httpapi"},
	"github.com/golang-jwt/jwt":      {"httpapi"},
}

// impure packages have no place in the rules.
var impure = []string{"context", "encoding/json", "log", "log/slog", "net", "os", "math/rand", "math/rand/v2", "crypto/rand", "io", "sync", "net/http"}

// ports name a context, and nothing else that is impure.
var ports = []string{"domain/processor", "domain/process"}

func TestImports(t *testing.T) {
	for _, s := range sources(t) {
		top := strings.Split(s.path, "/")[0]
		for _, spec := range s.file.Imports {
			path := strings.Trim(spec.Path.Value, `"`)
			if s.forTests() { // tests may bring real parts together
				continue
			}
			checkOwn(t, s, top, path)
			for prefix, folders := range confined {
				if strings.HasPrefix(path, prefix) && !slices.Contains(folders, top) {
					t.Errorf("%s imports %s, which is confined to %v", s.path, path, folders)
				}
			}
			if top == "domain" {
				checkPure(t, s, path)
			}
		}
	}
}

func checkOwn(t *testing.T, s source, top, path string) {
	t.Helper()
	rest, ours := strings.CutPrefix(path, "payledger/")
	if !ours {
		return
	}
	target := strings.Split(rest, "/")[0]
	if target != top && !slices.Contains(mayImport[top], target) {
		t.Errorf("%s imports %s: %s may import %v", s.path, path, top, mayImport[top])
	}
}

func checkPure(t *testing.T, s source, path string) {
	t.Helper()
	dir := filepath.ToSlash(filepath.Dir(s.path))
	if slices.Contains(impure, path) && !(path == "context" && slices.Contains(ports, dir)) {
		t.Errorf("%s imports %s: the rules are pure", s.path, path)
	}
	rest, ours := strings.CutPrefix(path, "payledger/domain/")
	if strings.Contains(path, ".") {
		t.Errorf("%s imports %s: the rules use the standard library only", s.path, path)
	}
	aggregates := []string{"payment", "session", "instrument", "account", "attempt", "dispute", "workflow"}
	own := strings.Split(strings.TrimPrefix(dir, "domain/"), "/")[0]
	target := strings.Split(rest, "/")[0]
	if ours && slices.Contains(aggregates, own) && slices.Contains(aggregates, target) && own != target {
		t.Errorf("%s imports %s: aggregates do not know each other", s.path, path)
	}
}

// TestLayout: the folders of the tree tell the story, and no others.
func TestLayout(t *testing.T) {
	agreed := []string{"cmd", "domain", "eventstore", "projections", "httpapi", "notifier", "processorsim", "deploy"}
	for path := range tree(t) {
		if top, _, below := strings.Cut(path, "/"); below && !slices.Contains(agreed, top) {
			t.Errorf("%s stands in a top-level folder that is not agreed", path)
		}
	}
}

// Sizes, as a ratchet. An exemption carries its reason: //house:exempt REASON, on the package line for a
// file, on the func line for a function.
const (
	maxFile     = 400
	maxTestFile = 800
	maxFunction = 70
	maxTable    = 120  // a test's function: its table counts
	maxDomain   = 3400 // all of domain, tests and generated files aside
)

func TestSizes(t *testing.T) {
	domainLines := 0
	for _, s := range sources(t) {
		if s.generated() {
			continue
		}
		lines, limit := strings.Count(s.text, "\n"), maxFile
		if s.isTest() {
			limit = maxTestFile
		} else if strings.HasPrefix(s.path, "domain/") {
			domainLines += lines
		}
		if lines > limit && !strings.Contains(s.text, "//house:exempt ") {
			t.Errorf("%s has %d lines; %d are the limit", s.path, lines, limit)
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			first, last := s.set.Position(f.Pos()).Line, s.set.Position(f.End()).Line
			line := strings.Split(s.text, "\n")[first-1]
			most := maxFunction
			if s.isTest() {
				most = maxTable
			}
			if n := last - first + 1; n > most && !strings.Contains(line, "//house:exempt ") {
				t.Errorf("%s:%d: %s has %d lines; %d are the limit", s.path, first, f.Name.Name, n, most)
			}
		}
	}
	if domainLines > maxDomain {
		t.Errorf("domain has %d lines; past %d, rules are leaking in", domainLines, maxDomain)
	}
}

// TestPackageComments: every package says what it is.
func TestPackageComments(t *testing.T) {
	documented := map[string]bool{}
	for _, s := range sources(t) {
		dir := filepath.Dir(s.path)
		documented[dir] = documented[dir] || s.file.Doc != nil
	}
	for dir, ok := range documented {
		if !ok {
			t.Errorf("%s has no package comment", dir)
		}
	}
}

// forbidden words, each with the reason why it has no place here.
var forbidden = map[*regexp.Regexp]string{
	regexp.MustCompile(`time\.Sleep\(`):                                  "wait for a signal",
	regexp.MustCompile(`\bt\.Skip`):                                      "a test that does not run shows nothing",
	regexp.MustCompile(`\b(TODO|FIXME|XXX)\b`):                           "finish it or leave it out",
	regexp.MustCompile(`"/(work|tmp|root|home)/`):                        "a path of some machine",
	regexp.MustCompile(`proxy\.golang\.org|registry\.npmjs|deb\.debian`): "a registry's host",
}

func TestForbiddenWords(t *testing.T) {
	for _, s := range sources(t) {
		if s.path == "house_test.go" {
			continue
		}
		for pattern, reason := range forbidden {
			if at := pattern.FindStringIndex(s.text); at != nil {
				t.Errorf("%s:%d: %q: %s", s.path, 1+strings.Count(s.text[:at[0]], "\n"), s.text[at[0]:at[1]], reason)
			}
		}
	}
}

// TestDependencies: every direct dependency has its reason in the README.
func TestDependencies(t *testing.T) {
	files := tree(t)
	inBlock := false
	for line := range strings.Lines(files["go.mod"]) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "require ("):
			inBlock = true
		case line == ")":
			inBlock = false
		case inBlock && !strings.Contains(line, "// indirect"):
			module, _, _ := strings.Cut(line, " ")
			if !strings.Contains(files["README.md"], "| "+module+" |") {
				t.Errorf("README.md gives no reason for %s", module)
			}
		}
	}
}
