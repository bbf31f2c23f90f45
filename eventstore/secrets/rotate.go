package secrets

import (
	"context"
	"crypto/cipher"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/eventstore/secretlog"
)

// A rotation of the master key, of a folder or of a cluster. Every process that opens the ledger
// meanwhile has both keys. Package secretlog has the steps, the state after a crash at each step
// (doc.go), and the rules by which no value is lost (generation.go).

// Steps of a rotation, for tests that crash after each. The steps of package secretlog come after
// the third one.
const (
	stepRoot     = "the root of the hashes is a value"
	stepKept     = "both keys are kept"
	stepBegun    = "the generation has begun"
	stepFilled   = "the Raft logs are filled"
	stepComplete = "the rotation is complete"
)

var (
	// ErrIncomplete means that the rotation to the master key is not complete: some values are
	// still sealed with the key before.
	ErrIncomplete = errors.New("the last rotation of the master key is not complete")
	// ErrOtherRotation means that a rotation to another key began first.
	ErrOtherRotation = errors.New("a rotation to another master key has begun")
	// ErrOtherPrevious is ErrIncomplete for a process with another second key than the one before
	// the rotation.
	ErrOtherPrevious = fmt.Errorf("%w, and --master-key-previous is not the master key before", ErrIncomplete)
	// ErrSameKey means that a rotation was given the master key that the ledger has.
	ErrSameKey = errors.New("the ledger has this master key already")
	// ErrUnbegun means that a rotation was refused before it changed anything.
	ErrUnbegun = errors.New("nothing was changed")
	// ErrRotated ends a process that does not have the new master key.
	ErrRotated = fmt.Errorf("%w: the master key was rotated: start the service again with the new master key", eventstore.ErrUnhealthy)
)

// kindRotated is the kind of the values that say that a rotation is complete:
// rotated.system.<generation>.
const kindRotated = "rotated"

func rotatedName(generation uint64) domain.SecretID {
	return domain.SecretID(kindRotated + ".system." + strconv.FormatUint(generation, 10))
}

type keyring []cipher.AEAD

func (k keyring) open(name string, box []byte) ([]byte, error) {
	err := ErrSealed
	for _, key := range k {
		plain, openErr := open(key, name, box)
		if openErr == nil {
			return plain, nil
		}
		err = openErr
	}
	return nil, err
}

func (v *Store) sealing() (uint64, cipher.AEAD, error) {
	generation, i, err := v.inForce()
	if err != nil {
		return 0, nil, err
	}
	return generation, v.ring[i], nil
}

// inForce returns the newest generation, and the number of its key.
func (v *Store) inForce() (generation uint64, key int, err error) {
	generation, proof := v.bytes.Generation()
	if generation == 0 {
		return 0, 0, nil
	}
	for i, key := range v.ring {
		if _, err := open(key, secretlog.ProofName, proof); err == nil {
			return generation, i, nil
		}
	}
	return 0, 0, ErrRotated
}

// Master returns the master key that seals new values, and whether the rotation to it is complete.
func (v *Store) Master() (key Key, complete bool, err error) {
	generation, i, err := v.inForce()
	if err != nil || generation == 0 {
		return v.masters[0], err == nil, err
	}
	complete, err = v.bytes.Stands(string(rotatedName(generation)))
	return v.masters[i], complete, err
}

func (v *Store) accept(proof []byte) error {
	if _, err := v.ring.open(secretlog.ProofName, proof); err != nil {
		return ErrRotated
	}
	return nil
}

// checkGeneration returns an error unless the keys of this process open every value.
func (v *Store) checkGeneration(ctx context.Context) error {
	generation, _, err := v.sealing()
	if err != nil || generation == 0 {
		return err
	}
	complete, err := v.bytes.Stands(string(rotatedName(generation)))
	switch {
	case err != nil || complete:
		return err
	case len(v.ring) == 1:
		return ErrIncomplete
	}
	return v.bytes.Earlier(ctx, independent, func(name string, value []byte) error {
		_, err := v.ring.open(name, value)
		if errors.Is(err, ErrSealed) {
			err = ErrOtherPrevious
		}
		return err
	})
}

