package ledger

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/rs/zerolog"

	"payledger/cmd/payledger/options"
	"payledger/eventstore/engine"
	"payledger/eventstore/secrets"
)

// Rotation is a change of the master key of a data folder that no service uses.
type Rotation struct {
	options.Options        // of the ledger, with its master key
	Next            string // the new master key; "": a random one
	// Show shows a random key that no file keeps, before the step that decides.
	Show func(key string) error
	// Stepped, if set, is called after each step (tests that crash there).
	Stepped func(step string)
}

// Rotated is the result of a rotation.
type Rotated struct {
	Values    int    // number of the values that were sealed anew
	Completed bool   // an earlier rotation was completed instead
	Before    bool   // the rotation was complete before, and nothing was changed
	File      string // file of the data folder that holds the new key; "" if the key is kept elsewhere
}

// Run rotates the master key, or completes a rotation that was interrupted. After an error the
// folder opens with the key that it has, and with a given one: the old key if the rotation has not
// begun, else the new one, as the folder has the old key until the rotation is complete.
func (r Rotation) Run(ctx context.Context) (done Rotated, err error) {
	next, err := keyOrNew(r.Next)
	if err != nil {
		return done, err
	}
	own := r.MasterKey == "" && r.MasterKeyFile == ""
	if own {
		done.File = secrets.MasterKeyPath(r.Data)
	}
	l, err := r.open(ctx, r.Options)
	_, other := errors.AsType[otherKeyError](err)
	if r.Next != "" && (other || errors.Is(err, secrets.ErrRotated)) { // an earlier run began, or completed, this rotation
		if l, newErr := r.open(ctx, r.sealed(next)); newErr == nil {
			done.Completed, done.Before, done.File = l.completed, !l.completed, ""
			return done, l.Close()
		}
	}
	if errors.Is(err, secrets.ErrRotated) {
		err = fmt.Errorf("a rotation to another master key has begun, and is not complete: repeat the command with that key in --new-master-key-file: %w", err)
	}
	if err != nil {
		return done, err
	}
	if done.Completed = l.completed && (r.Next == "" || l.master == next); done.Completed {
		return done, l.Close()
	}
	if l.master == next {
		return done, errors.Join(secrets.ErrSameKey, l.Close())
	}
	previous := l.master
	done.Values, _, err = l.Secrets.Rotate(ctx, secrets.Rotation{Next: next, Stepped: r.Stepped, Keep: func() error {
		if own {
			return secrets.KeepNext(r.Data, next)
		}
		if err := secrets.KeepPrevious(r.Data, previous, next, rand.Reader); err != nil || r.Next != "" {
			return err
		}
		return r.Show(next.Text())
	}})
	if err == nil {
		_, err = (&masterKey{data: r.Data, own: own}).settle(next)
	} else if !errors.Is(err, secrets.ErrUnbegun) {
		err = fmt.Errorf("the rotation is not complete; nothing is lost: %w", err)
	}
	return done, errors.Join(err, l.Close())
}

func (r Rotation) open(ctx context.Context, o options.Options) (*Ledger, error) {
	return Open(ctx, o, Rotating, engine.Config{Logger: zerolog.Nop()})
}

func (r Rotation) sealed(key secrets.Key) options.Options {
	o := r.Options
	o.MasterKey, o.MasterKeyFile = key.Text(), ""
	return o
}

func keyOrNew(text string) (secrets.Key, error) {
	if text != "" {
		return secrets.ParseKey(text)
	}
	return secrets.NewKey(rand.Reader)
}
