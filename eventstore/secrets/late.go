package secrets

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/eventstore/codec"
)

// A late card is a card that is needed after its minute. Late cards whose tokens expire in the same
// minute are encrypted under one key, the late key of this minute. One overwrite of the key, within
// 2.5 minutes after the minute, makes all of them unreadable. Overwriting the cards one by one
// rewrites a file of the stream for each: 250 took 0.45 s of CPU, 2,000 took 7.5 s. A card that has
// paid is overwritten at once. A card that is needed longer, for a payment without an outcome,
// first gets a value of its own, which is overwritten later.
const (
	kindLateCard = "late-card" // late-card.<account>.<token>; of a card of its own: late-card.<account>.<token>.own
	kindLateKey  = "late-key"  // late-key.<epoch of the expiry>

	ownSuffix = ".own"
)

func (r CardRef) lateName() domain.SecretID {
	return domain.SecretID(strings.Join([]string{kindLateCard, string(r.Account), string(r.Token)}, "."))
}

func (r CardRef) ownName() domain.SecretID { return r.lateName() + ownSuffix }

func (e epoch) lateKey() domain.SecretID { return domain.SecretID(kindLateKey + "." + e.String()) }

// expired reports whether the tokens that expire in e have expired for all nodes, whose clocks
// differ by less than a minute.
func (e epoch) expired(now time.Time) bool { return e < epochAt(now)-1 }

// lateCard is a card under a late key, after sealedMark. A late card without the mark is a card of
// its own.
type lateCard struct {
	Epoch epoch  `json:"epoch"`
	Box   []byte `json:"box"`
}

// putLate stores a late card. A card whose token expires soon is a card of its own.
func (v *Store) putLate(ctx context.Context, ref CardRef, card storedCard, now time.Time) error {
	if !card.ExpiresAt.After(now.Add(3 * epochLength)) {
		return v.putOwn(ctx, ref.lateName(), card)
	}
	plain, err := codec.Marshal(card)
	if err != nil {
		return fmt.Errorf("secrets: card: %w", err)
	}
	late := lateCard{Epoch: epochAt(card.ExpiresAt)}
	key, err := v.dataKey(ctx, late.Epoch.lateKey(), true)
	if err != nil {
		return err
	}
	if late.Box, err = key.seal(v.random, string(ref.lateName()), plain); err != nil {
		return err
	}
	stored, err := codec.Marshal(late)
	if err != nil {
		return fmt.Errorf("secrets: card: %w", err)
	}
	return unlessThere(v.Create(ctx, ref.lateName(), append([]byte{sealedMark}, stored...)))
}

func (v *Store) putOwn(ctx context.Context, name domain.SecretID, card storedCard) error {
	plain, err := codec.Marshal(card)
	if err != nil {
		return fmt.Errorf("secrets: card: %w", err)
	}
	return unlessThere(v.Create(ctx, name, plain))
}

// unlessThere returns the error of a Create, but none if another process stored the value.
func unlessThere(err error) error {
	if errors.Is(err, eventstore.ErrConflict) {
		return nil
	}
	return err
}

// readLate returns a late card, and the epoch of its late key, also if the key is destroyed:
// ErrGone. The epoch of a card of its own is 0.
func (v *Store) readLate(ctx context.Context, name domain.SecretID) (card storedCard, under epoch, err error) {
	stored, err := v.Get(ctx, name)
	if err != nil {
		return card, 0, err
	}
	text, marked := bytes.CutPrefix(stored, []byte{sealedMark})
	if !marked {
		return card, 0, codec.Unmarshal(stored, &card)
	}
	var late lateCard
	if err := codec.Unmarshal(text, &late); err != nil {
		return card, 0, err
	}
	key, err := v.dataKey(ctx, late.Epoch.lateKey(), false)
	if err != nil {
		return card, late.Epoch, err
	}
	plain, err := key.open(string(name), late.Box)
	if err != nil {
		return card, late.Epoch, err
	}
	return card, late.Epoch, codec.Unmarshal(plain, &card)
}

// destroyLate overwrites a late card.
func (v *Store) destroyLate(ctx context.Context, ref CardRef) error {
	return v.bytes.Destroy(ctx, string(ref.lateName()), string(ref.ownName()))
}

// underKey are the cards under a late key.
type underKey struct {
	needed []neededCard
	spent  []string // names
}

type neededCard struct {
	ref  CardRef
	card storedCard
}

// cleanLate destroys the late cards that are no longer needed: those under the key of an expired
// minute together, and others one by one.
func (v *Store) cleanLate(ctx context.Context, now time.Time, needed Needed) (destroyed int, err error) {
	keys, err := v.bytes.Names(ctx, kindLateKey)
	if err != nil {
		return 0, err
	}
	names, err := v.bytes.Names(ctx, kindLateCard)
	if err != nil {
		return 0, err
	}
	under := map[epoch]*underKey{}
	for _, key := range keys { // an epoch without cards may still have its key
		under[epochOf(domain.SecretID(key))] = &underKey{}
	}
	var unreadable []string
	var errs []error
	for _, name := range names {
		parts := strings.Split(strings.TrimSuffix(name, ownSuffix), ".") // late-card.<account>.<token>
		if len(parts) != 3 {
			continue
		}
		ref := CardRef{Account: domain.AccountID(parts[1]), Token: domain.Token(parts[2])}
		card, of, err := v.readLate(ctx, domain.SecretID(name))
		switch {
		case errors.Is(err, ErrGone) && of != 0: // an earlier run destroyed the key
			unreadable = append(unreadable, name)
			continue
		case errors.Is(err, ErrGone):
			continue
		case err != nil: // its key must stay
			errs = append(errs, err)
			if delete(under, of); of == 0 { // it may be any
				clear(under)
			}
			continue
		}
		until, err := needed(ctx, ref.Account, ref.Token, card.ExpiresAt)
		errs = append(errs, err)
		spent := err == nil && !now.Before(until) // else it gets a value of its own when its key ends
		switch all := under[of]; {
		case all != nil && spent && !now.Before(card.ExpiresAt): // with its key
			all.spent = append(all.spent, name)
		case all != nil && !spent:
			all.needed = append(all.needed, neededCard{ref, card})
		case spent:
			if err := v.Destroy(ctx, domain.SecretID(name)); err != nil {
				errs = append(errs, err)
				continue
			}
			destroyed++
		}
	}
	for e, all := range under {
		ended, err := v.endLate(ctx, e, all, now)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if unreadable = append(unreadable, ended...); len(ended) > 0 {
			destroyed += len(all.spent)
		}
	}
	if len(unreadable) > 0 {
		errs = append(errs, v.bytes.Remove(ctx, unreadable...))
	}
	return destroyed, errors.Join(errs...)
}

// endLate destroys the late key of an expired epoch, after the cards that are still needed have
// values of their own. It returns the names of the cards, which nobody can read any more.
func (v *Store) endLate(ctx context.Context, e epoch, all *underKey, now time.Time) (ended []string, err error) {
	if !e.expired(now) {
		return nil, nil
	}
	for _, n := range all.needed {
		if err := v.putOwn(ctx, n.ref.ownName(), n.card); err != nil {
			return nil, err
		}
		ended = append(ended, string(n.ref.lateName()))
	}
	return append(ended, all.spent...), v.Destroy(ctx, e.lateKey())
}