// independent reports whether a value is not sealed with the master key, or need not be sealed
// anew.
func independent(name string) bool {
	kind, _, _ := strings.Cut(name, ".")
	return kind == kindCard || kind == kindRotated || kind == kindFiller
}

// Settle reads the stream of the secrets. It returns the newest generation. From then on this
// process seals nothing for an earlier one.
func (v *Store) Settle(ctx context.Context) (generation uint64, err error) {
	return v.bytes.Settle(ctx)
}

// Rotation is a change of the master key. In a cluster the store has been opened with both keys.
type Rotation struct {
	Next Key
	// Keep, if set, is called before the rotation begins. From then on both keys are needed until
	// it is complete.
	Keep func() error
	// Settled, if set, returns when every node has read that a generation has begun, and seals
	// nothing for an earlier one.
	Settled func(ctx context.Context, generation uint64) error
	// Stepped, if set, is called after each step (tests that crash there).
	Stepped func(step string)
}

// Rotate seals every value with another master key, or completes a rotation to this key. It may be
// interrupted anywhere and repeated. It returns the number of values; 0 and completed if the
// rotation was complete already.
func (v *Store) Rotate(ctx context.Context, r Rotation) (count int, completed bool, err error) {
	if v.sole { // other processes have the key already, or stop
		if err := v.add(r.Next); err != nil {
			return 0, false, err
		}
	}
	count, completed, err = v.rotate(ctx, r)
	if errors.Is(err, secretlog.ErrGeneration) || errors.Is(err, ErrRotated) {
		err = ErrOtherRotation
	}
	return count, completed, err
}

func (v *Store) rotate(ctx context.Context, r Rotation) (count int, completed bool, err error) {
	step := func(name string) {
		if r.Stepped != nil {
			r.Stepped(name)
		}
	}
	next, err := r.Next.aead()
	if err != nil {
		return 0, false, err
	}
	if err := v.bytes.Refresh(ctx); err != nil {
		return 0, false, err
	}
	if generation, _ := v.bytes.Generation(); generation == 0 && r.Next == v.masters[0] {
		return 0, false, ErrSameKey
	}
	if err := v.begin(ctx, next, r.Keep, step); err != nil {
		return 0, false, err
	}
	generation, proof := v.bytes.Generation()
	if _, err := open(next, secretlog.ProofName, proof); err != nil {
		return 0, false, ErrOtherRotation
	}
	complete, err := v.bytes.Stands(string(rotatedName(generation)))
	if err != nil {
		return 0, false, err
	}
	if complete {
		return 0, true, v.dropMarks(ctx, generation) // an earlier run may have been cut before this
	}
	resealing := secretlog.Resealing{
		Generation: generation, Stepped: r.Stepped, Skip: independent,
		Seal: func(name string, value []byte) (group string, changed []byte, err error) {
			switch {
			case strings.HasPrefix(name, kindCard+"."):
				return epochOf(domain.SecretID(name)).prefix(), value, nil
			case independent(name):
				return "", value, nil
			}
			plain, err := v.ring.open(name, value)
			if err == nil {
				changed, err = seal(next, v.random, name, plain)
			}
			if err != nil {
				err = errKind(name, err)
			}
			return "", changed, err
		},
	}
	if count, err = v.bytes.Reseal(ctx, resealing); err != nil {
		return count, false, err
	}
	if r.Settled != nil {
		if err := r.Settled(ctx, generation); err != nil {
			return count, false, err
		}
		if _, err := v.bytes.Reseal(ctx, resealing); err != nil { // it destroys the values that do not count
			return count, false, err
		}
	}
	return count, false, v.end(ctx, generation, step)
}

// errKind is an error about a value. It does not have the whole name, which may contain a session
// id.
func errKind(name string, err error) error {
	kind, _, _ := strings.Cut(name, ".")
	return fmt.Errorf("a value of kind %s: %w", kind, err)
}

