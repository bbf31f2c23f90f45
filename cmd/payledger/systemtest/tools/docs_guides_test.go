//go:build system

package tools

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/command"
	"payledger/httpapi/docs/docstest"
)

// guideFiles are the guides with commands to run, in the order in which a reader comes to them.
var guideFiles = []string{
	"first-payment.md", "webhooks.md", "checkout-in-your-page.md", "3-d-secure.md", "disputes.md", "workflows.md", "routing.md", "reporting.md", "developer-tools.md", "analysts.md", "auditors.md", "erasure.md",
}

// TestGuides checks that the commands of each guide have the described results, in the guide's
// order and in one shell. Every call succeeds, except the call that repeats an idempotency key. The
// endpoint of the guide about webhooks receives a genuine webhook.
func TestGuides(t *testing.T) {
	t.Parallel()
	p := apptest.ServeProcess(t, "--data", filepath.Join(t.TempDir(), "data"), "--webhook-allow-cidr", "127.0.0.0/8")
	hooks, bodies := apptest.Receiver(t, p.Credentials.SigningSecret)
	var refused []string
	for _, guide := range guideFiles {
		blocks := docstest.Blocks(t, docstest.Guides+guide, "sh")
		for i := range blocks {
			blocks[i] = strings.ReplaceAll(blocks[i], "{{url}}", p.Ready.API)
		}
		for _, r := range runExamples(t, guide, blocks, "PAYLEDGER_API_KEY="+p.Credentials.APIKey, "RECEIVER="+hooks) {
			r.check(t, guide)
			refused = append(refused, slices.DeleteFunc(r.statuses, func(s string) bool { return s == "200" })...)
		}
	}
	if !slices.Equal(refused, []string{"409"}) {
		t.Errorf("calls were refused with %v", refused)
	}
	late := time.After(apptest.SettleDeadline)
	for came := false; !came; {
		select {
		case body := <-bodies:
			came = strings.Contains(body, `"eventType":"PAYMENT.STATUS"`) && strings.Contains(body, `"status":"AUTHORIZED"`)
		case <-late:
			t.Fatal("no webhook is about the payment")
		}
	}
}

// TestGuidesRun: every guide with a command to run is in the list that TestGuides runs.
func TestGuidesRun(t *testing.T) {
	t.Parallel()
	for _, path := range guides(t) {
		if name := filepath.Base(path); len(docstest.Blocks(t, path, "sh")) > 0 && !slices.Contains(guideFiles, name) {
			t.Errorf("%s has commands that no test runs: add it to guideFiles", name)
		}
	}
}

// guides returns the paths of all guides.
func guides(t *testing.T) (paths []string) {
	t.Helper()
	files, err := os.ReadDir(docstest.Path(t, docstest.Guides))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if filepath.Ext(file.Name()) == ".md" {
			paths = append(paths, docstest.Guides+file.Name())
		}
	}
	return paths
}

// ownCommand matches a line of the program in a block, after the variables that the line sets, and
// before its comment and redirection.
var ownCommand = regexp.MustCompile(`(?m)^(?:[A-Z_]+=\S* )*payledger ([^#>\n]*)`)

// TestGuideCommands: the program takes every command line of the README, the guides and the manuals
// of operators that no other test runs.
func TestGuideCommands(t *testing.T) {
	t.Parallel()
	tried := 0
	for _, path := range append(guides(t), docstest.Readme, docstest.Runbook, "deploy/BENCHMARKS.md", "processorsim/PROTOCOL.md") {
		for _, block := range append(docstest.Blocks(t, path, "text"), docstest.Blocks(t, path, "")...) {
			for _, m := range ownCommand.FindAllStringSubmatch(strings.ReplaceAll(block, "\\\n", " "), -1) {
				tried++
				checkCommand(t, path, m[1])
			}
		}
	}
	if tried < 25 {
		t.Errorf("only %d commands were found", tried)
	}
}

// quoted matches the words of a command line: plain ones, and quoted ones.
var quoted = regexp.MustCompile(`"[^"]*"|\S+`)

func checkCommand(t *testing.T, path, line string) {
	t.Helper()
	program, err := kong.New(&command.CLI{}, kong.Exit(func(int) {}))
	if err != nil {
		t.Fatal(err)
	}
	words := quoted.FindAllString(line, -1)
	for i, word := range words {
		words[i] = strings.Trim(word, `"`)
		if strings.HasPrefix(word, "/run/secrets/") || strings.HasSuffix(word, ".pem") { // files that kong opens
			words[i] = apptest.SecretFile(t, strings.Repeat("0a", 32))
		}
	}
	if words[0] == "processorsim" { // its secret is in the environment
		words = append(words, "--processor-secret", strings.Repeat("s", 32))
	}
	if _, err := program.Parse(words); err != nil {
		t.Errorf("%s: payledger %s: %v", path, line, err)
	}
}
