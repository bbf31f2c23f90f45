package docs

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"payledger/domain/childtest"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/proof"
	"payledger/httpapi/docs/docstest"
)

// changes are changed proofs. check-proof refuses each of them (package proof), and so must every
// other reader.
func changes(t *testing.T) (good, key string, bad map[string]string) {
	t.Helper()
	good = docstest.Read(t, "eventstore/proof/testdata/proof.json")
	key = strings.TrimSpace(docstest.Read(t, "eventstore/proof/testdata/key"))
	forged := `"events":[],`
	flipped := func(after string) string { // another first character behind a text
		at := strings.Index(good, after) + len(after)
		return good[:at] + map[bool]string{true: "B", false: "A"}[good[at] == 'A'] + good[at+1:]
	}
	bad = map[string]string{
		"forged events, then the genuine ones": strings.Replace(good, `"events"`, forged+`"events"`, 1),
		"genuine events, then forged ones":     strings.Replace(good, "\n]}", "\n],\"events\":[]}", 1),
		"events in capitals":                   strings.Replace(good, `"events"`, `"Events"`, 1),
		"forged events beside them":            strings.Replace(good, `"events"`, `"Events":[],"events"`, 1),
		"another name":                         strings.Replace(good, `"raw"`, `"amount":1,"raw"`, 1),
		"the payment twice, escaped":           strings.Replace(good, `"payment"`, `"p\u0061yment":"p9","payment"`, 1),
		"bytes twice":                          strings.Replace(good, `"raw"`, `"raw":"eA==","raw"`, 1),
		"another payment":                      strings.Replace(good, `"payment":"p1"`, `"payment":"p2"`, 1),
		"a payment that is a list":             strings.Replace(good, `"payment":"p1"`, `"payment":["p1"]`, 1),
		"another format":                       strings.Replace(good, `payledger-proof-1`, `payledger-proof-2`, 1),
		"a changed event":                      flipped(`"raw":"`),
		"a changed hash":                       flipped(`"hash":"`),
		"a changed path":                       flipped(`"path":["`),
		"another position":                     strings.Replace(good, `"position":3,`, `"position":4,`, 1),
		"a position that is a text":            strings.Replace(good, `"position":3,`, `"position":"3",`, 1),
		"a revision that is true":              strings.Replace(good, `"revision":1,`, `"revision":true,`, 1),
		"a changed signature":                  flipped("— payledger "),
		"a changed text":                       strings.Replace(good, `payledger\n11`, `payledger\n12`, 1),
		"no events":                            good[:strings.Index(good, `"events":[`)] + `"events":[]}`,
		"an event less":                        good[:strings.LastIndex(good, ",\n")] + "\n]}\n",
		"a second file":                        good + good,
		"no proof":                             `{}`,
	}
	for name, text := range bad {
		if text == good {
			t.Fatalf("%s: nothing is changed", name)
		}
		parsed, err := proof.Parse([]byte(text))
		if err == nil {
			_, err = proof.Check(parsed, key)
		}
		if err == nil {
			t.Fatalf("%s: check-proof accepts it", name)
		}
	}
	return good, key, bad
}

