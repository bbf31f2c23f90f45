//go:build system

package tools

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"payledger/cmd/payledger/apptest"
	"payledger/httpapi"
)

// goGenerator makes the Go client.
const goGenerator = "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2"

// payWithGo pays 25.00 EUR at the API with the generated Go client, captures all of it and refunds
// 4.00, and returns the payment's id; false where the generator cannot be installed.
func payWithGo(t testing.TB, url, key string) (payment string, there bool) {
	t.Helper()
	dir := t.TempDir()
	apptest.WriteClient(t, dir, "openapi.yaml", httpapi.OpenAPI())
	apptest.PutClient(t, dir, "client.mod", "go.mod")
	apptest.PutClient(t, dir, "client.sum", "go.sum")
	apptest.PutClient(t, dir, "goclient/main.go", "main.go")
	for _, arguments := range [][]string{{"mod", "download"}, {"run", goGenerator, "-version"}} {
		if said, err := apptest.ToolOutput(t, dir, "go", arguments...); err != nil {
			return "", apptest.ToolMissing(t, said)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "api"), 0o700); err != nil {
		t.Fatal(err)
	}
	runTool(t, dir, "go", "run", goGenerator, "-package", "api", "-generate", "types,client", "-o", "api/api.go", "openapi.yaml")
	return runTool(t, dir, "go", "run", "main.go", url, key), true
}

// payWithTypeScript is payWithGo with the generated TypeScript client; false where the tools cannot
// be installed.
func payWithTypeScript(t testing.TB, url, key string) (payment string, there bool) {
	t.Helper()
	tools, there := apptest.NpmTools(t)
	if !there {
		return "", false
	}
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(tools, "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	apptest.WriteClient(t, dir, "openapi.yaml", httpapi.OpenAPI())
	apptest.WriteClient(t, dir, "package.json", []byte(`{"type": "module"}`))
	apptest.PutClient(t, dir, "pay.ts", "pay.ts")
	bin := filepath.Join(tools, "node_modules", ".bin")
	runTool(t, dir, filepath.Join(bin, "openapi-typescript"), "openapi.yaml", "--output", "schema.d.ts", "--default-non-nullable", "false")
	runTool(t, dir, filepath.Join(bin, "tsc"), "--strict", "--target", "es2022", "--lib", "es2022,dom,dom.iterable", "--module", "nodenext", "pay.ts")
	return runTool(t, dir, "node", "pay.js", url, key), true
}

// runTool returns the output of a program that must succeed, without white space around.
func runTool(t testing.TB, dir, name string, args ...string) string {
	t.Helper()
	said, err := apptest.ToolOutput(t, dir, name, args...)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", filepath.Base(name), strings.Join(args[:1], " "), err, said)
	}
	return strings.TrimSpace(said)
}
