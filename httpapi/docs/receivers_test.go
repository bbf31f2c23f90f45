package docs

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const vectorsFile = "../../notifier/signature/testdata/vectors.json"

// Each program runs a language's code on every vector and prints the names of the accepted ones, one a line.
var runners = map[string]struct{ program, file, runner string }{
	"verify.js": {"node", "run.js", `
const { vectors } = JSON.parse(require("node:fs").readFileSync(process.argv[2], "utf8"));
for (const v of vectors) {
  const headers = Object.fromEntries(Object.entries(v.headers).map(([name, values]) => [name.toLowerCase(), values.join(", ")]));
  if (verifyWebhook(headers, Buffer.from(v.body), v.secrets, v.now, v.toleranceSeconds)) console.log(v.name);
}`},
	"verify.py": {"python3", "run.py", `
import sys
for v in json.load(open(sys.argv[1], encoding="utf-8"))["vectors"]:
    headers = {name: ", ".join(values) for name, values in v["headers"].items()}
    if verify_webhook(headers, v["body"].encode(), v["secrets"], v["now"], v["toleranceSeconds"]):
        print(v["name"])`},
	"verify.sh": {"bash", "run.sh", `
n=$(jq '.vectors | length' "$1")
for i in $(seq 0 $((n - 1))); do
  v() { jq -j ".vectors[$i]$1" "$file"; }
  file=$1
  v .body > body
  mapfile -d '' -t secrets < <(jq -j ".vectors[$i].secrets[] | ., \"\u0000\"" "$1")
  if NOW=$(v .now) TOLERANCE=$(v .toleranceSeconds) verify_webhook body "$(v '.headers["X-Signature-Primary"] // [""] | join(", ")')" \
    "$(v '.headers["X-Signature-Secondary"] // [""] | join(", ")')" "${secrets[@]}"; then v .name; echo; fi
done`},
	"verify.go.txt": {"go", "main.go", `
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

// TestReceivers: the code that the pages show accepts exactly the genuine vectors of the notifier's signatures, in each language.
func TestReceivers(t *testing.T) {
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
	shown, err := receivers()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range shown {
		t.Run(r.Language, func(t *testing.T) {
			t.Parallel()
			if got := accepted(t, r); !slices.Equal(got, want) || len(want) < 10 {
				t.Errorf("accepts %q, expected %q", got, want)
			}
		})
	}
}

// accepted runs a receiver's code on the vectors.
func accepted(t *testing.T, r receiver) []string {
	t.Helper()
	run := runners[r.File]
	if _, err := exec.LookPath(run.program); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Logf("NOT RUN: %v", err)
		return nil
	}
	vectors, err := filepath.Abs(vectorsFile)
	if err != nil {
		t.Fatal(err)
	}
	code, arguments := r.Code, []string{run.file, vectors}
	if run.program == "go" {
		code = "package main\n\n" + strings.Replace(code, "\t\"regexp\"", "\t\"os\"\n\t\"regexp\"", 1)
		arguments = []string{"run", run.file, vectors}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, run.file), []byte(code+"\n"+run.runner+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), run.program, arguments...)
	command.Dir = dir
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// TestReceiversOfReadme: the README shows the same code for Node and Python.
func TestReceiversOfReadme(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"verify.js", "verify.py"} {
		code, err := receiverFiles.ReadFile("receivers/" + name)
		if err != nil || !strings.Contains(string(readme), strings.TrimSpace(string(code))) {
			t.Errorf("README.md has other code than receivers/%s: %v", name, err)
		}
	}
}
