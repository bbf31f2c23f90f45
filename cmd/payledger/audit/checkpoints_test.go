package audit

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"payledger/eventstore/proof"
)

// TestWitnessFile checks that a witness continues behind the last line of its file, also if that
// line was cut off, and that its file has both signed checkpoints if the ledger signs another root.
// From then on the file itself says so.
func TestWitnessFile(t *testing.T) {
	private, key, err := note.GenerateKey(rand.New(rand.NewSource(1)), "payledger/01")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := note.NewSigner(private)
	if err != nil {
		t.Fatal(err)
	}
	checkpoint := func(number uint64, fill byte) proof.Checkpoint {
		root := bytes.Repeat([]byte{fill}, 32)
		signed, err := note.Sign(&note.Note{Text: fmt.Sprintf("payledger/01\n%d\n%s\nshards 1\n", 10*number, base64.StdEncoding.EncodeToString(root))}, signer)
		if err != nil {
			t.Fatal(err)
		}
		return proof.Checkpoint{Number: number, Size: 10 * number, Root: root, Note: string(signed)}
	}
	name := filepath.Join(t.TempDir(), "witness.jsonl")
	content := func() string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	// run is a witness's process that reads a ledger with these checkpoints.
	run := func(ledger ...proof.Checkpoint) error {
		w := &witness{}
		file, err := w.continueIn(name, key)
		if err != nil {
			return err
		}
		defer file.Close()
		return w.read(func(after uint64) error {
			for _, one := range ledger {
				if one.Number > after {
					if err := w.next(one); err != nil {
						return err
					}
				}
			}
			return nil
		})
	}
	one, two, three := checkpoint(1, 1), checkpoint(2, 2), checkpoint(3, 3)
	if err := run(one, two); err != nil || strings.Count(content(), "\n") != 2 {
		t.Fatalf("%v: %s", err, content())
	}
	if err := os.WriteFile(name, []byte(content()+`{"number":3,"si`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(one, two, three); err != nil || strings.Count(content(), "\n") != 3 || !strings.Contains(content(), "\n"+`{"number":3,"size":30,`) {
		t.Fatalf("%v: %s", err, content())
	}
	before := content()
	unsigned := checkpoint(4, 4)
	unsigned.Note = strings.Replace(unsigned.Note, "\n40\n", "\n50\n", 1)
	for want, ledger := range map[string][]proof.Checkpoint{
		"the log has no checkpoint 3":                 {one, two},
		"checkpoint 4 is missing before checkpoint 5": {one, two, three, checkpoint(5, 5)},
		"checkpoint 4 has another size or root":       {one, two, three, unsigned},
		"checkpoint 4 the old checkpoint":             {one, two, three, {Number: 4, Size: 40, Root: checkpoint(4, 4).Root, Note: checkpoint(4, 4).Note + "x"}},
	} {
		if err := run(ledger...); err == nil || !strings.Contains(err.Error(), want) || content() != before {
			t.Errorf("%s: %v: %s", want, err, content())
		}
	}
	renumbered := checkpoint(4, 4)
	renumbered.Number = 3
	if err := run(one, two, renumbered); err == nil || errors.Is(err, proof.ErrEquivocation) || !strings.Contains(err.Error(), "it is not signed") {
		t.Errorf("a number, which is not signed, accuses the ledger: %v", err)
	}
	if err := os.WriteFile(name, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(one, two, checkpoint(3, 9)); !errors.Is(err, proof.ErrEquivocation) || strings.Count(content(), "\n") != 4 {
		t.Errorf("%v: %s", err, content())
	}
	all, err := proof.ReadCheckpoints(content())
	if err != nil || len(all) != 4 || !errors.Is(proof.CheckOld(all, key), proof.ErrEquivocation) {
		t.Errorf("%v: the file is no evidence: %s", err, content())
	}
	if err := run(one, two, three); !errors.Is(err, proof.ErrEquivocation) || !strings.Contains(err.Error(), "lines 3 and 4") {
		t.Error(err)
	}
	for _, other := range []string{"no witness's file", "{}\n", `{"number":1,"Size":10}` + "\n"} {
		if err := os.WriteFile(name, []byte(other), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := run(one); err == nil || content() != other {
			t.Errorf("%q: %v: %q", other, err, content())
		}
	}
	line, err := json.Marshal(one)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, append(line, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	w := &witness{}
	if _, err := w.continueIn(name, "payledger/02+00000000+AQ=="); err == nil {
		t.Error("another key's file is continued")
	}
}

// TestWitness: a witness emits each checkpoint once and without a gap, and sees a log without the
// last checkpoint, or with another one.
func TestWitness(t *testing.T) {
	log := func(root string, numbers ...uint64) (checkpoints []proof.Checkpoint) {
		for _, n := range numbers {
			checkpoints = append(checkpoints, proof.Checkpoint{Number: n, Size: 10 * n, Root: proof.Bytes(root)})
		}
		return checkpoints
	}
	for name, c := range map[string]struct {
		after   uint64
		reads   [][]proof.Checkpoint
		emitted int
		fault   string
	}{
		"from the start":        {0, [][]proof.Checkpoint{nil, log("a", 1, 2), log("a", 1, 2, 3), log("a", 1, 2, 3)}, 3, ""},
		"behind a number":       {2, [][]proof.Checkpoint{log("a", 1, 2), log("a", 1, 2, 3)}, 1, ""},
		"behind an absent one":  {3, [][]proof.Checkpoint{log("a", 1, 2)}, 0, "the log has no checkpoint 3"},
		"the log is older":      {0, [][]proof.Checkpoint{log("a", 1, 2), log("a", 1)}, 2, "the log has no checkpoint 2"},
		"the log is empty":      {0, [][]proof.Checkpoint{log("a", 1), nil}, 1, "the log has no checkpoint 1"},
		"the log was rewritten": {0, [][]proof.Checkpoint{log("a", 1, 2), log("b", 1, 2, 3)}, 2, "checkpoint 2 has size 20 and root Yg== now"},
		"a gap":                 {0, [][]proof.Checkpoint{log("a", 1, 3)}, 1, "checkpoint 2 is missing"},
		"the last is gone":      {0, [][]proof.Checkpoint{log("a", 1, 2), log("a", 3)}, 2, "checkpoint 2 is missing before checkpoint 3"},
		"the first is missing":  {0, [][]proof.Checkpoint{log("a", 2)}, 0, "checkpoint 1 is missing"},
	} {
		emitted := c.after
		w := &witness{last: proof.Checkpoint{Number: c.after}, emit: func(one proof.Checkpoint) error {
			if emitted++; one.Number != emitted {
				t.Errorf("%s: checkpoint %d comes after %d", name, one.Number, emitted-1)
			}
			return nil
		}}
		var fault error
		for _, read := range c.reads {
			fault = w.read(func(after uint64) error {
				for _, one := range read {
					if one.Number <= after {
						continue
					}
					if err := w.next(one); err != nil {
						return err
					}
				}
				return nil
			})
		}
		if emitted != c.after+uint64(c.emitted) || (c.fault == "") != (fault == nil) || fault != nil && !strings.Contains(fault.Error(), c.fault) {
			t.Errorf("%s: %d emitted, %v", name, emitted-c.after, fault)
		}
	}
}

// TestInterruptedWitness: only the interruption of --follow is an end without an error. A fault
// that no later read repairs is an error also then.
func TestInterruptedWitness(t *testing.T) {
	t.Parallel()
	disk := errors.New("the disk is full")
	for name, c := range map[string]struct {
		follow bool
		emits  error
		fails  bool
	}{
		"without --follow":     {false, nil, true},
		"with --follow":        {true, nil, false},
		"with an unsaved line": {true, disk, true},
		"one that is unsaved":  {false, disk, true},
	} {
		ctx, interrupt := context.WithCancel(t.Context())
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, `{"data":[{"number":1,"size":10,"root":"YQ==","note":""}`)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}))
		w := &witness{emit: func(proof.Checkpoint) error { interrupt(); return c.emits }}
		command := &Checkpoints{Follow: c.follow, Source: Source{URL: server.URL, APIKey: "key"}}
		if err := command.fromServer(ctx, io.Discard, w); (err != nil) != c.fails || c.emits != nil && !errors.Is(err, c.emits) {
			t.Errorf("%s: %v", name, err)
		}
		interrupt()
		server.Close()
	}
}
