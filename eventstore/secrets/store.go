package secrets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"payledger/domain"
	"payledger/domain/person"
	"payledger/eventstore"
	"payledger/eventstore/format"
	"payledger/eventstore/secretlog"
)

// ErrGone means that a value was destroyed or never stored.
var ErrGone = errors.New("secrets: the value is not there")

// Store encrypts, stores and decrypts secrets. The name of a value contains its kind and its owner.
type Store struct {
	bytes   *secretlog.Stream
	masters []Key // the master key, and a key that a rotation replaces, or is about to take
	random  io.Reader
	log     format.LogID
	origin  string  // of the checkpoints of a new ledger; "": by the log's id
	ring    keyring // of masters
	now     func() time.Time
	keys    valueCache[dataKey]
	// numbers are the numbers of the keys for persons' new data, by the name of the keys.
	numbers   valueCache[uint64]
	erasures  atomic.Uint64
	sole      bool // no other node destroys values
	forgotten forgotten
	persons   *eventstore.Repository[domain.PersonID, person.State, person.Event]
	boxes     valueCache[[]byte]   // encrypted cards
	ended     valueCache[struct{}] // entered cards that no longer exist
	standing  standing
	opened    time.Time
	skipped   atomic.Int64 // see Skip
	emails    sync.Map     // domain.AccountID → []byte, the keys of EmailHash
	emailRoot []byte
}

// Log is a store with its stream of secrets.
type Log interface {
	eventstore.Store
	OpenSecrets(ctx context.Context) (*secretlog.Stream, error)
}

// Open opens the secrets of a log. master seals them. others are further keys: of a rotation that
// is under way, or is about to begin.
func Open(ctx context.Context, store Log, master Key, random io.Reader, others ...Key) (*Store, error) {
	b, err := store.OpenSecrets(ctx)
	if err != nil {
		return nil, err
	}
	v := &Store{bytes: b, random: random, log: store.ID(), now: store.Now, persons: &eventstore.NewRepositories(store).Persons, opened: time.Now()}
	for _, key := range append([]Key{master}, others...) {
		if err := v.add(key); err != nil {
			return nil, err
		}
	}
	if err := b.Refresh(ctx); err != nil {
		return nil, err
	}
	b.OnGeneration(v.accept)
	if err := v.checkGeneration(ctx); err != nil {
		return nil, err
	}
	if !store.Sole() {
		v.keys.life, v.boxes.life, v.numbers.life, v.ended.life = sharedCacheLife, sharedCacheLife, sharedCacheLife, sharedCacheLife
	}
	v.sole = store.Sole()
	b.OnDestroyed(func(name string) {
		v.keys.drop(domain.SecretID(name))
		v.boxes.drop(domain.SecretID(name))
		v.erasures.Add(1)
	})
	v.emailRoot, err = v.openEmailRoot(ctx)
	return v, err
}

// sharedCacheLife is how long a value is cached if other nodes may destroy it: for that time it may
// still open here.
const sharedCacheLife = 2 * time.Second

// Erasures returns a number that changes when a value is destroyed. A caller that keeps opened
// personal data compares the number with the one before it opened the data, and drops the data if
// they differ. If other nodes may destroy keys, the number also changes every 2 s.
func (v *Store) Erasures() uint64 {
	n := v.erasures.Load()
	if !v.sole {
		n += uint64(v.now().UnixNano()/int64(sharedCacheLife)) << 32
	}
	return n
}

// remember caches a value, unless the value is stale or was destroyed meanwhile. stale may be nil.
func remember[V any](v *Store, in *valueCache[V], name domain.SecretID, value V, stale func() bool) error {
	in.putUnless(name, value, v.now(), stale)
	there, err := v.bytes.Stands(string(name))
	if !there || err != nil {
		in.drop(name)
	}
	return err
}

// Create stores plain under a new name; eventstore.ErrConflict if the name has a value.
func (v *Store) Create(ctx context.Context, name domain.SecretID, plain []byte) error {
	for {
		generation, key, err := v.sealing()
		if err != nil {
			return err
		}
		box, err := seal(key, v.random, string(name), plain)
		if err != nil {
			return err
		}
		if err := v.bytes.CreateSealed(ctx, generation, string(name), box); !errors.Is(err, secretlog.ErrGeneration) {
			return err
		}
	}
}

// ensure returns the value of a name. If there is none, ensure stores the result of made, and
// created is true. If another process is faster, that process's value counts.
func (v *Store) ensure(ctx context.Context, name domain.SecretID, made func() ([]byte, error)) (value []byte, created bool, err error) {
	for {
		if value, err = v.Get(ctx, name); !errors.Is(err, ErrGone) {
			return value, false, err
		}
		if value, err = made(); err != nil {
			return nil, false, err
		}
		if err = v.Create(ctx, name, value); !errors.Is(err, eventstore.ErrConflict) {
			return value, true, err
		}
	}
}

func (v *Store) newKey() ([]byte, error) {
	k, err := NewKey(v.random)
	if err != nil {
		return nil, fmt.Errorf("secrets: random: %w", err)
	}
	return k[:], nil
}

// Get decrypts the value of a name; ErrGone if it has none.
func (v *Store) Get(ctx context.Context, name domain.SecretID) ([]byte, error) {
	box, err := v.read(ctx, name)
	if err != nil {
		return nil, err
	}
	return v.ring.open(string(name), box)
}

// read returns the box of a name; ErrGone if there is none, ServiceUnavailable if the box cannot be
// read now.
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

// Destroy overwrites the value on the disk. A repeat is safe.
func (v *Store) Destroy(ctx context.Context, name domain.SecretID) error {
	return v.bytes.Destroy(ctx, string(name))
}

// destroySpent destroys the values whose names begin with a prefix, and that spent reports, one by
// one. It returns their number.
func (v *Store) destroySpent(ctx context.Context, prefix string, spent func(domain.SecretID) (bool, error)) (destroyed int, err error) {
	names, err := v.bytes.Names(ctx, prefix)
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		ends, err := spent(domain.SecretID(name))
		if err == nil && ends {
			err = v.Destroy(ctx, domain.SecretID(name))
		}
		if err != nil {
			return destroyed, err
		}
		if ends {
			destroyed++
		}
	}
	return destroyed, nil
}