// ofOrigin returns a proof of a ledger with an origin of its own: one event in a log of one.
func ofOrigin(t *testing.T, origin string) (text, key string) {
	t.Helper()
	private, key, err := note.GenerateKey(rand.Reader, origin)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := note.NewSigner(private)
	if err != nil {
		t.Fatal(err)
	}
	sign := func(text string) string {
		signed, err := note.Sign(&note.Note{Text: text}, signer)
		if err != nil {
			t.Fatal(err)
		}
		return string(signed)
	}
	parsed, err := proof.Parse([]byte(docstest.Read(t, "eventstore/proof/testdata/proof.json")))
	if err != nil {
		t.Fatal(err)
	}
	event := parsed.Events[0]
	hash := sha256.Sum256(append(make([]byte, sha256.Size), event.Raw...))
	event.Position, event.Path = 1, []proof.Bytes{}
	tree := proof.Tree{Origin: origin, Size: 1, Root: tlog.RecordHash(hash[:])}
	file, err := json.Marshal(proof.File{Events: []proof.Event{event}, Head: proof.Head{
		Format: proof.Format, Account: "a1", Payment: "p1",
		Checkpoint: sign(origin + "\n1\n" + base64.StdEncoding.EncodeToString(tree.Root[:]) + "\nshards 1\nevents 1\n"),
		Newest:     sign(proof.NewestText(tree, "a1.payment.p1", 1, hash)),
	}})
	if err != nil {
		t.Fatal(err)
	}
	if parsed, err = proof.Parse(file); err == nil {
		_, err = proof.Check(parsed, key)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(file), key
}

// found reports whether a program is installed; in CI it must be.
func found(t *testing.T, program string) bool {
	t.Helper()
	_, err := exec.LookPath(program)
	if err != nil && os.Getenv("CI") != "" {
		t.Fatal(err)
	}
	if err != nil {
		t.Logf("NOT RUN: %v", err)
	}
	return err == nil
}

// verdicts runs a program that takes {name: proof} on its standard input and prints {name: fault};
// "" means that the proof holds.
func verdicts(t *testing.T, files map[string]string, name string, arguments ...string) (faults map[string]string) {
	t.Helper()
	input, err := json.Marshal(files)
	if err != nil {
		t.Fatal(err)
	}
	command := childtest.Tied(exec.CommandContext(t.Context(), name, arguments...))
	var out, errOut bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = bytes.NewReader(input), &out, &errOut
	if err := command.Run(); err != nil {
		t.Fatalf("%v: %s", err, errOut.String())
	}
	if err := json.Unmarshal(out.Bytes(), &faults); err != nil {
		t.Fatalf("%v: %s %s", err, out.String(), errOut.String())
	}
	return faults
}

// TestCheckScript checks that the guide's script refuses every changed proof with an error, also
// with Python's -O, which leaves asserts out. Each proof is checked as by the command line: the
// script runs as the main program, with the file's name and the key. The powers that it computes
// for the signatures, which nearly all proofs have in common, are computed once.
func TestCheckScript(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	if !found(t, "python3") {
		return
	}
	const each = `
import builtins, contextlib, functools, io, json, os, runpy, sys
builtins.pow = functools.cache(pow)
files, faults, script, key, folder = json.load(sys.stdin), {}, *sys.argv[1:]
for name, text in files.items():
    path, out, faults[name] = os.path.join(folder, "proof.json"), io.StringIO(), ""
    with open(path, "w", encoding="utf-8") as f: f.write(text)
    sys.argv = [script, path, key]
    try:
        with contextlib.redirect_stdout(out): runpy.run_path(script, run_name="__main__")
    except SystemExit as e: faults[name] = str(e) or "exit"
    except Exception as e: faults[name] = repr(e)
    if not faults[name] and not out.getvalue().startswith("The proof holds"): faults[name] = "it says " + out.getvalue()
json.dump(faults, sys.stdout)`
	good, key, files := changes(t)
	files[""] = good
	script := docstest.Path(t, docstest.Guides+"check.py")
	if text := docstest.Read(t, docstest.Guides+"check.py"); strings.Contains(text, "assert") {
		t.Error("the script has asserts: python3 -O takes them away")
	}
	own, ownKey := ofOrigin(t, "payledger/00112233445566778899aabbccddeeff")
	if fault := verdicts(t, map[string]string{"": own}, "python3", "-c", each, script, ownKey, t.TempDir())[""]; fault != "" {
		t.Errorf("a ledger with an origin of its own: %s", fault)
	}
	faults := verdicts(t, files, "python3", "-O", "-c", each, script, key, t.TempDir())
	for name := range files {
		if fault := faults[name]; (fault == "") != (name == "") {
			t.Errorf("%s: %q", name, fault)
		}
	}
}

// TestProofPage checks the same with the script of the page /proof, in Node.
func TestProofPage(t *testing.T) {
	t.Parallel()
	if !found(t, "node") {
		return
	}
	good, key, files := changes(t)
	files[""] = good
	const page = `
const fs = require("node:fs");
globalThis.document = { getElementById: () => ({ addEventListener() {} }) };
globalThis.window = globalThis;
const [script, key] = process.argv.slice(-2);
const check = new Function(fs.readFileSync(script, "utf8") + "\nreturn async (text) => check(parse(text), " + JSON.stringify(key) + ", () => {});")();
(async () => {
  const faults = {};
  for (const [name, text] of Object.entries(JSON.parse(fs.readFileSync(0, "utf8")))) {
    faults[name] = await check(text).then(() => "", String);
  }
  console.log(JSON.stringify(faults));
})();`
	runner := filepath.Join(t.TempDir(), "run.cjs")
	if err := os.WriteFile(runner, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	script := docstest.Path(t, "httpapi/proofpage/assets/proof.js")
	own, ownKey := ofOrigin(t, "ledger.example.com/payments")
	if fault := verdicts(t, map[string]string{"": own}, "node", runner, script, ownKey)[""]; fault != "" {
		t.Errorf("a ledger with an origin of its own: %s", fault)
	}
	faults := verdicts(t, files, "node", runner, script, key)
	for name := range files {
		if fault := faults[name]; (fault == "") != (name == "") {
			t.Errorf("%s: %q", name, fault)
		}
	}
}
