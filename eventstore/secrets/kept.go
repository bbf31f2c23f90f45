package secrets

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/codec"
)

// kindKept is the kind of vaulted cards: kept-card.<account>.<token>. They have no CVV and no
// expiry.
const kindKept = "kept-card"

func (r CardRef) keptName() domain.SecretID {
	return domain.SecretID(strings.Join([]string{kindKept, string(r.Account), string(r.Token)}, "."))
}

// storedKept is a vaulted card. Sealed is the card under its customer's key, after sealedMark. A
// value without the mark is of an older version: a card in clear, or Sealed.
type storedKept struct {
	processor.Card
	Sealed *domain.Sealed `json:"sealed,omitempty"`
}

// sealedMark is the first byte of a vaulted card that is sealed under its customer's key. No value
// of the codec begins with it, so that a node of a version that does not know such cards refuses
// the value; without the mark that node read a card without a number.
const sealedMark = 0xc1

// readKept decodes a vaulted card. A card in clear without a number is an error: such a card must
// never be sent to a processor.
func readKept(stored []byte) (kept storedKept, err error) {
	if text, marked := bytes.CutPrefix(stored, []byte{sealedMark}); marked {
		var sealed domain.Sealed
		err = codec.Unmarshal(text, &sealed)
		return storedKept{Sealed: &sealed}, err
	}
	if err = codec.Unmarshal(stored, &kept); err == nil && kept.Sealed == nil && kept.Absent() {
		err = errNoNumber
	}
	return kept, err
}

// errNoNumber means that a stored card has neither a number nor a processor's token. It is not
// ErrGone, which would end the token.
var errNoNumber = errors.New("secrets: a stored card has no number")

// KeepCard copies an entered card, without its CVV, to a vaulted card, which stays until
// DestroyKept. It is sealed under the newest of the customer's keys, and then under the master key:
// with the customer's key it becomes unreadable. owner is a name from PersonalKeyName. The token
// may have expired since the vaulting was recorded. A repeat is safe. The error is ErrGone if the
// entered card no longer exists.
func (v *Store) KeepCard(ctx context.Context, ref CardRef, owner domain.SecretID) error {
	stands, err := v.bytes.Stands(string(ref.keptName()))
	if err != nil {
		return fmt.Errorf("secrets: %w", err)
	}
	if kept, err := v.Kept(ctx, ref); kept || err != nil {
		return err
	}
	if stands { // under a key that is destroyed
		if err := v.DestroyKept(ctx, ref); err != nil {
			return err
		}
	}
	entered, err := v.enteredCard(ctx, ref)
	if errors.Is(err, ErrGone) { // another process may have copied and destroyed the card just now
		if kept, keptErr := v.Kept(ctx, ref); kept || keptErr != nil {
			return keptErr
		}
	}
	if err != nil {
		return err
	}
	card := entered.Card
	card.CVV = ""
	plain, err := codec.Marshal(card)
	if err != nil {
		return fmt.Errorf("secrets: card: %w", err)
	}
	return v.createOwned(ctx, ref.keptName(), owner, plain)
}

// createOwned stores a value under the newest of its customer's keys, unless there is one.
func (v *Store) createOwned(ctx context.Context, name, owner domain.SecretID, plain []byte) error {
	for {
		number, err := v.createKept(ctx, name, owner, plain)
		if err != nil {
			return err
		}
		_, now, err := v.newestKey(ctx, owner)
		if err != nil || now == number {
			return err
		}
		if err := v.Destroy(ctx, name); err != nil { // the customer was erased meanwhile: repeat under the next key
			return err
		}
	}
}

// createKept stores a vaulted card, or its tokens, under the newest of its customer's keys, and
// returns the key's number.
func (v *Store) createKept(ctx context.Context, name, owner domain.SecretID, plain []byte) (number uint64, err error) {
	key, number, err := v.newestKey(ctx, owner)
	if err != nil {
		return 0, err
	}
	box, err := key.seal(v.random, string(numbered(owner, number))+keptLabel(name), plain)
	if err != nil {
		return 0, err
	}
	stored, err := codec.Marshal(domain.Sealed{Key: owner, KeyNumber: boxNumber(number), Box: box})
	if err != nil {
		return 0, fmt.Errorf("secrets: card: %w", err)
	}
	// Another process copied the card.
	if err := v.Create(ctx, name, append([]byte{sealedMark}, stored...)); !errors.Is(err, eventstore.ErrConflict) {
		return number, err
	}
	return number, nil
}

