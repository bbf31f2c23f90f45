package house_test

import (
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mayImport lists the top-level folders, each with the other ones that it may import.
var mayImport = map[string][]string{
	"domain":       {},
	"eventstore":   {"domain"},
	"projections":  {"domain", "eventstore"},
	"notifier":     {"domain", "eventstore", "projections"},
	"httpapi":      {"domain", "eventstore", "projections"},
	"processorsim": {"domain"},
	"cmd":          {"domain", "eventstore", "projections", "notifier", "httpapi", "processorsim"},
	"deploy":       {"domain", "processorsim"}, // connectors; all else uses the programs, as an operator does
}

// TestImports checks mayImport. Tests may import every folder but cmd.
func TestImports(t *testing.T) {
	check(t)
	for _, s := range sources(t) {
		for _, imported := range s.imports() {
			folder, own := ours(imported)
			if !own {
				continue
			}
			target := top(folder + "/")
			if s.forTests() {
				if target == "cmd" && s.top() != "cmd" {
					t.Errorf("%s imports %s: nothing stands above the command", s.path, imported)
				}
			} else if target != s.top() && !slices.Contains(mayImport[s.top()], target) {
				t.Errorf("%s imports %s: %s may import %v", s.path, imported, s.top(), mayImport[s.top()])
			}
		}
	}
}

// confined lists third-party packages, by import path prefix, with the folders that may import
// them.
var confined = map[string][]string{
	"github.com/nats-io/nats.go":      {"eventstore", "notifier"},
	"github.com/nats-io/nats-server":  {"eventstore"},
	"github.com/nats-io/jwt":          {"eventstore"},
	"github.com/nats-io/nkeys":        {"eventstore"},
	"github.com/vmihailenco/msgpack":  {"eventstore"},
	"github.com/gorilla/mux":          {"httpapi", "processorsim"},
	"modernc.org/sqlite":              {"projections", "processorsim"}, // views, and the book of a connector
	"database/sql":                    {"projections", "processorsim"},
	"github.com/alecthomas/kong":      {"cmd", "deploy"},
	"github.com/prometheus":           {"cmd"},
	"github.com/getkin/kin-openapi":   {"httpapi"},
	"github.com/golang-jwt/jwt":       {"httpapi"},
	"github.com/pquerna/otp":          {"eventstore"},
	"github.com/modelcontextprotocol": {"cmd"},
	"github.com/jackc/pgx":            {"deploy"}, // yardstick, a module of its own
	"github.com/stripe":               {"deploy"}, // a connector, a module of its own: the ledger links no vendor's SDK
}

func TestConfined(t *testing.T) {
	check(t)
	for _, s := range sources(t) {
		if s.forTests() {
			continue
		}
		for _, imported := range s.imports() {
			for prefix, folders := range confined {
				if strings.HasPrefix(imported, prefix) && !slices.Contains(folders, s.top()) {
					t.Errorf("%s imports %s, which is confined to %v", s.path, imported, folders)
				}
			}
		}
	}
}

// apart lists pairs of folders that must not import each other, nor any folder below the other.
var apart = [][2]string{
	{"processorsim/adapter", "processorsim/simulator"}, // the service must not link the simulator's server
}

func TestApart(t *testing.T) {
	check(t)
	for _, pair := range apart {
		seen := [2]bool{}
		for _, s := range sources(t) {
			for side, parent := range pair {
				if s.forTests() || !below(s.dir(), parent) {
					continue
				}
				seen[side] = true
				for _, imported := range s.imports() {
					folder, own := ours(imported)
					if other := pair[1-side]; own && below(folder, other) {
						t.Errorf("%s imports %s: %s and %s must not import each other", s.path, folder, parent, other)
					}
				}
			}
		}
		if !seen[0] || !seen[1] {
			t.Errorf("%v: one of the folders has no Go file", pair)
		}
	}
}

// below reports whether a folder is the parent or stands below it.
func below(dir, parent string) bool { return dir == parent || strings.HasPrefix(dir, parent+"/") }

// openers lists the folders that may import an implementation, by the implementation's folder: they
// open a log, or a tip store.
var openers = map[string][]string{
	"eventstore/engine":            {"cmd/payledger/ledger"},
	"eventstore/tipstore/tipfiles": {"eventstore/archive", "eventstore/engine", "eventstore/verify"},
}

// plain lists the folders below eventstore that the folder eventstore itself may import.
var plain = []string{"eventstore/codec", "eventstore/fault", "eventstore/format"}

func TestEngine(t *testing.T) {
	check(t)
	seen := map[string]map[string]bool{} // by implementation
	for _, s := range sources(t) {
		if s.forTests() {
			continue
		}
		for _, imported := range s.imports() {
			folder, own := ours(imported)
			if may := openers[folder]; own && may != nil {
				if seen[folder] == nil {
					seen[folder] = map[string]bool{}
				}
				seen[folder][s.dir()] = true
				if !slices.Contains(may, s.dir()) {
					t.Errorf("%s imports %s, which only %v may import", s.path, folder, may)
				}
			}
			if strings.HasPrefix(imported, "github.com/cockroachdb/pebble") && s.dir() != "eventstore/tipstore/tipfiles" {
				t.Errorf("%s imports %s: every program with it then links Pebble", s.path, imported)
			}
			if s.dir() == "eventstore" && (own && !below(folder, "domain") && !slices.Contains(plain, folder) || !own && strings.Contains(imported, ".")) {
				t.Errorf("%s imports %s: everything that imports the event store then depends on it", s.path, imported)
			}
		}
	}
	for implementation, may := range openers {
		if len(seen[implementation]) != len(may) {
			t.Errorf("%d folders import %s; openers has %d", len(seen[implementation]), implementation, len(may))
		}
	}
}

// The owner of the NATS server's files is the only package that imports their parser. All others
// get streams and messages from it, or from the server, and name no file of the server's.
const (
	filesOwner  = "eventstore/folder"
	filesParser = "eventstore/blocks"
)

func TestFileReaders(t *testing.T) {
	check(t)
	private := regexp.MustCompile(`\.blk\b|\bindex\.db\b|\bmeta\.(inf|sum)\b`)
	imported, named := false, false
	for _, s := range sources(t) {
		imports := slices.Contains(s.imports(), "payledger/"+filesParser)
		file := private.FindString(tree(t)[s.path])
		switch {
		case s.forTests() || s.dir() == filesParser:
		case s.dir() == filesOwner:
			imported, named = imported || imports, named || file != ""
		case imports:
			t.Errorf("%s imports %s: only %s may", s.path, filesParser, filesOwner)
		case file != "":
			t.Errorf("%s names %s, a file of the NATS server's: only %s knows those", s.path, file, filesOwner)
		}
	}
	if !imported || !named {
		t.Errorf("%s imports the parser: %t; names a file: %t", filesOwner, imported, named)
	}
}

// together lists the folders for tests that start all packages of the folder above them.
var together = []string{"eventstore/commands/commandstest", "eventstore/eventstoretest"}

func TestTestFolders(t *testing.T) {
	check(t)
	users := map[string]map[string]bool{} // by folder for tests: the folders whose tests import it
	for _, s := range sources(t) {
		for _, imported := range s.imports() {
			folder, own := ours(imported)
			if !own || !testFolder(folder) {
				continue
			}
			if !s.forTests() {
				t.Errorf("%s imports %s, which is for tests", s.path, imported)
			}
			if s.isTest() && s.dir() != folder {
				if users[folder] == nil {
					users[folder] = map[string]bool{}
				}
				users[folder][s.dir()] = true
			}
		}
	}
	for _, s := range sources(t) {
		if s.isTest() {
			continue
		}
		above := s.dir()[:max(0, strings.LastIndex(s.dir(), "/"))]
		starts := slices.Contains(together, s.dir())
		for _, imported := range s.imports() {
			folder, own := ours(imported)
			if own && folder != above && !(starts && below(folder, above)) && users[s.dir()][folder] {
				t.Errorf("%s imports %s, whose tests import %s", s.path, folder, s.dir())
			}
		}
	}
	if !users["eventstore/eventstoretest"]["eventstore/engine"] {
		t.Error("the test helpers of the log were not found")
	}
	for _, folder := range together {
		if len(users[folder]) < 2 {
			t.Errorf("%s is in together, and the tests of %d folders import it", folder, len(users[folder]))
		}
	}
}

// pure lists the packages of the standard library that domain may import: no I/O, clock, randomness
// or external encoding. The packages in ports may also import context.
var pure = []string{
	"cmp", "crypto/sha256", "crypto/subtle", "embed", "encoding/base32", "errors", "fmt", "hash/crc32", "hash/fnv",
	"maps", "math", "math/big", "slices", "strconv", "strings", "time", "unicode", "unicode/utf8",
}

// decoders are the packages of domain that decode texts, and what they may import for it.
var decoders = map[string][]string{"domain/exactjson": {"bytes", "encoding/json", "reflect"}}

// ports are the packages of domain that declare interfaces with a context.
var ports = []string{"domain/processor", "domain/process"}

// effects are the impure functions of packages that domain may import.
var effects = map[string][]string{
	"time": {"Now", "Since", "Until", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick", "Sleep", "Local", "LoadLocation"},
	"fmt":  {"Print", "Printf", "Println", "Scan", "Scanf", "Scanln"},
}

func TestDomainIsPure(t *testing.T) {
	check(t)
	for _, s := range sources(t) {
		if s.top() != "domain" || s.forTests() && !s.isTest() {
			continue
		}
		for _, imported := range s.imports() {
			checkPure(t, s, imported)
		}
		if s.isTest() {
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

func checkPure(t *testing.T, s source, imported string) {
	t.Helper()
	if _, own := ours(imported); own && top(strings.TrimPrefix(imported, "payledger/")+"/") == "domain" {
		return
	}
	helpers := []string{"pgregory.net/rapid", "github.com/google/go-cmp"}
	switch {
	case s.isTest():
		helper := slices.ContainsFunc(helpers, func(h string) bool { return strings.HasPrefix(imported, h) })
		if _, own := ours(imported); own || strings.Contains(imported, ".") && !helper {
			t.Errorf("%s imports %s: the rules are tested by themselves", s.path, imported)
		}
	case slices.Contains(decoders[s.dir()], imported):
	case !slices.Contains(pure, imported) && !(imported == "context" && slices.Contains(ports, s.dir())):
		t.Errorf("%s imports %s: the rules are pure and use %v", s.path, imported, pure)
	}
}

// exact are the folders that read JSON which a signature or a decision depends on.
var exact = []string{
	"cmd/payledger/audit", "eventstore/backup", "eventstore/backup/restore", "eventstore/blocks", "eventstore/eventstream", "eventstore/feed", "eventstore/proof",
	"notifier/signature", "processorsim/adapter",
}

func TestExactJSON(t *testing.T) {
	check(t)
	loose := regexp.MustCompile(`\bjson\.Unmarshal\(|\.DisallowUnknownFields\(|\bjson\.NewDecoder\([^)]*\)\.Decode\(`)
	seen := map[string]bool{}
	for _, s := range sources(t) {
		if s.forTests() || !slices.Contains(exact, s.dir()) {
			continue
		}
		seen[s.dir()] = true
		if at := loose.FindString(tree(t)[s.path]); at != "" {
			t.Errorf("%s has %s", s.path, at)
		}
	}
	if len(seen) != len(exact) {
		t.Errorf("%d folders of %v were found", len(seen), exact)
	}
}

// beside are the folders of domain that are no aggregates. Every other one is an aggregate.
var beside = map[string]string{
	"exactjson": "reads JSON that a decision depends on",
	"processor": "the values exchanged with a processor",
	"process":   "decides what to do next with an aggregate's state",
	"webhook":   "has the kinds of webhooks, by the statuses of other aggregates",
}

func TestAggregates(t *testing.T) {
	check(t)
	for _, s := range sources(t) {
		dir, below := strings.CutPrefix(s.dir()+"/", "domain/")
		if s.forTests() || !below {
			continue
		}
		own := top(dir)
		for _, imported := range s.imports() {
			folder, is := strings.CutPrefix(imported, "payledger/domain/")
			if !is {
				continue
			}
			target := top(folder + "/")
			if own == "" {
				t.Errorf("%s imports %s: the root of domain is below its folders", s.path, imported)
			} else if beside[own] == "" && target != own && target != "processor" {
				t.Errorf("%s imports %s: aggregates do not know each other", s.path, imported)
			}
		}
	}
}
