package secrets

import (
	"context"
	"crypto/cipher"
	"errors"
	"io"
	"sync"
	"time"

	"payledger/domain"
	"payledger/domain/person"
	"payledger/eventstore"
	"payledger/eventstore/codec"
	"payledger/eventstore/secretlog"
)

// ErrGone means that a value was destroyed or never stored.
var ErrGone = errors.New("secrets: the value is not there")

// Store seals, keeps and opens secrets. The name of a value says its kind and its owner.
type Store struct {
	bytes  *secretlog.Stream
	master Key
	random io.Reader
	box    cipher.AEAD // under the master key
	now    func() time.Time
	keys   newest[dataKey] // data keys
	// numbers are the numbers of persons' keys for new data, by the name of the keys.
	numbers newest[uint64]
	persons eventstore.Repository[domain.PersonID, person.State, person.Event]
	boxes   newest[[]byte] // encrypted cards
	emails  sync.Map       // domain.AccountID → []byte, the keys of EmailHash
}

// Open makes a vault on the store's stream of secrets.
func Open(ctx context.Context, store *eventstore.Store, master Key, random io.Reader) (*Store, error) {
	b, err := store.OpenSecrets(ctx)
	if err != nil {
		return nil, err
	}
	box, err := master.aead()
	if err != nil {
		return nil, err
	}
	v := &Store{bytes: b, master: master, random: random, box: box, now: store.Now, persons: store.Repositories().Persons}
	if !store.Sole() {
		v.keys.life, v.boxes.life, v.numbers.life = sharedLife, sharedLife, sharedLife
	}
	b.Tell(func(name string) {
		v.keys.drop(domain.SecretID(name))
		v.boxes.drop(domain.SecretID(name))
	})
	return v, nil
}

// sharedLife is how long a value is remembered where other nodes may destroy it: so long one that another node destroyed
// may still open here.
const sharedLife = 2 * time.Second

// remember keeps a value in memory, unless it was destroyed meanwhile.
func remember[V any](v *Store, in *newest[V], name domain.SecretID, value V) error {
	in.put(name, value, v.now())
	there, err := v.bytes.Stands(string(name))
	if !there || err != nil {
		in.drop(name)
	}
	return err
}

// Create stores plain under a new name; eventstore.ErrConflict when the name is taken.
func (v *Store) Create(ctx context.Context, name domain.SecretID, plain []byte) error {
	box, err := seal(v.box, v.random, string(name), plain)
	if err != nil {
		return err
	}
	return v.bytes.Create(ctx, string(name), box)
}

// Get opens the value; ErrGone when it is not there.
func (v *Store) Get(ctx context.Context, name domain.SecretID) ([]byte, error) {
	box, err := v.read(ctx, name)
	if err != nil {
		return nil, err
	}
	return open(v.box, string(name), box)
}

// decoded opens and decodes a value; ErrGone when it is not there.
func decoded[T any](ctx context.Context, v *Store, name domain.SecretID) (value T, err error) {
	plain, err := v.Get(ctx, name)
	if err == nil {
		err = codec.Unmarshal(plain, &value)
	}
	return value, err
}

// read returns a box; ErrGone if it does not exist, ServiceUnavailable if it cannot be read now.
func (v *Store) read(ctx context.Context, name domain.SecretID) ([]byte, error) {
	box, err := v.bytes.Get(ctx, string(name))
	switch {
	case errors.Is(err, eventstore.ErrNotFound):
		return nil, ErrGone
	case err != nil:
		return nil, domain.Unavailable(err)
	}
	return box, nil
}

// Destroy overwrites the value on disk. It is safe to repeat.
func (v *Store) Destroy(ctx context.Context, name domain.SecretID) error {
	return v.bytes.Destroy(ctx, string(name))
}
