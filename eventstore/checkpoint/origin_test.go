package checkpoint_test

import (
	"bytes"
	"crypto/rand"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"payledger/eventstore/checkpoint"
	"payledger/eventstore/format"
	"payledger/eventstore/proof"
)

// TestOrigin checks that a checkpoint keeps the origin of its ledger, which is the signer's name,
// and that the message of a ledger with the first origin has its old bytes: format 1, without an
// origin.
func TestOrigin(t *testing.T) {
	for _, origin := range []string{proof.FirstOrigin, "payledger/00112233445566778899aabbccddeeff", strings.Repeat("a", 128)} {
		private, public, err := note.GenerateKey(rand.Reader, origin)
		if err != nil {
			t.Fatal(err)
		}
		signer, err := note.NewSigner(private)
		if err != nil {
			t.Fatal(err)
		}
		verifier, err := note.NewVerifier(public)
		if err != nil {
			t.Fatal(err)
		}
		tree := checkpoint.Checkpoint{}.Tree()
		if err := tree.Add(format.Hash{1}); err != nil {
			t.Fatal(err)
		}
		c, err := checkpoint.Sign(signer, tree, []uint64{3}, []uint64{1})
		if err != nil {
			t.Fatal(err)
		}
		message, err := c.Encode(true)
		if err != nil {
			t.Fatal(err)
		}
		if old := message[0] == 1; old != (origin == proof.FirstOrigin) || old == bytes.Contains(message, []byte(origin)) {
			t.Errorf("%s: %x", origin, message)
		}
		back, err := checkpoint.Parse(message)
		if err != nil || !reflect.DeepEqual(back, c) || back.Origin != origin || !strings.HasPrefix(back.Text(), origin+"\n1\n") {
			t.Errorf("%+v, %v; expected %+v", back, err, c)
		}
		if _, err := note.Open([]byte(back.Text()+"\n"+back.Signature), note.VerifierList(verifier)); err != nil {
			t.Errorf("%s: %v", origin, err)
		}
		again, err := back.Encode(true)
		if err != nil || !bytes.Equal(again, message) {
			t.Errorf("%x, %v; expected %x", again, err, message)
		}
		for _, bad := range []string{"", "a b", "a\n", proof.FirstOrigin} {
			spoilt := append(append([]byte{2, byte(len(bad))}, bad...), message[1:]...)
			if _, err := checkpoint.Parse(spoilt); err == nil {
				t.Errorf("the origin %q is accepted", bad)
			}
		}
	}
}
