package apptest

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"payledger/domain/childtest"
	"payledger/httpapi/docs/docstest"
)

// clients are the files of the generated clients and of the linters: npm packages, pinned in
// package.json and package-lock.json, and Go programs, pinned here. They are installed once for
// each state of the lock file, into the user's cache folder. Where a tool is missing, a test logs
// that and ends; in CI it fails.
//
//go:embed testdata/clients
var clients embed.FS

// NpmTools returns the folder of the npm packages, false where they cannot be installed, which is
// logged, and fails in CI.
func NpmTools(t testing.TB) (dir string, there bool) {
	t.Helper()
	for _, name := range []string{"node", "npm"} {
		if _, err := exec.LookPath(name); err != nil {
			return "", ToolMissing(t, name+" is not installed")
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	dir = filepath.Join(cache, "payledger-npm-"+clientDigest(t, "package.json", "package-lock.json"))
	if _, err := os.Stat(dir); err == nil {
		return dir, true
	}
	if err := installTools(t, dir); err != nil {
		return "", ToolMissing(t, err.Error())
	}
	return dir, true
}

// ToolMissing logs the reason why a test was not run.
func ToolMissing(t testing.TB, why string) bool {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf("the tools of openapi.yaml are missing: %s", why)
	}
	t.Logf("NOT RUN: %s", why)
	return false
}

// clientDigest returns a hash of the contents of files.
func clientDigest(t testing.TB, names ...string) string {
	t.Helper()
	all := sha256.New()
	for _, name := range names {
		all.Write(clientFile(t, name))
	}
	return hex.EncodeToString(all.Sum(nil)[:8])
}

// installTools installs the packages beside dir, and renames the folder to dir when all are
// installed.
func installTools(t testing.TB, dir string) error {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	at, err := os.MkdirTemp(filepath.Dir(dir), "payledger-npm-new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(at) // it does not exist after the rename
	PutClient(t, at, "package.json", "package.json")
	PutClient(t, at, "package-lock.json", "package-lock.json")
	if said, err := ToolOutput(t, at, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"); err != nil {
		return errors.New("npm ci: " + said)
	}
	err = os.Rename(at, dir)
	if errors.Is(err, fs.ErrExist) {
		return nil // another test was faster
	}
	return err
}

// BuildClient builds a Go program of the clients and returns its path; false where its modules
// cannot be had. A program is built once for each state of its files and each version of Go, into
// the user's cache folder.
func BuildClient(t testing.TB, name string) (path string, there bool) {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	path = filepath.Join(cache, "payledger-"+name+"-"+runtime.Version()+"-"+clientDigest(t, name+".mod", name+".sum", name+"/main.go"))
	if _, err := os.Stat(path); err == nil {
		return path, true
	}
	at := t.TempDir()
	PutClient(t, at, name+".mod", "go.mod")
	PutClient(t, at, name+".sum", "go.sum")
	PutClient(t, at, name+"/main.go", "main.go")
	made := filepath.Join(at, name)
	for _, arguments := range [][]string{{"mod", "download"}, {"build", "-o", made, "."}} {
		if said, err := ToolOutput(t, at, "go", arguments...); err != nil {
			return "", ToolMissing(t, said)
		}
	}
	if err := keep(made, path); err != nil {
		t.Logf("%s is not kept for the next run: %v", name, err)
		return made, true
	}
	return path, true
}

// keep copies a program, and gives the whole copy its name.
func keep(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	made, err := os.CreateTemp(filepath.Dir(to), "payledger-new-")
	if err != nil {
		return err
	}
	defer os.Remove(made.Name()) // it does not exist after the rename
	_, err = made.Write(text)
	if err := errors.Join(err, made.Chmod(0o700), made.Close()); err != nil {
		return err
	}
	return os.Rename(made.Name(), to)
}

// ToolOutput runs a program in a folder and returns its whole output.
func ToolOutput(t testing.TB, dir, name string, args ...string) (string, error) {
	t.Helper()
	command := childtest.Tied(exec.CommandContext(t.Context(), name, args...))
	command.Dir = dir
	command.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=mod", "REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true", "NO_COLOR=1")
	said, err := command.CombinedOutput()
	return string(said), err
}

func clientFile(t testing.TB, name string) []byte {
	t.Helper()
	text, err := clients.ReadFile("testdata/clients/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// PutClient writes an embedded file into a folder.
func PutClient(t testing.TB, dir, name, as string) {
	t.Helper()
	WriteClient(t, dir, as, clientFile(t, name))
}

// WriteClient writes a file of a client's program.
func WriteClient(t testing.TB, dir, name string, text []byte) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// duckViews returns the guide's statements that make one view of each table's files.
func duckViews(t testing.TB) string {
	t.Helper()
	views, is := strings.CutPrefix(docstest.Block(t, docstest.Guides+"analysts.md", "sql"), "-- DuckDB\n")
	if !is {
		t.Fatal("the guide has no statements for DuckDB")
	}
	return views
}

// DuckAnswers returns the answers of DuckDB, one line of JSON for each query, from the files of an
// exported folder; false where DuckDB cannot be built.
func DuckAnswers(t testing.TB, dir string, queries []string) (answers []string, there bool) {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		return nil, ToolMissing(t, "gcc is not installed")
	}
	built, there := BuildClient(t, "duckdb")
	if !there {
		return nil, false
	}
	program := childtest.Tied(exec.CommandContext(t.Context(), built, duckViews(t), dir))
	program.Stdin = strings.NewReader(strings.Join(queries, "\n"))
	var said strings.Builder
	program.Stderr = &said
	out, err := program.Output()
	if err != nil {
		t.Fatalf("DuckDB: %v: %s", err, said.String())
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n"), true
}
