package ledger

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"payledger/cmd/payledger/options"
	"payledger/eventstore/engine"
	"payledger/eventstore/external"
	"payledger/eventstore/secrets"
)

const nodesWait = 3 * time.Second // for another answer of a node

const settleWait = time.Minute // for a node that has not read that the rotation has begun

func incomplete(err error, o options.Options) error {
	switch {
	case !errors.Is(err, secrets.ErrIncomplete):
	case o.NatsURL == "":
		err = fmt.Errorf("%w: it needs the key before, which is in %s, or in the master.key.previous or master.key.next of this folder: put the missing file back", err, secrets.MasterKeyPath(o.Data))
	default:
		err = fmt.Errorf("%w: set PAYLEDGER_MASTER_KEY_PREVIOUS (or --master-key-previous-file) to the master key before, and run `payledger rotate-master-key` with both keys until it exits with 0", err)
	}
	return err
}

// ClusterRotation is a change of the master key of a cluster's ledger. Its nodes may run if they
// have both keys.
type ClusterRotation struct {
	options.Options // of a node: the new master key, and the one before
	// Stepped, if set, is called after each step (tests that crash there).
	Stepped func(step string)
}

// Run rotates the master key, or completes a rotation to it. After an error both keys are needed,
// unless the error says otherwise.
func (r ClusterRotation) Run(ctx context.Context) (done Rotated, err error) {
	next, err := secrets.ParseKey(r.MasterKey)
	if err != nil {
		return done, err
	}
	if r.MasterKey == r.MasterKeyPrevious {
		return done, secrets.ErrSameKey
	}
	without, err := external.WithoutKey(ctx, r.Access(), next.Fingerprint(), nodesWait)
	if err != nil {
		return done, err
	}
	if len(without) > 0 {
		return done, fmt.Errorf("a node does not have the new master key (its --listen is %s): restart every node with the new key, and with the old one in PAYLEDGER_MASTER_KEY_PREVIOUS, and rotate then; nothing was changed", strings.Join(without, ", "))
	}
	if r.Data, err = os.MkdirTemp("", "payledger-rotation-"); err != nil { // for an index of the log
		return done, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(r.Data)) }()
	l, err := Open(ctx, r.Options, Rotating, engine.Config{Logger: zerolog.Nop()})
	if err != nil {
		return done, err
	}
	done.Values, done.Before, err = l.Secrets.Rotate(ctx, secrets.Rotation{Next: next, Stepped: r.Stepped, Settled: r.settled})
	switch {
	case errors.Is(err, secrets.ErrIncomplete):
		err = errors.New("an earlier rotation of the master key is not complete: run `payledger rotate-master-key` with the keys of that one until it exits with 0; nothing was changed")
	case errors.Is(err, secrets.ErrSameKey), errors.Is(err, secrets.ErrUnbegun):
	case errors.Is(err, secrets.ErrOtherRotation):
		err = errors.New("a rotation to another master key began first: nothing is sealed with this one; give every node the key of the other rotation")
	case err != nil:
		err = fmt.Errorf("the rotation is not complete; nothing is lost, and the nodes need both keys: run the command again: %w", err)
	}
	return done, errors.Join(err, l.Close())
}

// settled returns when no node seals for a generation before the given one.
func (r ClusterRotation) settled(ctx context.Context, generation uint64) error {
	ctx, cancel := context.WithTimeout(ctx, settleWait)
	defer cancel()
	for {
		behind, err := external.Behind(ctx, r.Access(), generation, nodesWait)
		if err == nil && len(behind) == 0 {
			return nil
		}
		if ctx.Err() == nil && err == nil {
			continue
		}
		if len(behind) > 0 {
			return fmt.Errorf("a node has not read that the rotation began (its --listen is %s): wait until it is ready, or stop it", strings.Join(behind, ", "))
		}
		return err
	}
}
