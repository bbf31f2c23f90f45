//go:build system

package tools

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"payledger/cmd/payledger/apptest"
	"payledger/domain/childtest"
	"payledger/httpapi/docs/docstest"
)

// serveLine is a command of a document that starts a server.
var serveLine = regexp.MustCompile(`(?m)^payledger serve ([^#\n]*)`)

// prelude prepares the shell for the commands of a document: the program is the test's, and every
// call of curl prints its status.
const prelude = `set -euo pipefail
payledger() { TEST_AS_PAYLEDGER=1 "$PROGRAM" "$@"; }
curl() { command curl -w '%{stderr}status %{http_code}\n' "$@"; }
`

// marker separates the outputs of two blocks.
const marker = "=== next block"

// ran is the result of a block.
type ran struct {
	block, printed string
	statuses       []string // of the calls, in their order
}

// runExamples runs a document's blocks in one shell, which keeps their variables from block to
// block as a reader's does.
func runExamples(t *testing.T, document string, blocks []string, environment ...string) []ran {
	t.Helper()
	script := prelude
	for _, block := range blocks {
		script += block + "\necho '" + marker + "'; echo '" + marker + "' >&2\n"
	}
	ctx, cancel := context.WithTimeout(t.Context(), apptest.StartTimeout)
	defer cancel()
	command := childtest.Tied(exec.CommandContext(ctx, "bash", "-c", script))
	command.Env = append(append(os.Environ(), "PROGRAM="+os.Args[0]), environment...)
	command.Dir = t.TempDir()
	var out, errOut bytes.Buffer
	command.Stdout, command.Stderr = &out, &errOut
	if err := command.Run(); err != nil {
		t.Fatalf("the commands of %s end with %v:\n%s\n%s", document, err, out.String(), errOut.String())
	}
	printed, statuses := strings.Split(out.String(), marker+"\n"), strings.Split(errOut.String(), marker+"\n")
	results := make([]ran, len(blocks))
	for i, block := range blocks {
		results[i] = ran{block: block, printed: printed[i]}
		for line := range strings.Lines(statuses[i]) {
			if status, is := strings.CutPrefix(strings.TrimSpace(line), "status "); is {
				results[i].statuses = append(results[i].statuses, status)
			}
		}
	}
	return results
}

// promise matches the expected output in a block: "# prints" has the words of the whole output, "#
// shows" words that it contains.
var promise = regexp.MustCompile(`(?m)# (prints|shows) (.+)$`)

// check compares the output of a block with its promises.
func (r ran) check(t *testing.T, document string) {
	t.Helper()
	var whole []string
	shows := false
	for _, m := range promise.FindAllStringSubmatch(r.block, -1) {
		words := strings.Fields(m[2])
		if m[1] == "prints" {
			whole = append(whole, words...)
			continue
		}
		shows = true
		for _, word := range words {
			if !strings.Contains(r.printed, word) {
				t.Errorf("%s: the output lacks %q:\n%s\n%s", document, word, r.block, r.printed)
			}
		}
	}
	if got := strings.Fields(r.printed); !shows && !slices.Equal(got, whole) {
		t.Errorf("%s prints %q, not %q:\n%s", document, got, whole, r.block)
	}
}

// TestReadme: the README is short. Its command that starts a server does so, and every sh block, in
// the README's order and in one shell, prints the promised output. Every call succeeds.
func TestReadme(t *testing.T) {
	t.Parallel()
	text, blocks := docstest.Read(t, docstest.Readme), docstest.Blocks(t, docstest.Readme, "sh")
	if len(text) > 10_000 || len(blocks) < 7 {
		t.Fatalf("README.md has %d bytes and %d blocks of sh; it has at most 10,000 bytes: a guide has the rest", len(text), len(blocks))
	}
	serve := serveLine.FindAllStringSubmatch(text, -1)
	if len(serve) != 1 {
		t.Fatalf("README.md starts %d servers", len(serve))
	}
	p := apptest.ServeProcess(t, strings.Fields(strings.ReplaceAll(serve[0][1], "./data", filepath.Join(t.TempDir(), "data")))...)
	for _, r := range runExamples(t, docstest.Readme, blocks, "PAYLEDGER_URL="+p.Ready.API, "PAYLEDGER_API_KEY="+p.Credentials.APIKey) {
		r.check(t, docstest.Readme)
		if refused := slices.DeleteFunc(r.statuses, func(s string) bool { return s == "200" }); len(refused) > 0 {
			t.Errorf("a call is answered %v:\n%s", refused, r.block)
		}
	}
}

