package signature_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// snippet is the one block of a language in the README's section on webhooks.
func snippet(t *testing.T, language string) string {
	t.Helper()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := bytes.Cut(readme, []byte("\n## Verify webhooks\n"))
	if !found {
		t.Fatal("README.md has no section on webhooks")
	}
	section, _, _ = bytes.Cut(section, []byte("\n## "))
	blocks := regexp.MustCompile("(?s)\n```"+language+"\n(.*?)\n```\n").FindAllSubmatch(section, -1)
	if len(blocks) != 1 {
		t.Fatalf("README.md has %d blocks of %s", len(blocks), language)
	}
	return string(blocks[0][1])
}

// tool finds a program; "" where it is missing, which is said, and fails in CI: .ci/run installs all of them.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	switch {
	case err == nil:
		return path
	case os.Getenv("CI") == "true":
		t.Fatalf("%s is missing; .ci/run installs it", name)
	default:
		t.Logf("NOT RUN: %s is not installed, so README.md's code for it was not tried (apt-get install nodejs python3)", name)
	}
	return ""
}

// Each program runs a language's function on every vector and prints the names of the accepted ones as JSON.
const (
	onNode = `
const { vectors } = JSON.parse(require("node:fs").readFileSync(process.argv[2], "utf8"));
const received = (v) => Object.fromEntries(Object.entries(v.headers).map(([name, values]) => [name.toLowerCase(), values.join(", ")]));
console.log(JSON.stringify(vectors.filter((v) => {
  const is = verifyWebhook(received(v), Buffer.from(v.body), v.secrets, v.now, v.toleranceSeconds);
  if (typeof is !== "boolean") throw new Error(v.name);
  return is;
}).map((v) => v.name)));`
	onPython = `
import sys
accepted = []
for v in json.load(open(sys.argv[1], encoding="utf-8"))["vectors"]:
    received = {name: ", ".join(values) for name, values in v["headers"].items()}
    if {True: True, False: False}[verify_webhook(received, v["body"].encode(), v["secrets"], v["now"], v["toleranceSeconds"])]:
        accepted.append(v["name"])
print(json.dumps(accepted))`
)

// TestReadmeSnippets checks that the README's code for receivers gives the same result for every vector as this package.
func TestReadmeSnippets(t *testing.T) {
	var want []string
	for _, v := range vectors(t) {
		if v.Result == "OK" {
			want = append(want, v.Name)
		}
	}
	for _, c := range []struct{ language, program, file, runner string }{
		{"js", "node", "verify.js", onNode},
		{"python", "python3", "verify.py", onPython},
	} {
		t.Run(c.language, func(t *testing.T) {
			program := tool(t, c.program)
			if program == "" {
				return
			}
			path := filepath.Join(t.TempDir(), c.file)
			if err := os.WriteFile(path, []byte(snippet(t, c.language)+"\n"+c.runner+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			var complaint bytes.Buffer
			command := exec.CommandContext(t.Context(), program, path, "testdata/vectors.json")
			command.Stderr = &complaint
			out, err := command.Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, &complaint)
			}
			var accepted []string
			if err := json.Unmarshal(out, &accepted); err != nil {
				t.Fatal(err, string(out))
			}
			if !slices.Equal(accepted, want) {
				t.Errorf("accepted %q\nwant %q", accepted, want)
			}
		})
	}
}

// TestReadmeGo: the README's Go compiles against this package.
func TestReadmeGo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(path, []byte("package main\n\n"+snippet(t, "go")+"\n\nfunc main() { _, _ = webhook(nil) }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "go", "vet", path).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
