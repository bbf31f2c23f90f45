package secrets

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"payledger/domain"
	"payledger/eventstore/secretlog"
)

// ErrSameKey means that a rotation was given the master key that the ledger has.
var ErrSameKey = errors.New("the ledger has this master key already")

// ErrUndecided means that it is not known whether a rotation took place. The next start shows it.
var ErrUndecided = secretlog.ErrUndecided

// Rotation is a change of the master key.
type Rotation struct {
	Next Key
	// Keep is called before the step that decides.
	Keep func() error
	// Stepped, if set, is called after each step (tests that crash there).
	Stepped func(step string)
}

// Rotate seals every value with another master key (package secretlog, Rotate); of the cards of the last minutes, only their minutes' keys.
// No other process may use the ledger. Afterwards the ledger must be opened anew. Rotate returns the number of values.
func (v *Store) Rotate(ctx context.Context, r Rotation) (int, error) {
	if r.Next == v.master {
		return 0, ErrSameKey
	}
	box, err := r.Next.aead()
	if err != nil {
		return 0, err
	}
	root, err := seal(box, v.random, string(emailRootName), v.emailRoot)
	if err != nil {
		return 0, err
	}
	return v.bytes.Rotate(ctx, secretlog.Rotation{
		Keep: r.Keep, Stepped: r.Stepped, More: map[string][]byte{string(emailRootName): root},
		Reseal: func(name string, value []byte) (group string, changed []byte, err error) {
			if strings.HasPrefix(name, kindCard+".") {
				return epochOf(domain.SecretID(name)).prefix(), value, nil
			}
			if strings.HasPrefix(name, kindFiller+".") { // a random value that a rotation of a cluster left
				return "", value, nil
			}
			plain, err := v.ring.open(name, value)
			if err == nil {
				changed, err = seal(box, v.random, name, plain)
			}
			if err != nil {
				err = errKind(name, err)
			}
			return "", changed, err
		},
	})
}

// errKind is an error about a value. It does not have the whole name, which may contain a session id.
func errKind(name string, err error) error {
	kind, _, _ := strings.Cut(name, ".")
	return fmt.Errorf("a value of kind %s: %w", kind, err)
}