// relative matches a link of a document to a file of the repository, with its anchor.
var relative = regexp.MustCompile(`\]\(([^):#]*)(#[^)]+)?\)`)

// heading matches the headings of a document; GitHub makes anchors of them.
var heading = regexp.MustCompile(`(?m)^#+ (.+)$`)

// TestLinks: every link between the documents leads to a file of the repository, and to a heading
// of it. Guides also link to pages of the service, which TestDocsHaveEverything checks.
func TestLinks(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, document := range append(guides(t), docstest.Readme, docstest.Runbook, "deploy/BENCHMARKS.md", "deploy/DEPENDENCIES.md", "deploy/SCALING.md") {
		for _, m := range relative.FindAllStringSubmatch(docstest.Read(t, document), -1) {
			if strings.HasPrefix(m[1], "/") {
				continue
			}
			seen++
			target := path.Join(path.Dir(document), m[1])
			if m[1] == "" {
				target = document
			}
			if _, err := os.Stat(docstest.Path(t, target)); err != nil {
				t.Errorf("%s links to %s: %v", document, m[0], err)
			} else if m[2] != "" && !slices.Contains(anchors(docstest.Read(t, target)), m[2]) {
				t.Errorf("%s links to %s: %s has no such heading", document, m[0], target)
			}
		}
	}
	if seen < 30 {
		t.Errorf("only %d links were found", seen)
	}
}

// anchors returns the anchors of a document's headings.
func anchors(text string) (all []string) {
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		kept := strings.Map(func(r rune) rune {
			if r == ' ' {
				return '-'
			}
			if r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) {
				return unicode.ToLower(r)
			}
			return -1
		}, m[1])
		all = append(all, "#"+kept)
	}
	return all
}

// testCardRow is a row of a guide's table of cards.
var testCardRow = regexp.MustCompile(`(?m)^\| ([0-9]{15,16}) \| ([A-Z]+)(?: \(([A-Z_]+)\))?(, a 3-D Secure check|, AUTHORIZED after 2 s)? \|$`)

// TestGuideCards checks that the test cards have the results of the guide's table.
func TestGuideCards(t *testing.T) {
	t.Parallel()
	text := docstest.Read(t, docstest.Guides+"first-payment.md")
	app := apptest.StartApp(t, apptest.TestOptions(t.TempDir()))
	m := apptest.NewMerchant(app.Ready().API, app.Credentials.APIKey)
	rows := testCardRow.FindAllStringSubmatch(text, -1)
	if len(rows) < 6 {
		t.Fatalf("the guide has %d cards to try", len(rows))
	}
	for _, row := range rows {
		got, err := m.Pay(m.Token(t, "order "+row[1][12:], 2500, row[1]), "")
		if err != nil {
			t.Fatal(err)
		}
		var paid struct {
			Status         string            `json:"status"`
			StatusReason   map[string]string `json:"statusReason"`
			RequiredAction map[string]string `json:"requiredAction"`
		}
		got.Decode(t, &paid)
		if checked := paid.RequiredAction["name"] == "3DS_AUTHENTICATION"; paid.Status != row[2] || paid.StatusReason["code"] != row[3] || checked != strings.Contains(row[4], "3-D Secure") {
			t.Errorf("%s is said to be %s; the payment is %+v", row[1], row[0], paid)
		}
	}
}
