//go:build system && !race

package browser

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/command"
	"payledger/domain/childtest"
	"payledger/eventstore/proof"
	"payledger/httpapi/docs/docstest"
)

// proofOf proves a new payment, captured and refunded, at a running server.
func proofOf(t *testing.T, p *apptest.Process, out string) (id, key string) {
	t.Helper()
	m := apptest.NewMerchant(p.Ready.API, p.Credentials.APIKey)
	var paid apptest.PaymentAnswer
	m.Must(t, http.MethodPost, "/payments", m.Headers(), map[string]any{"paymentMethodToken": m.Token(t, "order-1", 2500, "4111111111111111")}).Decode(t, &paid)
	m.Must(t, http.MethodPost, "/payments/"+paid.ID+"/capture", m.Headers(), map[string]any{})
	m.Must(t, http.MethodPost, "/payments/"+paid.ID+"/refund", m.Headers(), map[string]any{"amount": 500})
	status, printed, stderr := apptest.Invoke(t, "prove", paid.ID, "--out", out, "--url", p.Ready.API, "--api-key", p.Credentials.APIKey)
	var answer struct {
		VerifierKey string `json:"verifierKey"`
	}
	if err := json.Unmarshal([]byte(printed), &answer); status != 0 || err != nil || answer.VerifierKey == "" {
		t.Fatalf("prove exits %d: %s %s", status, printed, stderr)
	}
	return paid.ID, answer.VerifierKey
}

// TestProof checks that a proof from a running server and a proof from the stopped server's folder
// are the same file. The command, the guide's script and the page accept it. All three refuse a
// changed one, and name the same event (I1).
func TestProof(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good := filepath.Join(dir, "proof.json")
	p := apptest.ServeProcess(t, "--data", filepath.Join(dir, "data"))
	id, key := proofOf(t, p, good)
	file, err := os.ReadFile(good)
	if err != nil || bytes.Count(file, []byte("\n")) != 8 || bytes.Contains(file, []byte("4111111111111111")) {
		t.Fatalf("%v: %s", err, file)
	}
	status, printed, stderr := apptest.Invoke(t, "check-proof", good, "--key", key)
	if status != 0 || !strings.Contains(printed, "The proof holds: the 6 events of payment "+id) || !strings.Contains(printed, "payment.refunded") {
		t.Errorf("check-proof exits %d: %s %s", status, printed, stderr)
	}
	m := apptest.NewMerchant(p.Ready.API, p.Credentials.APIKey)
	if got := m.Must(t, http.MethodGet, "/payments/"+id+"/proof", m.Headers(), nil); !bytes.Equal(got.Body, file) {
		t.Errorf("the API answers another file:\n%s\n%s", got.Body, file)
	}
	rows := strings.SplitAfter(string(file), "\n")
	at := strings.Index(rows[3], `"raw":"`) + 400
	flipped := rows[3][:at] + string(map[bool]byte{true: 'B', false: 'A'}[rows[3][at] == 'A']) + rows[3][at+1:]
	bad := map[string]string{
		"event 3": strings.Replace(string(file), rows[3], flipped, 1),
		"missing": strings.Replace(strings.Replace(string(file), rows[6], "", 1), rows[5], strings.Replace(rows[5], ",\n", "\n", 1), 1),
	}
	python := docstest.Path(t, checkScript)
	if out, errOut := checkWithScript(t, python, good, key); !strings.Contains(out, "The proof holds: 6 events of "+id) {
		t.Errorf("the script says %s %s", out, errOut)
	}
	for want, text := range bad {
		path := filepath.Join(dir, "bad.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if status, _, stderr := apptest.Invoke(t, "check-proof", path, "--key", key); status != command.ExitFailure || !strings.Contains(stderr, want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: check-proof exits %d: %s", want, status, stderr)
		}
		if out, errOut := checkWithScript(t, python, path, key); out != "" || !strings.Contains(errOut, want) {
			t.Errorf("%s: the script says %s %s", want, out, errOut)
		}
	}
	inBrowser(t, p, string(file), bad)
	witnessed(t, p, dir, id, key)
	misusedProofs(t, p, dir, id, key)
	p.Stop()
	again := filepath.Join(dir, "again.json")
	if status, _, stderr := apptest.Invoke(t, "prove", id, "--out", again, "--data", filepath.Join(dir, "data")); status != 0 {
		t.Fatalf("prove --data exits %d: %s", status, stderr)
	}
	if stopped, err := os.ReadFile(again); err != nil || !bytes.Equal(stopped, file) {
		if status, printed, stderr := apptest.Invoke(t, "check-proof", again, "--key", key); status != 0 || !strings.Contains(printed, "the 6 events of payment "+id) {
			t.Errorf("%v: the stopped folder's proof fails: %s", err, stderr)
		}
	}
}

