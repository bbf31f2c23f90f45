package proof_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"
	"pgregory.net/rapid"

	"payledger/domain/seedtest"
	"payledger/eventstore/proof"
)

var update = flag.Bool("update", false, "write the golden file anew")

// model is a dumb ledger: a list of leaves.
type model struct {
	leaves [][32]byte
	signer note.Signer
	key    string
	origin string // of the notes
}

func newModel(t require) *model {
	t.Helper()
	m := &model{}
	m.named(t, proof.FirstOrigin)
	return m
}

// named sets the ledger's origin, and makes a key with the origin as its name.
func (m *model) named(t require, origin string) {
	t.Helper()
	private, key, err := note.GenerateKey(rand.New(rand.NewSource(1)), origin)
	if err != nil {
		t.Fatal(err)
	}
	if m.signer, err = note.NewSigner(private); err != nil {
		t.Fatal(err)
	}
	m.key, m.origin = key, origin
}

// require is a test of package testing or rapid.
type require interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// node is the Merkle tree hash of RFC 6962, section 2.1, as written there.
func node(leaves [][32]byte) [32]byte {
	switch n := len(leaves); n {
	case 0:
		return sha256.Sum256(nil)
	case 1:
		return leaf(leaves[0])
	default:
		k := split(n)
		left, right := node(leaves[:k]), node(leaves[k:])
		return sha256.Sum256(slices.Concat([]byte{1}, left[:], right[:]))
	}
}

func leaf(hash [32]byte) [32]byte { return sha256.Sum256(append([]byte{0}, hash[:]...)) }

// split returns the largest power of two below n.
func split(n int) int {
	k := 1
	for k*2 < n {
		k *= 2
	}
	return k
}

// path is PATH of RFC 6962, section 2.1.1.
func path(m int, leaves [][32]byte) []proof.Bytes {
	n := len(leaves)
	if n == 1 {
		return []proof.Bytes{}
	}
	k := split(n)
	if m < k {
		other := node(leaves[k:])
		return append(path(m, leaves[:k]), other[:])
	}
	other := node(leaves[:k])
	return append(path(m-k, leaves[k:]), other[:])
}

func (m *model) sign(t require, text string) string {
	t.Helper()
	signed, err := note.Sign(&note.Note{Text: text}, m.signer)
	if err != nil {
		t.Fatal(err)
	}
	return string(signed)
}

// file returns a proof of the payment "p1" of account "a1", whose events are at these places among
// the leaves.
func (m *model) file(t require, size int, places []int, raws [][]byte) proof.File {
	t.Helper()
	var events []proof.Event
	var last [32]byte
	m.leaves = make([][32]byte, size)
	for i := range m.leaves {
		m.leaves[i] = sha256.Sum256(fmt.Append(nil, i))
	}
	for i, place := range places {
		last = sha256.Sum256(slices.Concat(last[:], raws[i]))
		m.leaves[place] = last
		events = append(events, proof.Event{Revision: uint64(i) + 1, Position: uint64(place) + 1, Hash: hex.EncodeToString(last[:]), Raw: raws[i]})
	}
	for i, place := range places {
		events[i].Path = path(place, m.leaves)
	}
	root := node(m.leaves)
	return proof.File{Events: events, Head: proof.Head{
		Format: proof.Format, Account: "a1", Payment: "p1",
		Checkpoint: m.sign(t, fmt.Sprintf("%s\n%d\n%s\nshards 1 2\nevents 3 4\n", m.origin, size, base64.StdEncoding.EncodeToString(root[:]))),
		Newest:     m.sign(t, proof.NewestText(proof.Tree{Origin: m.origin, Size: uint64(size), Root: root}, "a1.payment.p1", uint64(len(places)), last)),
	}}
}

// raw is the bytes of an event.
func raw(revision int, body string) []byte {
	return fmt.Appendf(nil, "ce-specversion:1.0\nce-id:11111111-1111-4111-8111-111111111111\nce-type:payment.created\nce-source:/payledger\n"+
		"ce-subject:a1.payment.p1\nce-time:2026-01-02T03:04:05.678901Z\ncontent-type:application/msgpack\nLedger-Schema:1\nLedger-Revision:%d\n"+
		"Ledger-Command-Id:22222222-2222-4222-8222-222222222222\nLedger-Correlation-Id:request-1\nLedger-Actor:key:example\n\n%s", revision, body)
}

