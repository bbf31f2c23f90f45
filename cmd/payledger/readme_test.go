package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"payledger/notifier/signature"
)

// fence is a block of code in the README, with its language.
var fence = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")

// readme reads the README and its blocks of a language.
func readme(t *testing.T, language string) (text string, blocks []string) {
	t.Helper()
	read, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range fence.FindAllStringSubmatch(string(read), -1) {
		if m[1] == language {
			blocks = append(blocks, m[2])
		}
	}
	return string(read), blocks
}

// serveLine is a command of the README that starts a server.
var serveLine = regexp.MustCompile(`(?m)^go run ./cmd/payledger serve (.*)$`)

// prelude prepares the shell for the README's commands: the program is the test's, and every call of curl prints its status.
const prelude = `set -euo pipefail
go() { [ "$1 $2" = "run ./cmd/payledger" ]; shift 2; TEST_AS_PAYLEDGER=1 "$PROGRAM" "$@"; }
curl() { command curl -w '%{stderr}status %{http_code}\n' "$@"; }
`

// marker separates the outputs of two blocks.
const marker = "=== next block"

// ran is the result of a block.
type ran struct {
	block, printed string
	statuses       []string // of the calls, in their order
}

// runReadme runs blocks in one shell, which keeps their variables from block to block as a reader's does.
func runReadme(t *testing.T, blocks []string, environment ...string) []ran {
	t.Helper()
	script := prelude
	for _, block := range blocks {
		script += block + "\necho '" + marker + "'; echo '" + marker + "' >&2\n"
	}
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, "bash", "-c", script)
	command.Env = append(append(os.Environ(), "PROGRAM="+os.Args[0]), environment...)
	command.Dir = t.TempDir()
	var out, errOut bytes.Buffer
	command.Stdout, command.Stderr = &out, &errOut
	if err := command.Run(); err != nil {
		t.Fatalf("the README's commands end with %v:\n%s\n%s", err, out.String(), errOut.String())
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

// promise matches a README line with its expected output.
var promise = regexp.MustCompile(`(?m)# prints (.+)$`)

// promised are the words that a block says it prints.
func promised(block string) (words []string) {
	for _, m := range promise.FindAllStringSubmatch(block, -1) {
		if !strings.HasPrefix(m[1], "a ") { // the output of a function
			words = append(words, strings.Fields(m[1])...)
		}
	}
	return words
}

// receiver listens on this machine as the README's reader does. It verifies each webhook before it passes it on.
func receiver(t *testing.T, secret string) (url string, bodies <-chan string) {
	t.Helper()
	received := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = signature.Verify(r.Header, body, time.Now(), secret)
		}
		if err != nil {
			http.Error(w, "not verified", http.StatusBadRequest)
			return
		}
		received <- string(body)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/webhooks", received
}

// TestReadme runs every command of the README: servers start, and every sh block, in the README's order and in one shell, prints the
// promised output. Every call succeeds, except the call that repeats an idempotency key.
func TestReadme(t *testing.T) {
	t.Parallel()
	text, blocks := readme(t, "sh")
	if len(blocks) < 12 {
		t.Fatalf("README.md has only %d blocks of sh", len(blocks))
	}
	var p *process
	for _, m := range serveLine.FindAllStringSubmatch(text, -1) {
		data := filepath.Join(t.TempDir(), "data")
		started := serveProcess(t, strings.Fields(strings.ReplaceAll(m[1], "./data", data))...)
		if strings.Contains(m[1], "--webhook-allow-cidr") {
			p = started
		}
	}
	if p == nil {
		t.Fatal("README.md does not say with which flag webhooks come to this machine")
	}
	hooks, bodies := receiver(t, p.credentials.SigningSecret)
	results := runReadme(t, blocks, "PAYLEDGER_URL="+p.ready.API, "PAYLEDGER_API_KEY="+p.credentials.APIKey, "RECEIVER="+hooks)
	var refused []string
	for _, r := range results {
		refused = append(refused, slices.DeleteFunc(r.statuses, func(s string) bool { return s == "200" })...)
		switch want := promised(r.block); {
		case len(want) > 0:
			if got := strings.Fields(r.printed); !slices.Equal(got, want) {
				t.Errorf("prints %q, not %q:\n%s", got, want, r.block)
			}
		case strings.HasPrefix(r.block, "go run ./cmd/payledger history"):
			for _, event := range []string{"payment.authorized", "payment.captured", "payment.refunded"} {
				if !strings.Contains(r.printed, event) {
					t.Errorf("the history lacks %s:\n%s", event, r.printed)
				}
			}
		case strings.HasPrefix(r.block, "go run ./cmd/payledger reconcile"):
			if !strings.Contains(r.printed, "0 differences") {
				t.Errorf("the books differ:\n%s", r.printed)
			}
		case r.printed != "":
			t.Errorf("prints %q and does not say so:\n%s", r.printed, r.block)
		}
	}
	if !slices.Equal(refused, []string{"409"}) {
		t.Errorf("calls were refused with %v", refused)
	}
	late := time.After(settleDeadline)
	for came := false; !came; {
		select {
		case body := <-bodies:
			came = strings.Contains(body, `"eventType":"PAYMENT.STATUS"`) && strings.Contains(body, `"status":"AUTHORIZED"`)
		case <-late:
			t.Fatal("no webhook is about the payment")
		}
	}
}

// testCardRow is a row of the README's table of cards.
var testCardRow = regexp.MustCompile(`(?m)^\| ([0-9]{15,16}) \| ([A-Z]+)(?: \(([A-Z_]+)\))?(, a 3-D Secure check|, AUTHORIZED after 2 s)? \|$`)

// TestReadmeCards checks that the test cards have the results of the README's table.
func TestReadmeCards(t *testing.T) {
	t.Parallel()
	text, _ := readme(t, "sh")
	app := startApp(t, testOptions(t.TempDir()))
	m := newMerchant(app.ready().API, app.credentials.APIKey)
	rows := testCardRow.FindAllStringSubmatch(text, -1)
	if len(rows) < 6 {
		t.Fatalf("README.md has %d cards to try", len(rows))
	}
	for _, row := range rows {
		got, err := m.pay(m.token(t, "order "+row[1][12:], 2500, row[1]), "")
		if err != nil {
			t.Fatal(err)
		}
		var paid struct {
			Status         string            `json:"status"`
			StatusReason   map[string]string `json:"statusReason"`
			RequiredAction map[string]string `json:"requiredAction"`
		}
		got.decode(t, &paid)
		if checked := paid.RequiredAction["name"] == "3DS_AUTHENTICATION"; paid.Status != row[2] || paid.StatusReason["code"] != row[3] || checked != strings.Contains(row[4], "3-D Secure") {
			t.Errorf("%s is said to be %s; the payment is %+v", row[1], row[0], paid)
		}
	}
}
