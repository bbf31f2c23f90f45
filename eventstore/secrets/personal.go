package secrets

import (
	"context"
	"crypto/cipher"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/eventstore/codec"
)

// Seal encrypts personal data under the newest of the person's keys, and adds the hash of the
// customer's e-mail address. key is a name from PersonalKeyName; the first call creates the key.
// For empty data the result is nil.
func (v *Store) Seal(ctx context.Context, key domain.SecretID, p domain.Personal) (*domain.Sealed, error) {
	if p.Empty() {
		return nil, nil
	}
	return v.SealAlways(ctx, key, p)
}

// SealAlways is Seal that seals empty data, too: the result has the number of the newest key.
func (v *Store) SealAlways(ctx context.Context, key domain.SecretID, p domain.Personal) (*domain.Sealed, error) {
	k, number, err := v.newestKey(ctx, key)
	if err != nil {
		return nil, err
	}
	plain, err := codec.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("secrets: personal data: %w", err)
	}
	box, err := k.seal(v.random, string(numbered(key, number)), plain)
	if err != nil {
		return nil, err
	}
	sealed := &domain.Sealed{Key: key, KeyNumber: boxNumber(number), Box: box}
	if p.Customer != nil {
		sealed.EmailHash, err = v.EmailHash(accountOf(key), p.Customer.Email)
	}
	return sealed, err
}

// Open decrypts personal data. For erased data and for nil the result is empty.
func (v *Store) Open(ctx context.Context, s *domain.Sealed) (domain.Personal, error) {
	var p domain.Personal
	plain, err := v.openSealed(ctx, s, "")
	if plain == nil || err != nil {
		return p, err
	}
	return p, codec.Unmarshal(plain, &p)
}

// openSealed decrypts a person's data with a label; nil for erased data, for nil and for a stale
// read.
func (v *Store) openSealed(ctx context.Context, s *domain.Sealed, label string) (plain []byte, err error) {
	if s == nil || eventstore.Demands(ctx, eventstore.Applied) { // another node may have erased it
		return nil, nil
	}
	k, err := v.personKey(ctx, s.Key, s.KeyNumber)
	if err == nil {
		plain, err = k.open(string(numbered(s.Key, s.KeyNumber))+label, s.Box)
	}
	if errors.Is(err, ErrGone) {
		return nil, nil
	}
	return plain, err
}

// dataKey is a key's cipher, with a mark that distinguishes it from other keys that had, or will
// have, the same name.
type dataKey struct {
	aead cipher.AEAD
	mark mark
}

// mark is the beginning of a key's hash. It reveals nothing about the key.
type mark [4]byte

// seal encrypts data that may outlive the key. The key's mark precedes the box.
func (k dataKey) seal(random io.Reader, name string, plain []byte) ([]byte, error) {
	box, err := seal(k.aead, random, name, plain)
	return append(k.mark[:], box...), err
}

// open is the inverse of seal; ErrGone if an earlier key of the name sealed the data.
func (k dataKey) open(name string, box []byte) ([]byte, error) {
	if len(box) < len(k.mark) {
		return nil, ErrSealed
	}
	if mark(box[:len(k.mark)]) != k.mark {
		return nil, ErrGone
	}
	return open(k.aead, name, box[len(k.mark):])
}

// dataKey returns the key of a minute. With create, it creates a missing key.
func (v *Store) dataKey(ctx context.Context, name domain.SecretID, create bool) (dataKey, error) {
	if ready, ok := v.keys.get(name, v.now()); ok {
		return ready, nil
	}
	ready, _, err := v.readKey(ctx, name, create)
	if err == nil {
		err = remember(v, &v.keys, name, ready, nil)
	}
	return ready, err
}

// readKey reads a key past the cache. With create, it creates a missing key; created reports that
// it did.
func (v *Store) readKey(ctx context.Context, name domain.SecretID, create bool) (ready dataKey, created bool, err error) {
	var stored []byte
	if create {
		stored, created, err = v.ensure(ctx, name, v.newKey)
	} else {
		stored, err = v.Get(ctx, name)
	}
	if err == nil && len(stored) != KeySize {
		err = fmt.Errorf("secrets: a data key of %d bytes", len(stored))
	}
	if err != nil {
		return dataKey{}, false, err
	}
	sum := sha256.Sum256(stored)
	ready.mark = mark(sum[:])
	ready.aead, err = Key(stored).aead()
	return ready, created, err
}
