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

// Run rotates the master key, or completes a rotation that was cut short. Without an error exactly the new key opens the ledger. After
// an error it is the old one, unless the error is secrets.ErrUndecided, or says that the rotation is decided.
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
	if _, other := errors.AsType[otherKeyError](err); other && r.Next != "" { // the new one, if an earlier run was cut short
		if l, newErr := r.open(ctx, r.sealed(next)); newErr == nil {
			done.Completed, done.File = true, ""
			return done, l.Close()
		}
	}
	if err != nil {
		return done, err
	}
	if done.Completed = l.completed(r.Next, next); done.Completed {
		return done, l.Close()
	}
	done.Values, err = l.Secrets.Rotate(ctx, secrets.Rotation{Next: next, Stepped: r.Stepped, Keep: func() error {
		switch {
		case own:
			return secrets.KeepNext(r.Data, next)
		case r.Next == "":
			return r.Show(next.Text())
		default:
			return nil
		}
	}})
	if own && err != nil && !errors.Is(err, secrets.ErrUndecided) {
		err = errors.Join(err, secrets.DropNext(r.Data))
	}
	closed := l.Close()
	if err != nil {
		return done, errors.Join(err, closed)
	}
	// The rotation is decided. The open removes the old values, and takes the new key of the folder.
	after := r.Options
	if !own {
		after = r.sealed(next)
	}
	if l, err = r.open(ctx, after); err != nil {
		return done, fmt.Errorf("the rotation is decided, and the new master key is the key of the ledger, but the old values are not removed yet: %w; the next start removes them", err)
	}
	if err := errors.Join(closed, l.Close()); err != nil {
		return done, fmt.Errorf("the rotation is decided, and the new master key is the key of the ledger: %w", err)
	}
	return done, nil
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

// completed reports whether this open completed the wanted rotation, to the given or the folder's random key, and not an earlier one.
func (l *Ledger) completed(given string, next secrets.Key) bool {
	if given == "" {
		return l.tookNext
	}
	return l.master == next && (l.tookNext || l.server.Completed())
}
