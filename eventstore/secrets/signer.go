package secrets

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"payledger/domain"
	"payledger/eventstore/proof"
	"payledger/eventstore/secretlog"
)

const checkpointSigner domain.SecretID = "signer.system.checkpoints"

// ErrOrigin means that the checkpoints of the ledger have another origin than SetOrigin set.
var ErrOrigin = errors.New("the origin of a ledger's checkpoints never changes")

// SetOrigin sets the origin of the checkpoints of a new ledger, instead of payledger/<log id>. Call
// it before CheckpointSigner.
func (v *Store) SetOrigin(origin string) { v.origin = origin }

// CheckpointSigner returns the key that signs checkpoints, and its verifier key. The first call
// creates the key. The key's name is the origin of the checkpoints. The error wraps ErrOrigin if
// the ledger has another origin than SetOrigin set.
func (v *Store) CheckpointSigner(ctx context.Context) (note.Signer, string, error) {
	stored, _, err := v.ensure(ctx, checkpointSigner, func() ([]byte, error) {
		private, public, err := note.GenerateKey(v.random, cmp.Or(v.origin, proof.FirstOrigin+"/"+hex.EncodeToString(v.log[:])))
		if err != nil {
			return nil, fmt.Errorf("secrets: signer: %w", err)
		}
		return []byte(private + "\n" + public), nil
	})
	if err != nil {
		return nil, "", err
	}
	signer, public, err := parseSigner(string(stored))
	if err == nil && v.origin != "" && signer.Name() != v.origin {
		err = fmt.Errorf("%w: it is %s here, and %s was named", ErrOrigin, signer.Name(), v.origin)
	}
	return signer, public, err
}

// Verifier returns the verifier key of the checkpoints in a log, given its master key, or several
// during a rotation.
func Verifier(log secretlog.Messages, masters ...Key) (public string, err error) {
	err = log.Use(string(checkpointSigner), func(stored []byte) error {
		var ring keyring
		for _, master := range masters {
			box, err := master.aead()
			if err != nil {
				return err
			}
			ring = append(ring, box)
		}
		plain, err := ring.open(string(checkpointSigner), stored)
		if err != nil {
			return err
		}
		_, public, err = parseSigner(string(plain))
		return err
	})
	return public, err
}

func parseSigner(stored string) (note.Signer, string, error) {
	private, public, ok := strings.Cut(stored, "\n")
	if !ok {
		return nil, "", errors.New("secrets: the stored signer is malformed")
	}
	signer, err := note.NewSigner(private)
	if err != nil {
		return nil, "", fmt.Errorf("secrets: signer: %w", err)
	}
	return signer, public, nil
}