// add adds a master key to those that open values.
func (v *Store) add(key Key) error {
	if slices.Contains(v.masters, key) {
		return nil
	}
	box, err := key.aead()
	if err == nil {
		v.masters, v.ring = append(v.masters, key), append(v.ring, box)
	}
	return err
}

// begin begins the generation of a key, unless it is the key of the generation in force.
func (v *Store) begin(ctx context.Context, next cipher.AEAD, keep func() error, step func(string)) error {
	before, proof := v.bytes.Generation()
	if before > 0 {
		if _, err := open(next, secretlog.ProofName, proof); err == nil {
			return nil
		}
		complete, err := v.bytes.Stands(string(rotatedName(before)))
		if err == nil && !complete {
			err = ErrIncomplete
		}
		if err != nil {
			return err
		}
	}
	err := v.bytes.Room()
	if err == nil {
		err = v.bytes.Replicated(ctx)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnbegun, err)
	}
	if err := v.Create(ctx, emailRootName, v.emailRoot); err != nil && !errors.Is(err, eventstore.ErrConflict) {
		return err
	}
	step(stepRoot)
	if keep != nil {
		if err := keep(); err != nil {
			return fmt.Errorf("%w: %w", ErrUnbegun, err)
		}
		step(stepKept)
	}
	proof, err = seal(next, v.random, secretlog.ProofName, nil)
	if err == nil {
		err = v.bytes.Begin(ctx, before, proof)
	}
	if errors.Is(err, secretlog.ErrGeneration) {
		return nil // the caller reads which rotation was faster
	}
	if err == nil {
		step(stepBegun)
	}
	return err
}

// The random values are more than two blocks of 8 MB of a Raft log. A server compacts a log from 8
// MB on, by whole blocks.
const (
	kindFiller = "filler"
	fillers    = 24
	fillerSize = 1 << 20
)

// fill makes the servers compact the logs of the stream's Raft group.
func (v *Store) fill(ctx context.Context, generation uint64, step func(string)) error {
	value := make([]byte, fillerSize)
	var names []string
	for i := range fillers {
		if _, err := io.ReadFull(v.random, value); err != nil {
			return fmt.Errorf("secrets: random: %w", err)
		}
		name := fmt.Sprintf("%s.system.%d-%d", kindFiller, generation, i)
		if err := v.bytes.Create(ctx, name, slices.Clone(value)); err != nil && !errors.Is(err, eventstore.ErrConflict) {
			return err
		}
		names = append(names, name)
	}
	step(stepFilled)
	return v.bytes.Destroy(ctx, names...)
}

func (v *Store) end(ctx context.Context, generation uint64, step func(string)) error {
	if err := v.bytes.Replicated(ctx); err != nil {
		return err
	}
	if !v.sole { // the embedded server has no Raft logs
		if err := v.fill(ctx, generation, step); err != nil {
			return err
		}
		if err := v.bytes.Replicated(ctx); err != nil { // a server that lacks the random values keeps its log
			return err
		}
	}
	if now, _ := v.bytes.Generation(); now != generation {
		return secretlog.ErrGeneration
	}
	if err := v.Create(ctx, rotatedName(generation), nil); err != nil && !errors.Is(err, eventstore.ErrConflict) {
		return err
	}
	step(stepComplete)
	return v.dropMarks(ctx, generation)
}

// dropMarks destroys the values that say that earlier rotations are complete, and the random values
// that another run left.
func (v *Store) dropMarks(ctx context.Context, generation uint64) error {
	names, err := v.bytes.Names(ctx, kindRotated)
	if err != nil {
		return err
	}
	left, err := v.bytes.Names(ctx, kindFiller)
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, func(name string) bool { // a later rotation may be complete meanwhile
		of, err := strconv.ParseUint(name[strings.LastIndex(name, ".")+1:], 10, 64)
		return err != nil || of >= generation
	})
	return v.bytes.Destroy(ctx, append(names, left...)...)
}