func text(t require, f proof.File) []byte {
	t.Helper()
	var b bytes.Buffer
	rest := f.Events
	err := proof.Write(&b, f.Head, func() (proof.Event, error) {
		if len(rest) == 0 {
			return proof.Event{}, io.EOF
		}
		e := rest[0]
		rest = rest[1:]
		return e, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestModel checks that a proof by a simple ledger that follows the words of RFC 6962 is valid for
// all sizes, and that any changed value makes it invalid.
func TestModel(t *testing.T) {
	t.Parallel()
	seedtest.Check(t, func(t *rapid.T) {
		m := newModel(t)
		size := rapid.IntRange(1, 70).Draw(t, "events of the log")
		places := rapid.SliceOfNDistinct(rapid.IntRange(0, size-1), 1, min(size, 5), rapid.ID[int]).Draw(t, "places")
		slices.Sort(places)
		raws := make([][]byte, len(places))
		for i := range raws {
			raws[i] = raw(i+1, rapid.StringN(0, 20, 40).Draw(t, "body"))
		}
		file := m.file(t, size, places, raws)
		parsed, err := proof.Parse(text(t, file))
		if err != nil || !reflect.DeepEqual(parsed, file) {
			t.Fatalf("%v\n%+v\n%+v", err, parsed, file)
		}
		checked, err := proof.Check(file, m.key)
		if err != nil || len(checked.Events) != len(places) {
			t.Fatal(err)
		}
		if _, err := proof.Check(file, other(t)); err == nil {
			t.Fatal("another key's proof holds")
		}
	})
}

func other(t require) string {
	t.Helper()
	_, key, err := note.GenerateKey(rand.New(rand.NewSource(2)), "payledger")
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// example is the golden proof: three events of a log of eleven.
func example(t require) (proof.File, string) {
	t.Helper()
	m := newModel(t)
	return m.file(t, 11, []int{2, 7, 10}, [][]byte{raw(1, "first"), raw(2, "\x81\xa5event"), raw(3, "")}), m.key
}

// TestGolden: the bytes of a proof never change. The script check.py of the guides and the page
// read the same file.
func TestGolden(t *testing.T) {
	t.Parallel()
	file, key := example(t)
	at := filepath.Join("testdata", "proof.json")
	if *update {
		if err := errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(at, text(t, file), 0o600),
			os.WriteFile(filepath.Join("testdata", "key"), []byte(key+"\n"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(at)
	if err != nil || !bytes.Equal(text(t, file), want) {
		t.Errorf("%v: the bytes of a proof changed", err)
	}
}

// TestEveryByte: with one byte of the file changed, the check fails, or the file has the same
// values. A changed byte in an event names that event.
func TestEveryByte(t *testing.T) {
	t.Parallel()
	file, key := example(t)
	good := text(t, file)
	line, harmless := 0, 0
	flips := []byte{1, 2, 4, 8, 16, 32, 64, 128}
	if seedtest.Sampled() {
		flips = []byte{1, 32, 128} // another digit, another case, no ASCII
	}
	for at := range good {
		if good[at] == '\n' {
			line++
		}
		for _, flip := range flips {
			bad := bytes.Clone(good)
			bad[at] ^= flip
			parsed, err := proof.Parse(bad)
			if err == nil && reflect.DeepEqual(parsed, file) {
				harmless++
				continue
			}
			if err == nil {
				_, err = proof.Check(parsed, key)
				var fault proof.Fault
				if errors.As(err, &fault) && fault.Revision != uint64(line) && line > 0 && line < 4 {
					t.Errorf("byte %d of line %d names event %d: %v", at, line, fault.Revision, err)
				}
				if line > 0 && line < 4 && !errors.As(err, &fault) {
					t.Errorf("byte %d of line %d names no event: %v", at, line, err)
				}
			}
			if err == nil || strings.Contains(err.Error(), "\n") {
				t.Errorf("byte %d xor %d: %v", at, flip, err)
			}
		}
	}
	if harmless > 400 { // letters of keys in another case, and spaces
		t.Errorf("%d changes are harmless", harmless)
	}
}

// TestWrong: each kind of wrong proof is refused with its reason.
func TestWrong(t *testing.T) {
	t.Parallel()
	_, key := example(t)
	for name, c := range map[string]struct {
		change func(f *proof.File)
		want   string
	}{
		"an event cut off":         {func(f *proof.File) { f.Events = f.Events[:2] }, "the ledger signed that event 3 is the newest one, and the file ends with event 2"},
		"no event":                 {func(f *proof.File) { f.Events = nil }, "events are missing at the end"},
		"the first cut off":        {func(f *proof.File) { f.Events = f.Events[1:] }, "event 1 (payment.created): its bytes do not have its hash"},
		"one left out":             {func(f *proof.File) { f.Events = slices.Delete(f.Events, 1, 2) }, "event 2 (payment.created): its bytes do not have its hash"},
		"a body changed":           {func(f *proof.File) { f.Events[1].Raw = raw(2, "x") }, "event 2 (payment.created): its bytes do not have its hash"},
		"the last event rewritten": {func(f *proof.File) { rewrite(f, 2, raw(3, "x")) }, "event 3 (payment.created): its path does not lead"},
		"another payment":          {func(f *proof.File) { f.Payment = "p2" }, "event 1 (payment.created): it belongs to a1.payment.p1"},
		"another account":          {func(f *proof.File) { f.Account = "a2" }, "event 1 (payment.created): it belongs to a1.payment.p1"},
		"a position changed":       {func(f *proof.File) { f.Events[1].Position = 7 }, "event 2 (payment.created): its path does not lead"},
		"no position":              {func(f *proof.File) { f.Events[1].Position = 0 }, "event 2 (payment.created): its position 0"},
		"a position too large":     {func(f *proof.File) { f.Events[1].Position = 1 << 63 }, "event 2 (payment.created): its position 9223372036854775808"},
		"a revision changed":       {func(f *proof.File) { f.Events[1].Revision = 3 }, "event 2 (payment.created): its revision is 3"},
		"no lines":                 {func(f *proof.File) { rewrite(f, 0, []byte("x")) }, "event 1: its bytes lack the line ce-specversion"},
		"a short path":             {func(f *proof.File) { f.Events[0].Path = f.Events[0].Path[1:] }, "event 1 (payment.created): its path does not lead"},
		"a path of no hashes":      {func(f *proof.File) { f.Events[0].Path[1] = proof.Bytes("x") }, "event 1 (payment.created): its path holds"},
		"the notes exchanged":      {func(f *proof.File) { f.Checkpoint, f.Newest = f.Newest, f.Checkpoint }, "the checkpoint: it is no checkpoint of a payledger"},
		"a note twice":             {func(f *proof.File) { f.Newest = f.Checkpoint }, "the note about the newest event: it is about another"},
		"a text changed":           {func(f *proof.File) { f.Newest = strings.Replace(f.Newest, "p1", "p3", 1) }, "the note about the newest event: its signature does not fit"},
		"no note":                  {func(f *proof.File) { f.Checkpoint = "x" }, "the checkpoint: it is no signed note"},
	} {
		file, _ := example(t)
		c.change(&file)
		if _, err := proof.Check(file, key); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %s", name, err, c.want)
		}
	}
	file, _ := example(t)
	for wrong, want := range map[string]string{"x": `"x" is no verifier key`, other(t): "signed with another key"} {
		if _, err := proof.Check(file, wrong); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

// TestExactNames checks that a file has each name once and as it is spelled: a person, and a
// program in another language, read the same events as the check.
func TestExactNames(t *testing.T) {
	t.Parallel()
	file, key := example(t)
	good := string(text(t, file))
	forged := `"events":[{"revision":1,"position":1,"hash":"","raw":"","path":[]}],`
	for name, bad := range map[string]string{
		"forged events, then the genuine ones in capitals": strings.Replace(good, `"events"`, forged+`"Events"`, 1),
		"forged events, then the genuine ones":             strings.Replace(good, `"events"`, forged+`"events"`, 1),
		"the same, escaped":                                strings.Replace(good, `"events"`, forged+`"\u0065vents"`, 1),
		"events in capitals alone":                         strings.Replace(good, `"events"`, `"EVENTS"`, 1),
		"a payment twice":                                  strings.Replace(good, `"payment"`, `"payment":"p9","payment"`, 1),
		"a payment in capitals":                            strings.Replace(good, `"payment"`, `"Payment":"p9","payment"`, 1),
		"bytes twice":                                      strings.Replace(good, `"raw"`, `"raw":"eA==","raw"`, 1),
		"bytes in capitals":                                strings.Replace(good, `"raw"`, `"RAW":"eA==","raw"`, 1),
		"another name":                                     strings.Replace(good, `"raw"`, `"amount":1,"raw"`, 1),
		"another name at the top":                          strings.Replace(good, `"events"`, `"verdict":"holds","events"`, 1),
		"text that is not UTF-8":                           strings.Replace(good, `"format"`, "\"f\xff\":1,\"format\"", 1),
		"a second file":                                    good + good,
	} {
		if bad == good {
			t.Fatalf("%s: nothing is changed", name)
		}
		parsed, err := proof.Parse([]byte(bad))
		if err == nil {
			_, err = proof.Check(parsed, key)
			t.Errorf("%s: it is read; the check says %v", name, err)
		} else if !errors.Is(err, proof.ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// rewrite replaces the bytes of an event, and its hash with the hash of the new bytes.
func rewrite(f *proof.File, i int, raw []byte) {
	before := make([]byte, 32)
	if i > 0 {
		before, _ = hex.DecodeString(f.Events[i-1].Hash)
	}
	sum := sha256.Sum256(slices.Concat(before, raw))
	f.Events[i].Raw, f.Events[i].Hash = raw, hex.EncodeToString(sum[:])
}

// FuzzCheck: the check of any bytes ends with a result or an error. An accepted proof has the
// values of the golden proof.
func FuzzCheck(f *testing.F) {
	golden, key := example(f)
	good := text(f, golden)
	f.Add(good)
	f.Add([]byte(`{"format":"payledger-proof-1"}`))
	f.Add(bytes.ToUpper(good))
	f.Fuzz(func(t *testing.T, b []byte) {
		parsed, err := proof.Parse(b)
		if err != nil {
			return
		}
		if _, err := proof.Check(parsed, key); err == nil && !reflect.DeepEqual(parsed, golden) {
			t.Errorf("another proof holds: %s", b)
		}
		if again, err := json.Marshal(parsed); err != nil || !json.Valid(again) {
			t.Error(err)
		}
	})
}
