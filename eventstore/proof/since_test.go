package proof_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"payledger/domain/seedtest"
	"payledger/eventstore/proof"
)

// consistency is PROOF of RFC 6962, section 2.1.2.
func consistency(m int, leaves [][32]byte, whole bool) []proof.Bytes {
	n := len(leaves)
	if m == n {
		if whole {
			return nil
		}
		root := node(leaves)
		return []proof.Bytes{root[:]}
	}
	k := split(n)
	if m <= k {
		other := node(leaves[k:])
		return append(consistency(m, leaves[:k], whole), other[:])
	}
	other := node(leaves[:k])
	return append(consistency(m-k, leaves[k:], false), other[:])
}

func (m *model) checkpoint(t require, size int) string {
	t.Helper()
	root := node(m.leaves[:size])
	return m.sign(t, fmt.Sprintf("%s\n%d\n%s\nshards 1\nevents 1\n", m.origin, size, base64.StdEncoding.EncodeToString(root[:])))
}

func (m *model) line(t require, number, size int) string {
	t.Helper()
	root := node(m.leaves[:size])
	line, err := json.Marshal(proof.Checkpoint{Number: uint64(number), Size: uint64(size), Root: root[:], Note: m.checkpoint(t, size)})
	if err != nil {
		t.Fatal(err)
	}
	return string(line)
}