// keptLabel is part of the additional data of a vaulted card under its customer's key: the box
// belongs to its token.
func keptLabel(name domain.SecretID) string { return " " + string(name) }

// keptCard returns a vaulted card, whose box it caches: a vaulted card pays again and again.
// ErrGone if there is none, or if its customer was erased.
func (v *Store) keptCard(ctx context.Context, name domain.SecretID) (processor.Card, error) {
	stored, err := v.cached(ctx, name)
	if err != nil {
		return processor.Card{}, err
	}
	return v.openKept(ctx, name, stored)
}

// cached is Get with a cache of the boxes.
func (v *Store) cached(ctx context.Context, name domain.SecretID) ([]byte, error) {
	if box, here := v.boxes.get(name, v.now()); here {
		if plain, err := v.ring.open(string(name), box); err == nil { // else a rotation of the master key has replaced the box
			return plain, nil
		}
	}
	box, err := v.read(ctx, name)
	if err != nil {
		return nil, err
	}
	plain, err := v.ring.open(string(name), box)
	if err != nil {
		return nil, err
	}
	return plain, remember(v, &v.boxes, name, box, nil)
}

func (v *Store) openKept(ctx context.Context, name domain.SecretID, stored []byte) (card processor.Card, err error) {
	kept, err := readKept(stored)
	if err != nil || kept.Sealed == nil {
		return kept.Card, err
	}
	plain, err := v.openOwned(ctx, name, *kept.Sealed)
	if err != nil {
		return card, err
	}
	if err = codec.Unmarshal(plain, &card); err == nil && card.Absent() {
		err = errNoNumber
	}
	return card, err
}

// openOwned decrypts a value that createOwned stored; ErrGone if its customer was erased.
func (v *Store) openOwned(ctx context.Context, name domain.SecretID, sealed domain.Sealed) ([]byte, error) {
	key, err := v.personKey(ctx, sealed.Key, sealed.KeyNumber)
	if err != nil {
		return nil, err
	}
	return key.open(string(numbered(sealed.Key, sealed.KeyNumber))+keptLabel(name), sealed.Box)
}

// Kept reports whether the vaulted card exists and can be read.
func (v *Store) Kept(ctx context.Context, ref CardRef) (bool, error) {
	_, err := v.keptCard(ctx, ref.keptName())
	if errors.Is(err, ErrGone) {
		return false, nil
	}
	return err == nil, err
}

// DestroyKept destroys vaulted cards, and the processors' tokens of them, with few messages. A card
// whose customer's key is destroyed cannot be read any more: the server only removes it. The others
// are overwritten one by one, and each rewrites a file of the stream. A repeat is safe.
func (v *Store) DestroyKept(ctx context.Context, refs ...CardRef) error {
	if err := v.bytes.Refresh(ctx); err != nil {
		return fmt.Errorf("secrets: %w", err)
	}
	var whole, unreadable []string
	gone := map[domain.SecretID]bool{} // by the name of a customer's key
	for _, name := range keptNames(refs) {
		switch there, err := v.bytes.Stands(string(name)); {
		case err != nil:
			return err
		case !there:
			whole = append(whole, string(name)) // a destruction that was cut short is completed
			continue
		}
		stored, err := v.Get(ctx, name)
		if errors.Is(err, ErrGone) {
			continue
		}
		if err != nil {
			return err
		}
		kept, err := readKept(stored)
		switch {
		case err != nil && !errors.Is(err, errNoNumber):
			return err
		case kept.Sealed == nil:
			whole = append(whole, string(name))
			continue
		}
		key := numbered(kept.Sealed.Key, kept.Sealed.KeyNumber)
		destroyed, known := gone[key]
		if !known {
			there, err := v.HasKey(ctx, kept.Sealed.Key, kept.Sealed.KeyNumber)
			if err != nil {
				return err
			}
			destroyed = !there
			gone[key] = destroyed
		}
		if destroyed {
			unreadable = append(unreadable, string(name))
		} else {
			whole = append(whole, string(name))
		}
	}
	if err := v.bytes.Destroy(ctx, whole...); err != nil || len(unreadable) == 0 {
		return err
	}
	return v.bytes.Remove(ctx, unreadable...)
}