// TestChangedProof: the path of position 3 also leads from position 19, which a log of 11 events
// does not have; and a signature names its signer. The command and the guide's script refuse a
// change.
func TestChangedProof(t *testing.T) {
	t.Parallel()
	example := filepath.Join("..", "..", "..", "..", "eventstore", "proof", "testdata")
	file, err := os.ReadFile(filepath.Join(example, "proof.json"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(example, "key"))
	if err != nil {
		t.Fatal(err)
	}
	key, python := strings.TrimSpace(string(text)), docstest.Path(t, checkScript)
	name, _, _ := strings.Cut(key, "+")
	path := filepath.Join(t.TempDir(), "proof.json")
	for _, c := range []struct{ before, after, says string }{
		{`"position":3,`, `"position":3,`, ""},
		{`"position":3,`, `"position":19,`, "event 1 does not hold"},
		{`"position":3,`, `"position":-13,`, "event 1 does not hold"},
		{"— " + name + " ", "— other ", "signed with another key"},
	} {
		changed := bytes.Replace(file, []byte(c.before), []byte(c.after), 1)
		if c.says != "" && bytes.Equal(changed, file) {
			t.Fatalf("the proof has no %q", c.before)
		}
		if err := os.WriteFile(path, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		status, _, stderr := apptest.Invoke(t, "check-proof", path, "--key", key)
		out, errOut := checkWithScript(t, python, path, key)
		if good := c.says == ""; (status == 0) != good || (out != "") != good || !strings.Contains(errOut, c.says) {
			t.Errorf("%q: check-proof exits %d: %s; the script says %s %s", c.after, status, stderr, out, errOut)
		}
	}
}

// TestHostileProof: the text of a proof cannot write control characters to the terminal.
func TestHostileProof(t *testing.T) {
	t.Parallel()
	example := filepath.Join("..", "..", "..", "..", "eventstore", "proof", "testdata")
	text, err := os.ReadFile(filepath.Join(example, "proof.json"))
	if err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(filepath.Join(example, "key"))
	if err != nil {
		t.Fatal(err)
	}
	file, err := proof.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	event := &file.Events[0]
	event.Raw = bytes.Replace(event.Raw, []byte("ce-subject:a1"), []byte("ce-subject:\x1b[2J\u202eThe proof holds"), 1)
	sum := sha256.Sum256(append(make([]byte, sha256.Size), event.Raw...))
	event.Hash = hex.EncodeToString(sum[:])
	if text, err = json.Marshal(file); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "proof.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	status, out, stderr := apptest.Invoke(t, "check-proof", path, "--key", strings.TrimSpace(string(key)))
	if status != command.ExitFailure || out != "" || !strings.Contains(stderr, `it belongs to \u001b[2J\u202eThe proof holds`) || strings.ContainsAny(stderr, "\x1b\u202e") {
		t.Errorf("check-proof exits %d and says %q %q", status, out, stderr)
	}
}

// checkScript checks a proof in plain Python. An auditor reads all of it: it has at most 80 lines
// (TestCheckScript).
const checkScript = docstest.Guides + "check.py"

// TestCheckScript: the script is short.
func TestCheckScript(t *testing.T) {
	t.Parallel()
	if n := strings.Count(docstest.Read(t, checkScript), "\n"); n > 80 {
		t.Errorf("the script has %d lines", n)
	}
}

// checkWithScript runs the guide's script. stdout is empty if the script fails.
func checkWithScript(t *testing.T, script, path, key string) (stdout, stderr string) {
	t.Helper()
	var out, errOut bytes.Buffer
	command := childtest.Tied(exec.CommandContext(t.Context(), "python3", script, path, key))
	command.Stdout, command.Stderr = &out, &errOut
	if err := command.Run(); err != nil {
		return "", errOut.String()
	}
	return out.String(), ""
}

// witnessed: a witness's checkpoints show that nothing before was rewritten, and a proof without
// the old size says so.
func witnessed(t *testing.T, p *apptest.Process, dir, id, key string) {
	t.Helper()
	server := []string{"--url", p.Ready.API, "--api-key", p.Credentials.APIKey}
	status, lines, stderr := apptest.Invoke(t, append([]string{"checkpoints"}, server...)...)
	first, rest, _ := strings.Cut(lines, "\n")
	if status != 0 || !strings.HasPrefix(first, `{"number":1,"size":`) || !strings.HasPrefix(rest, `{"number":2,`) {
		t.Fatalf("checkpoints exits %d: %s %s", status, lines, stderr)
	}
	if _, more, _ := apptest.Invoke(t, append([]string{"checkpoints", "--after", "1"}, server...)...); !strings.HasPrefix(more, rest) {
		t.Errorf("checkpoints --after 1 prints %s", more)
	}
	old, since := filepath.Join(dir, "old.jsonl"), filepath.Join(dir, "since.json")
	if err := os.WriteFile(old, []byte(first+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if status, _, stderr := apptest.Invoke(t, append([]string{"prove", id, "--out", since, "--since", old}, server...)...); status != 0 {
		t.Fatalf("prove --since exits %d: %s", status, stderr)
	}
	if status, printed, stderr := apptest.Invoke(t, "check-proof", since, "--key", key, "--since", old); status != 0 || !strings.Contains(printed, "Nothing was rewritten") {
		t.Errorf("check-proof --since exits %d: %s %s", status, printed, stderr)
	}
	if status, _, stderr := apptest.Invoke(t, "check-proof", filepath.Join(dir, "proof.json"), "--key", key, "--since", old); status != command.ExitFailure || !strings.Contains(stderr, "make it with prove --since") {
		t.Errorf("check-proof --since without a consistency proof exits %d: %s", status, stderr)
	}
}

// misusedProofs: each mistake has one line with its remedy, and leaves no file.
func misusedProofs(t *testing.T, p *apptest.Process, dir, id, key string) {
	t.Helper()
	server := []string{"--url", p.Ready.API, "--api-key", p.Credentials.APIKey}
	none := filepath.Join(dir, "none.json")
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{append([]string{"prove", "01unknown", "--out", none}, server...), command.ExitFailure, "cannot be found"},
		{append([]string{"prove", id, "--out", filepath.Join(dir, "no", "such", "folder")}, server...), command.ExitFailure, "choose another place with --out"},
		{append([]string{"prove", id, "--out", dir}, server...), command.ExitFailure, "is a folder; name a file with --out"},
		{append([]string{"prove", id, "--out", none, "--since", filepath.Join(dir, "proof.json")}, server...), command.ExitFailure, "--since takes lines of `payledger checkpoints`"},
		{append([]string{"prove", id}, server...), command.ExitUsage, "--out"},
		{[]string{"check-proof", filepath.Join(dir, "proof.json"), "--key", key, "--since", filepath.Join(dir, "proof.json")}, command.ExitFailure, "--since takes lines of `payledger checkpoints`"},
		{[]string{"check-proof", filepath.Join(dir, "bad.json"), "--key", key}, command.ExitFailure, "make another one with `payledger prove`"},
		{[]string{"prove", id, "--out", none, "--data", filepath.Join(dir, "proof.json")}, command.ExitFailure, "is a file: name the ledger's folder"},
		{[]string{"prove", id, "--out", none, "--url", "localhost:1", "--api-key", "x"}, command.ExitUsage, `--url must be an http or https URL, such as https://pay.example.com, and is "localhost:1"`},
		{[]string{"prove", id, "--out", none, "--url", p.Ready.API, "--api-key", "x"}, command.ExitFailure, "Unauthorized"},
		{[]string{"prove", id, "--out", none, "--data", filepath.Join(dir, "data")}, command.ExitFailure, "--url and --api-key"},
		{[]string{"check-proof", none, "--key", key}, command.ExitFailure, "name the file that `payledger prove` wrote"},
		{[]string{"check-proof", filepath.Join(dir, "proof.json")}, command.ExitUsage, "--key"},
		{[]string{"check-proof", filepath.Join(dir, "proof.json"), "--key", "x"}, command.ExitUsage, "GET /verifier-key"},
		{[]string{"check-proof", filepath.Join(dir, "data", "views", "proof-hashes"), "--key", key}, command.ExitFailure, "this is no proof file"},
	} {
		if status, _, stderr := apptest.Invoke(t, c.args...); status != c.status || !strings.Contains(stderr, c.want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v exits %d and says %q", c.args, status, stderr)
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, ".*json*"))
	if _, missing := os.Stat(none); err != nil || len(left) > 0 || !os.IsNotExist(missing) {
		t.Errorf("files are left: %v %v", left, err)
	}
}

// inBrowser checks a file, and changed ones, on the page.
func inBrowser(t *testing.T, p *apptest.Process, good string, bad map[string]string) {
	t.Helper()
	answer, err := http.Get(p.Ready.API + "/proof")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	policy := answer.Header.Get("Content-Security-Policy")
	if err != nil || answer.StatusCode != http.StatusOK || !strings.Contains(policy, "connect-src 'none'") || !strings.Contains(string(text), "&#43;") {
		t.Errorf("%v %d %s: %s", err, answer.StatusCode, policy, text)
	}
	b, there := startBrowser(t)
	if !there {
		return
	}
	for _, width := range []int64{390, 1280} {
		w := b.tab(t, width)
		w.load(p.Ready.API + "/proof")
		w.until(`document.querySelector("#key") !== null`)
		w.picture(fmt.Sprintf("proof-empty-%d", width))
		calls := func() int { return len(w.sent("", "/")) - len(w.sent(http.MethodGet, "/proof/assets/icon.svg")) } // the icon may come late
		before := calls()
		give := func(text, verdict, reason string) {
			t.Helper()
			quoted, err := json.Marshal(text)
			w.ok(err)
			eval[bool](w, `(() => { const d = new DataTransfer(); d.items.add(new File([`+string(quoted)+`], "proof.json"));
				const f = document.querySelector("#file"); f.files = d.files; f.dispatchEvent(new Event("change")); return true; })()`)
			w.untilText("#verdict", verdict)
			w.untilText("#result", reason)
		}
		give(good, "This proof holds", "All 6 events")
		w.untilText("#events", "Amount 2500, in minor units of EUR")
		w.untilText("#events", "Amount 500, in minor units of EUR")
		w.untilText("#facts", "the checkpoint of the log’s first")
		w.untilText("#meaning", "No event was changed, removed or inserted since.")
		w.picture(fmt.Sprintf("proof-holds-%d", width))
		give(bad["missing"], "This proof does not hold", "missing")
		give(bad["event 3"], "This proof does not hold", "Event 3 (payment.")
		w.picture(fmt.Sprintf("proof-fails-%d", width))
		w.until(`document.querySelector("#meaning").hidden`)
		give("no proof", "This is no proof file of payledger", "Choose the file of a payment’s proof")
		w.dark()
		give(good, "This proof holds", "All 6 events")
		w.picture(fmt.Sprintf("proof-dark-holds-%d", width))
		give(bad["event 3"], "This proof does not hold", "Event 3 (payment.")
		w.picture(fmt.Sprintf("proof-dark-fails-%d", width))
		if overflow := eval[bool](w, `document.documentElement.scrollWidth > innerWidth`); overflow {
			t.Errorf("the page is wider than %d", width)
		}
		if after := calls(); after != before {
			t.Errorf("the page made %d requests for its checks", after-before)
		}
	}
}