// TestEquivocation checks that every line of a witness's file is evidence: two roots of one size
// are reported wherever they stand. A line that the key did not sign is no evidence, and neither
// are the numbers: both are reported as such.
func TestEquivocation(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	f := m.file(t, 9, []int{0}, [][]byte{raw(1, "x")})
	checked, err := proof.Check(f, m.key)
	if err != nil {
		t.Fatal(err)
	}
	honest := []string{m.line(t, 1, 2), m.line(t, 2, 5), m.line(t, 3, 5), m.line(t, 4, 9)}
	m.leaves[1][0] ^= 1
	forked, fork := m.line(t, 2, 5), m.line(t, 4, 9)
	m.leaves[1][0] ^= 1
	for name, c := range map[string]struct {
		lines []string
		want  string
	}{
		"honest":                            {honest, ""},
		"two roots of one size":             {[]string{honest[0], forked, honest[1], honest[3]}, "the checkpoints in the lines 2 and 3 are of 5 events"},
		"two roots, the newest is honest":   {[]string{honest[1], honest[3], forked}, "the checkpoints in the lines 1 and 3 are of 5 events"},
		"another root than the proof's":     {[]string{honest[0], fork}, "the ledger rewrote its log"},
		"fewer events under a later number": {[]string{m.line(t, 5, 2), honest[1], honest[3]}, "the numbers in the file are wrong, they are not signed: checkpoint 5 in line 1 is of 2 events, and checkpoint 2 in line 2 of 5"},
		"a swapped number":                  {[]string{honest[0], m.line(t, 4, 5), m.line(t, 2, 9)}, "the numbers in the file are wrong"},
		"a forged line":                     {[]string{honest[0], strings.Replace(honest[1], `payledger\n5`, `payledger\n6`, 1), honest[3]}, "line 2 has another size or root"},
	} {
		all, err := proof.ReadCheckpoints(strings.Join(c.lines, "\n") + "\n")
		if err == nil {
			_, err = proof.CheckSince(f, checked.Tree, m.key, all)
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if strings.HasPrefix(c.want, "the checkpoints") != errors.Is(err, proof.ErrEquivocation) {
			t.Errorf("%s: %v", name, err)
		}
	}
	all, err := proof.ReadCheckpoints(strings.Join(honest, "\n"))
	if err != nil || len(all) != 4 || all[2].Line != 3 || all[2].Number != 3 {
		t.Fatalf("%+v %v", all, err)
	}
	if err := proof.CheckOld(all, other(t)); err == nil || errors.Is(err, proof.ErrEquivocation) || !strings.Contains(err.Error(), "the old checkpoint in line 1: it is signed with another key") {
		t.Error(err)
	}
}

// TestOrigin checks that a proof of a ledger with an origin of its own holds with that ledger's
// key, and that a note of another ledger with the same key does not.
func TestOrigin(t *testing.T) {
	t.Parallel()
	for _, origin := range []string{"payledger/00112233445566778899aabbccddeeff", "ledger.example.com/payments"} {
		m := newModel(t)
		m.named(t, origin)
		f := m.file(t, 11, []int{2, 7}, [][]byte{raw(1, "x"), raw(2, "y")})
		checked, err := proof.Check(f, m.key)
		if err != nil || checked.Tree.Origin != origin || !strings.HasPrefix(m.key, origin+"+") || !strings.HasPrefix(f.Checkpoint, origin+"\n11\n") {
			t.Fatalf("%s: %+v %v", origin, checked.Tree, err)
		}
		m.origin = proof.FirstOrigin
		foreign := m.file(t, 11, []int{2, 7}, [][]byte{raw(1, "x"), raw(2, "y")})
		if _, err := proof.Check(foreign, m.key); err == nil || !strings.Contains(err.Error(), "it is of the ledger payledger, and the key is of "+origin) {
			t.Error(err)
		}
	}
	for origin, valid := range map[string]bool{"payledger": true, "a.b/c-d_e~f:1": true, "": false, "a b": false, "a+b": false, "a\nb": false, "é": false, strings.Repeat("a", 129): false} {
		if proof.ValidOrigin(origin) != valid {
			t.Errorf("%q", origin)
		}
	}
}

// TestSince checks that a consistency proof by the words of RFC 6962 is valid for every older log,
// as note and as line, and invalid with another old log, with another path, or without a path.
func TestSince(t *testing.T) {
	t.Parallel()
	seedtest.Check(t, func(t *rapid.T) {
		m := newModel(t)
		size := rapid.IntRange(2, 70).Draw(t, "events of the log")
		f := m.file(t, size, []int{0}, [][]byte{raw(1, "x")})
		since := rapid.IntRange(1, size-1).Draw(t, "events of the old log")
		f.Consistency = &proof.Consistency{Size: uint64(since), Path: consistency(since, m.leaves, true)}
		checked, err := proof.Check(f, m.key)
		if err != nil {
			t.Fatal(err)
		}
		old := m.checkpoint(t, since)
		line := m.line(t, 7, since)
		checkSince := func(f proof.File, old string) (proof.Tree, error) {
			all, err := proof.ReadCheckpoints(old)
			if err != nil {
				return proof.Tree{}, err
			}
			return proof.CheckSince(f, checked.Tree, m.key, all)
		}
		for _, form := range []string{old, line, line + "\n" + m.line(t, 8, since) + "\n", m.line(t, 6, rapid.IntRange(0, since-1).Draw(t, "older")) + "\n\n" + line + "\n"} {
			if before, err := checkSince(f, form); err != nil || before.Size != uint64(since) {
				t.Fatalf("%+v %v", before, err)
			}
		}
		fails := func(f proof.File, old, want string) {
			if _, err := checkSince(f, old); err == nil || !strings.Contains(err.Error(), want) {
				t.Fatalf("%v; want %s", err, want)
			}
		}
		if _, err := checkSince(f, m.checkpoint(t, size)); err != nil {
			t.Fatal(err)
		}
		fails(f, "{}\n"+line, "line 1 is no signed note")
		fails(f, strings.Replace(line, `"size":`, `"size":1`, 1), "line 1 has another size or root")
		fails(f, line+"\n"+m.line(t, 8, since-1), "the numbers in the file are wrong")
		bare := f
		bare.Consistency = nil
		fails(bare, old, "make it with prove --since")
		fails(f, strings.Replace(old, fmt.Sprintf("\n%d\n", since), fmt.Sprintf("\n%d\n", size+1), 1), "its signature does not fit")
		fails(f, "x", "no signed note")
		fails(f, strings.Replace(line, `"note"`, `"note":"x","note"`, 1), "no line of payledger checkpoints")
		fails(f, strings.Replace(line, `"note"`, `"Note"`, 1), "no line of payledger checkpoints")
		m.leaves[rapid.IntRange(0, since-1).Draw(t, "rewritten")][0] ^= 1
		fails(f, m.checkpoint(t, since), "the ledger rewrote its log")
		fails(f, m.checkpoint(t, size), "the ledger rewrote its log")
		m.leaves = append(m.leaves, m.leaves[0])
		fails(f, m.checkpoint(t, size+1), "take an older checkpoint")
	})
}
