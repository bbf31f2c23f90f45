package secrets

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"

	"payledger/domain"
	"payledger/domain/person"
	"payledger/eventstore"
)

// The kinds of persons' keys. payledger generates a session id. A customer id is the merchant's
// text: names have its hash.
const (
	kindCustomer = "customer-key"
	kindSession  = "session-key"
)

// PersonalKeyName returns the name of a person's keys. The person is the customer, or the guest of
// a checkout session.
func PersonalKeyName(account domain.AccountID, customerID string, session domain.SessionID) domain.SecretID {
	if customerID != "" {
		sum := sha256.Sum256([]byte(string(account) + "\x00" + customerID))
		return domain.SecretID(strings.Join([]string{kindCustomer, string(account), hex.EncodeToString(sum[:16])}, "."))
	}
	return domain.SecretID(strings.Join([]string{kindSession, string(account), string(session)}, "."))
}

func accountOf(key domain.SecretID) domain.AccountID {
	_, rest, _ := strings.Cut(string(key), ".")
	account, _, _ := strings.Cut(rest, ".")
	return domain.AccountID(account)
}

// numbered returns the name of the key with a number. The first key has no number in its name.
func numbered(key domain.SecretID, number uint64) domain.SecretID {
	if number <= 1 {
		return key
	}
	return key + "." + domain.SecretID(strconv.FormatUint(number, 10))
}

// boxNumber returns a key's number as domain.Sealed holds it.
func boxNumber(number uint64) uint64 {
	if number <= 1 {
		return 0
	}
	return number
}

func (v *Store) person(ctx context.Context, key domain.SecretID, consistency eventstore.Consistency) (person.State, error) {
	tip, err := v.persons.Load(ctx, accountOf(key), domain.PersonIDFor(key), consistency)
	return tip.State, err
}

// personKey returns a person's key with a number; ErrGone if the number was erased, even if the key
// is not destroyed yet. For a cached key the erasures are not read: Forget drops an erased key.
func (v *Store) personKey(ctx context.Context, key domain.SecretID, number uint64) (dataKey, error) {
	number = max(number, 1)
	name := numbered(key, number)
	if ready, ok := v.keys.get(name, v.now()); ok {
		return ready, nil
	}
	moment := v.Moment()
	ready, _, err := v.readKey(ctx, name, false)
	if err != nil {
		return ready, err
	}
	if err := v.unlessErased(ctx, key, number, eventstore.Applied); err != nil {
		return ready, err
	}
	return ready, v.keep(moment, key, number, ready)
}

// unlessErased returns ErrGone for an erased key, and drops the key from memory.
func (v *Store) unlessErased(ctx context.Context, key domain.SecretID, number uint64, consistency eventstore.Consistency) error {
	of, err := v.person(ctx, key, consistency)
	if err == nil && of.HasErased(number) {
		err = ErrGone
	}
	if err != nil {
		v.Forget(key, number)
	}
	return err
}

// newestKey returns the key for a person's new data, with its number. The first call creates the
// key. If the number is erased meanwhile, newestKey destroys the key and uses the next number.
func (v *Store) newestKey(ctx context.Context, key domain.SecretID) (dataKey, uint64, error) {
	if number, ok := v.numbers.get(key, v.now()); ok {
		if ready, ok := v.keys.get(numbered(key, number), v.now()); ok {
			return ready, number, nil
		}
	}
	for {
		moment := v.Moment()
		of, err := v.person(ctx, key, eventstore.Applied)
		if err != nil {
			return dataKey{}, 0, err
		}
		number := of.Number()
		name := numbered(key, number)
		there, err := v.bytes.Stands(string(name))
		if err != nil {
			return dataKey{}, 0, err
		}
		created := false
		ready, cached := v.keys.get(name, v.now())
		if !cached {
			ready, created, err = v.readKey(ctx, name, true)
		}
		if err != nil {
			return dataKey{}, 0, err
		}
		consistency := eventstore.Applied
		if !there || created {
			consistency = eventstore.Latest // another node may have erased the number and destroyed the key
		}
		switch err = v.unlessErased(ctx, key, number, consistency); {
		case err == nil:
			if !cached {
				err = v.keep(moment, key, number, ready)
			}
			if err == nil {
				v.numbers.putUnless(key, number, v.now(), v.erasure(moment, key))
			}
		case errors.Is(err, ErrGone):
			if err = v.Destroy(ctx, name); err == nil {
				continue
			}
		}
		return ready, number, err
	}
}

// keep caches a person's key that was not erased at a moment, unless the person was erased since.
func (v *Store) keep(moment uint64, key domain.SecretID, number uint64, ready dataKey) error {
	return remember(v, &v.keys, numbered(key, number), ready, v.erasure(moment, key))
}

// Forget drops an erased key from memory. Every node calls it for every erasure.
func (v *Store) Forget(key domain.SecretID, number uint64) {
	v.forgotten.add(key) // first: from here on the caches refuse keys that were read before the erasure
	v.numbers.drop(key)
	v.keys.drop(numbered(key, number))
	v.erasures.Add(1)
}

// HasKey reports whether a person has a key with a number.
func (v *Store) HasKey(ctx context.Context, key domain.SecretID, number uint64) (bool, error) {
	_, err := v.read(ctx, numbered(key, number))
	if errors.Is(err, ErrGone) {
		return false, nil
	}
	return err == nil, err
}

// PersonKeys are the keys of a person with the numbers 1 to Through.
type PersonKeys struct {
	Name    domain.SecretID
	Through uint64
}

// DestroyPersons destroys keys of persons, with one record. A repeat is safe.
func (v *Store) DestroyPersons(ctx context.Context, all []PersonKeys) error {
	var names []string
	for _, keys := range all {
		for number := keys.Through; number > 0; number-- {
			names = append(names, string(numbered(keys.Name, number)))
		}
	}
	if err := v.bytes.Destroy(ctx, names...); err != nil {
		return err
	}
	for _, keys := range all {
		for number := keys.Through; number > 0; number-- {
			v.Forget(keys.Name, number)
		}
	}
	return nil
}
