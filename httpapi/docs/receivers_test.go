package docs

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"payledger/domain/childtest"
	"payledger/eventstore/eventstoretest"
	"payledger/httpapi/docs/docstest"
)

const vectorsFile = "../../notifier/signature/testdata/vectors.json"

// Each program runs a language's code of the guide on every vector and prints the names of the
// accepted ones, one a line.
var runners = map[string]struct{ program, file, runner string }{
	"js": {"node", "run.js", `
const { vectors } = JSON.parse(require("node:fs").readFileSync(process.argv[2], "utf8"));
for (const v of vectors) {
  const headers = Object.fromEntries(Object.entries(v.headers).map(([name, values]) => [name.toLowerCase(), values.join(", ")]));
  if (verifyWebhook(headers, Buffer.from(v.body), v.secrets, v.now, v.toleranceSeconds)) console.log(v.name);
}`},
	"python": {"python3", "run.py", `
import sys
for v in json.load(open(sys.argv[1], encoding="utf-8"))["vectors"]:
    headers = {name: ", ".join(values) for name, values in v["headers"].items()}
    if verify_webhook(headers, v["body"].encode(), v["secrets"], v["now"], v["toleranceSeconds"]):
        print(v["name"])`},
	"sh": {"bash", "run.sh", `
while IFS= read -r -d '' -u 3 name; do
  for field in now tolerance primary secondary body count; do IFS= read -r -d '' -u 3 "${field?}"; done
  secrets=()
  if [ "$count" -gt 0 ]; then mapfile -d '' -n "$count" -t -u 3 secrets; fi
  printf %s "$body" > body
  if NOW=$now TOLERANCE=$tolerance verify_webhook body "$primary" "$secondary" "${secrets[@]}"; then printf '%s\n' "$name"; fi
done 3< <(jq -j '.vectors[]
  | .name, .now, .toleranceSeconds, (.headers | .["X-Signature-Primary"], .["X-Signature-Secondary"] | . // [] | join(", ")), .body, (.secrets | length), .secrets[]
  | ., "\u0000"' "$1")`},
	"go": {"go", "main.go", `
func main() {
	var file struct{ Vectors []struct {
		Name, Body string; Headers map[string][]string; Secrets []string; Now, ToleranceSeconds int64
	} }
	text, err := os.ReadFile(os.Args[1])
	if err != nil { panic(err) }
	if err := json.Unmarshal(text, &file); err != nil { panic(err) }
	for _, v := range file.Vectors {
		tolerance := time.Duration(v.ToleranceSeconds) * time.Second
		if len(v.Secrets) > 0 && verifyWebhook(http.Header(v.Headers), []byte(v.Body), v.Secrets, time.Unix(v.Now, 0), tolerance) == nil {
			println(v.Name)
		}
	}
}`},
}

// TestReceivers: the guide's code accepts exactly the genuine vectors of the notifier's signatures,
// in each language.
func TestReceivers(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	text, err := os.ReadFile(vectorsFile)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Vectors []struct{ Name, Result string }
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, v := range file.Vectors {
		if v.Result == "OK" {
			want = append(want, v.Name)
		}
	}
	for language := range runners {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			if got, ran := accepted(t, language); ran && !slices.Equal(got, want) || len(want) < 10 {
				t.Errorf("accepts %q, expected %q", got, want)
			}
		})
	}
}

// verifier returns the guide's code that verifies a webhook.
func verifier(t *testing.T, language string) string {
	t.Helper()
	blocks := slices.DeleteFunc(docstest.Blocks(t, docstest.Guides+"webhooks.md", language), func(block string) bool {
		return !strings.Contains(block, "verifyWebhook(") && !strings.Contains(block, "verify_webhook()") && !strings.Contains(block, "def verify_webhook(")
	})
	if len(blocks) != 1 {
		t.Fatalf("the guide has %d functions in %s", len(blocks), language)
	}
	return blocks[0]
}

// accepted runs a language's code on the vectors; false if its program is not installed.
func accepted(t *testing.T, language string) (names []string, ran bool) {
	t.Helper()
	run := runners[language]
	if _, err := exec.LookPath(run.program); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Logf("NOT RUN: %v", err)
		return nil, false
	}
	vectors, err := filepath.Abs(vectorsFile)
	if err != nil {
		t.Fatal(err)
	}
	code, arguments := verifier(t, language), []string{run.file, vectors}
	if run.program == "go" {
		code = "package main\n\n" + strings.Replace(code, "\t\"regexp\"", "\t\"os\"\n\t\"regexp\"", 1)
		arguments = []string{"run", run.file, vectors}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, run.file), []byte(code+"\n"+run.runner+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	command := childtest.Tied(exec.CommandContext(t.Context(), run.program, arguments...))
	command.Dir = dir
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n"), true
}
