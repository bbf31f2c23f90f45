package deploy_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// variable matches a setting of payledger or of its NATS servers.
var variable = regexp.MustCompile(`PAYLEDGER_[A-Z0-9_]*[A-Z0-9]`)

// TestVariables: every variable in a file of deploy is a flag of the commands (I1), or the NATS
// configuration reads it.
func TestVariables(t *testing.T) {
	text, err := os.ReadFile("../httpapi/CONTRACT.md")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, row := range regexp.MustCompile(`(?m)^\| [a-z/ -]+ \| (--.*) \| yes \|$`).FindAllStringSubmatch(string(text), -1) {
		for flag := range strings.FieldsSeq(row[1]) {
			known["PAYLEDGER_"+strings.ToUpper(strings.ReplaceAll(strings.TrimPrefix(flag, "--"), "-", "_"))] = true
		}
	}
	for _, file := range []string{"nats/nats-server.conf", "nats/jetstream.conf", "nats/accounts.conf"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range regexp.MustCompile(`: \$(PAYLEDGER_[A-Z_]+)`).FindAllStringSubmatch(string(text), -1) {
			known[name[1]] = true
		}
	}
	found := 0
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || slices.Contains([]string{".go", ".mod", ".sum"}, filepath.Ext(path)) {
			return err
		}
		text, err := os.ReadFile(path)
		for _, name := range variable.FindAllString(string(text), -1) {
			if found++; !known[name] {
				t.Errorf("%s sets %s, which nothing reads", path, name)
			}
		}
		return err
	})
	if err != nil || found < 30 {
		t.Errorf("%d variables were found: %v", found, err)
	}
}
