//go:build system

package tools

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"payledger/cmd/payledger/apptest"
	"payledger/domain/seedtest"
	"payledger/eventstore/eventstoretest"
	"payledger/httpapi"
	"payledger/projections/eventjson"
)

// linters is the number of programs that read the documents: each commit's run has one of them.
const linters = 3

// TestLinters: Spectral and Redocly find nothing in openapi.yaml, and would: without its contact,
// or with a value that no schema allows, they do. They take turns.
func TestLinters(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	tools, there := apptest.NpmTools(t)
	if !there {
		return
	}
	document := string(httpapi.OpenAPI())
	for i, words := range [][]string{
		{"spectral", "lint", "--fail-severity", "hint", "--ruleset", "spectral.yaml", "openapi.yaml"},
		{"redocly", "lint", "--config", "redocly.yaml", "openapi.yaml"},
	} {
		if !seedtest.Turn(i, linters) {
			continue
		}
		name, arguments := words[0], words[1:]
		lint := func(document string) (string, error) {
			dir := t.TempDir()
			apptest.WriteClient(t, dir, "openapi.yaml", []byte(document))
			apptest.PutClient(t, dir, "spectral.yaml", "spectral.yaml")
			apptest.PutClient(t, dir, "redocly.yaml", "redocly.yaml")
			return apptest.ToolOutput(t, dir, filepath.Join(tools, "node_modules", ".bin", name), arguments...)
		}
		if said, err := lint(document); err != nil {
			t.Errorf("%s: %v\n%s", name, err, said)
		}
		broken := strings.Replace(document, "example: {orderId: order-1001,", "example: {orderId: 1001,", 1)
		if said, err := lint(broken); err == nil || broken == document {
			t.Errorf("%s finds nothing in an example of another type:\n%s", name, said)
		}
	}
}

// TestAsyncAPIParser: the parser of AsyncAPI finds no error and no warning in asyncapi.yaml, and
// would: in a document without a version.
func TestAsyncAPIParser(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) || !seedtest.Turn(linters-1, linters) {
		return
	}
	t.Parallel()
	tools, there := apptest.NpmTools(t)
	if !there {
		return
	}
	document := string(eventjson.AsyncAPI())
	head, _, _ := strings.Cut(document, "defaultContentType:")
	broken := strings.Replace(head, "  version: ", "  x-version: ", 1)
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(tools, "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	apptest.PutClient(t, dir, "asyncapi.mjs", "asyncapi.mjs")
	apptest.WriteClient(t, dir, "asyncapi.yaml", []byte(document))
	apptest.WriteClient(t, dir, "broken.yaml", []byte(broken))
	want := fmt.Sprintf("%d messages", len(eventjson.Types())+1) // and one for any event of the stream over HTTP
	if said := runTool(t, dir, "node", "asyncapi.mjs", "asyncapi.yaml"); said != want {
		t.Errorf("%s, not %s", said, want)
	}
	if said, err := apptest.ToolOutput(t, dir, "node", "asyncapi.mjs", "broken.yaml"); err == nil || !strings.Contains(said, "version") {
		t.Errorf("the parser finds nothing: %v, %s", err, said)
	}
}

// TestLockFile: the lock file pins every package by its content, and names no place to download
// from.
func TestLockFile(t *testing.T) {
	text, err := os.ReadFile("../../apptest/testdata/clients/package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	lock := string(text)
	for _, place := range []string{`"resolved"`, "http://", "https://", "git+"} {
		if strings.Contains(lock, place) {
			t.Errorf("the lock file says %s", place)
		}
	}
	if packages, pinned := strings.Count(lock, `"node_modules/`), strings.Count(lock, `"integrity": "sha512-`); packages < 100 || pinned < packages {
		t.Errorf("%d packages, %d of them pinned", packages, pinned)
	}
}
