package proof_test

import (
	"encoding/base64"
	"encoding/json"
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
	return m.sign(t, fmt.Sprintf("payledger\n%d\n%s\nshards 1\nevents 1\n", size, base64.StdEncoding.EncodeToString(root[:])))
}

// TestSince checks that a consistency proof by the words of RFC 6962 is valid for every older log, as note and as line, and invalid with
// another old log, with another path, or without a path.
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
		line, err := json.Marshal(proof.Checkpoint{Number: 7, Size: uint64(since), Note: old})
		if err != nil {
			t.Fatal(err)
		}
		for _, form := range []string{old, string(line), "{}\n" + string(line) + "\n"} {
			if before, err := proof.CheckSince(f, checked.Tree, m.key, form); err != nil || before.Size != uint64(since) {
				t.Fatalf("%+v %v", before, err)
			}
		}
		fails := func(f proof.File, old, want string) {
			if _, err := proof.CheckSince(f, checked.Tree, m.key, old); err == nil || !strings.Contains(err.Error(), want) {
				t.Fatalf("%v; want %s", err, want)
			}
		}
		if _, err := proof.CheckSince(f, checked.Tree, m.key, m.checkpoint(t, size)); err != nil {
			t.Fatal(err)
		}
		bare := f
		bare.Consistency = nil
		fails(bare, old, "make it with prove --since")
		fails(f, strings.Replace(old, fmt.Sprintf("\n%d\n", since), fmt.Sprintf("\n%d\n", size+1), 1), "its signature does not fit")
		fails(f, "x", "no signed note")
		fails(f, strings.Replace(string(line), `"note"`, `"note":"x","note"`, 1), "no line of payledger checkpoints")
		fails(f, strings.Replace(string(line), `"note"`, `"Note"`, 1), "no line of payledger checkpoints")
		m.leaves[rapid.IntRange(0, since-1).Draw(t, "rewritten")][0] ^= 1
		fails(f, m.checkpoint(t, since), "the ledger rewrote its log")
		fails(f, m.checkpoint(t, size), "the ledger rewrote its log")
		m.leaves = append(m.leaves, m.leaves[0])
		fails(f, m.checkpoint(t, size+1), "take an older checkpoint")
	})
}
