package secrets

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"payledger/domain"
	"payledger/domain/person"
	"payledger/eventstore"
)

// The kinds of keys of persons. Ids in names are tokens of the log's own making; a customer's id is the merchant's text and
// enters as a hash.
const (
	kindCustomer = "customer-key"
	kindSession  = "session-key"
)

// PersonalKeyName names the keys of a person: the customer, or the guest of a checkout session.
func PersonalKeyName(account domain.AccountID, customerID string, session domain.SessionID) domain.SecretID {
	if customerID != "" {
		return domain.SecretID(strings.Join([]string{kindCustomer, string(account), hashName(account, customerID)}, "."))
	}
	return domain.SecretID(strings.Join([]string{kindSession, string(account), string(session)}, "."))
}

// accountOf is the account in a name that PersonalKeyName made.
func accountOf(key domain.SecretID) domain.AccountID {
	_, rest, _ := strings.Cut(string(key), ".")
	account, _, _ := strings.Cut(rest, ".")
	return domain.AccountID(account)
}

// numbered names the value of a key with a number; the first key has no number in its name.
func numbered(key domain.SecretID, number uint64) domain.SecretID {
	if number <= 1 {
		return key
	}
	return key + "." + domain.SecretID(strconv.FormatUint(number, 10))
}

// boxNumber is a number of a key as domain.Sealed has it.
func boxNumber(number uint64) uint64 {
	if number <= 1 {
		return 0
	}
	return number
}

// person returns the erasures of the person whose keys have a name.
func (v *Store) person(ctx context.Context, key domain.SecretID, consistency eventstore.Consistency) (person.State, error) {
	tip, err := v.persons.Load(ctx, accountOf(key), domain.PersonIDFor(key), consistency)
	return tip.State, err
}

// personKey returns the key that sealed something; ErrGone if it was erased, even if it is not destroyed yet. A key in memory
// needs no look at the erasures: Forget drops it.
func (v *Store) personKey(ctx context.Context, key domain.SecretID, number uint64) (dataKey, error) {
	number = max(number, 1)
	name := numbered(key, number)
	if ready, ok := v.keys.get(name, v.now()); ok {
		return ready, nil
	}
	ready, err := v.dataKey(ctx, name, false)
	if err != nil {
		return ready, err
	}
	return ready, v.unlessErased(ctx, key, number, eventstore.AllowStale)
}

// unlessErased returns ErrGone for an erased key, and forgets it.
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

// newestKey returns the key for a person's new data, with its number. It makes the key at first use. An erasure that comes in
// between wins: a key that was made for an erased number is destroyed, and the next number is used.
func (v *Store) newestKey(ctx context.Context, key domain.SecretID) (dataKey, uint64, error) {
	if number, ok := v.numbers.get(key, v.now()); ok {
		if ready, ok := v.keys.get(numbered(key, number), v.now()); ok {
			return ready, number, nil
		}
	}
	for {
		of, err := v.person(ctx, key, eventstore.AllowStale)
		if err != nil {
			return dataKey{}, 0, err
		}
		number := of.Number()
		name := numbered(key, number)
		there, err := v.bytes.Stands(string(name))
		if err != nil {
			return dataKey{}, 0, err
		}
		ready, err := v.dataKey(ctx, name, true)
		if err != nil {
			return dataKey{}, 0, err
		}
		v.numbers.put(key, number, v.now())
		consistency := eventstore.AllowStale
		if !there {
			consistency = eventstore.Latest // another node may have erased the number, and the key is made anew
		}
		err = v.unlessErased(ctx, key, number, consistency)
		if errors.Is(err, ErrGone) {
			if err = v.Destroy(ctx, name); err == nil {
				continue
			}
		}
		return ready, number, err
	}
}

// Forget drops the key of a number from memory, because it was erased. Every node calls it for every erasure.
func (v *Store) Forget(key domain.SecretID, number uint64) {
	v.numbers.drop(key)
	v.keys.drop(numbered(key, number))
}

// HasKey reports whether a person has a key of a number.
func (v *Store) HasKey(ctx context.Context, key domain.SecretID, number uint64) (bool, error) {
	_, err := v.read(ctx, numbered(key, number))
	if errors.Is(err, ErrGone) {
		return false, nil
	}
	return err == nil, err
}

// PersonKeys are the keys of a person up to a number.
type PersonKeys struct {
	Name    domain.SecretID
	Through uint64
}

// DestroyPersons destroys keys of persons, with one record. It is safe to repeat.
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
