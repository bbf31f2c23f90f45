// Package docstest reads the documents whose examples tests run: the README, the guides below /docs
// and the runbook. So an example stands in one place, and the text that a reader sees is the text
// that a test runs.
//
// The package must not know: which program runs an example, and what it prints.
package docstest

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// The documents, as paths in the repository. Guides is the folder of the guides.
const (
	Readme  = "README.md"
	Runbook = "deploy/RUNBOOK.md"
	Guides  = "httpapi/docs/guides/"
)

// Read returns a document. Its path is relative to the root of the repository.
func Read(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(Path(t, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Path returns the name of a file for a test in any folder.
func Path(t testing.TB, path string) string {
	t.Helper()
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			return filepath.Join(root, filepath.FromSlash(path))
		}
		above := filepath.Dir(root)
		if above == root {
			t.Fatal("the test is outside of the repository")
		}
		root = above
	}
}

// fence matches a block of code with its language. A block in a list is indented.
var (
	fence  = regexp.MustCompile("(?ms)^( *)```([a-z]*)\n(.*?)^ *```$")
	margin = regexp.MustCompile("(?m)^ {3}")
)

// Blocks returns the document's blocks of code with a language, in their order. A language of ""
// means blocks without a language.
func Blocks(t testing.TB, path, language string) (blocks []string) {
	t.Helper()
	for _, m := range fence.FindAllStringSubmatch(Read(t, path), -1) {
		if m[2] != language {
			continue
		}
		block := m[3]
		if m[1] != "" {
			block = margin.ReplaceAllString(block, "")
		}
		blocks = append(blocks, block)
	}
	return blocks
}

// Block returns the document's one block of code with a language.
func Block(t testing.TB, path, language string) string {
	t.Helper()
	blocks := Blocks(t, path, language)
	if len(blocks) != 1 {
		t.Fatalf("%s has %d blocks with the language %q, expected 1", path, len(blocks), language)
	}
	return blocks[0]
}
