package secrets

import (
	"context"
	"errors"
	"strings"
	"time"

	"payledger/domain"
)

// JanitorInterval is the interval of Clean: with epochs of a minute, a card is unreadable 2.5 minutes after its outcome at most.
const JanitorInterval = 30 * time.Second

// Needed returns the time until which a token's card may have to be sent to a processor, given the token's expiry. A card that is not
// needed after now is destroyed. Before Needed returns such a time, it completes the remaining work with the card.
type Needed func(ctx context.Context, account domain.AccountID, token domain.Token, expires time.Time) (until time.Time, err error)

// Clean destroys the cards that are no longer needed: the outcome is known, or the client token of an unused card has expired. One
// overwrite makes all cards of a minute unreadable (card.go), without a copy of each block. It may be repeated, and returns their number.
func (v *Store) Clean(ctx context.Context, now time.Time, needed Needed) (int, error) {
	early, err := v.cleanEpochs(ctx, now, needed)
	if err != nil {
		return early, err
	}
	late, err := v.cleanLate(ctx, now, needed)
	return early + late, err
}

func (v *Store) cleanEpochs(ctx context.Context, now time.Time, needed Needed) (int, error) {
	names, err := v.bytes.Names(ctx, kindCard)
	if err != nil {
		return 0, err
	}
	keys, err := v.bytes.Names(ctx, kindCardKey)
	if err != nil {
		return 0, err
	}
	cards := map[epoch][]domain.SecretID{}
	for _, key := range keys { // an epoch without cards may still have its key
		cards[epochOf(domain.SecretID(key))] = nil
	}
	for _, name := range names {
		e := epochOf(domain.SecretID(name))
		cards[e] = append(cards[e], domain.SecretID(name))
	}
	destroyed := 0
	for e, names := range cards {
		if !e.over(now) {
			continue
		}
		kept, err := v.keepNeeded(ctx, now, names, needed)
		if err != nil {
			return destroyed, err
		}
		if err := v.endEpoch(ctx, e, names); err != nil {
			return destroyed, err
		}
		destroyed += len(names) - kept
	}
	return destroyed, nil
}

// endEpoch destroys the epoch's key, so that its cards are unreadable, and then purges the cards.
func (v *Store) endEpoch(ctx context.Context, e epoch, names []domain.SecretID) error {
	if err := v.Destroy(ctx, e.key()); err != nil {
		return err
	}
	if len(names) == 0 {
		return nil
	}
	return v.bytes.Purge(ctx, e.prefix())
}

// keepNeeded copies each card that is still needed to a late card.
func (v *Store) keepNeeded(ctx context.Context, now time.Time, names []domain.SecretID, needed Needed) (int, error) {
	kept := 0
	for _, name := range names {
		parts := strings.Split(string(name), ".") // card.<epoch>.<account>.<token>
		if len(parts) != 4 {
			continue
		}
		ref := CardRef{Account: domain.AccountID(parts[2]), Token: domain.Token(parts[3])}
		card, err := v.earlyCard(ctx, name)
		if errors.Is(err, ErrGone) {
			continue // an earlier run copied the needed cards and destroyed the key
		}
		if err != nil {
			return kept, err
		}
		until, err := needed(ctx, ref.Account, ref.Token, card.ExpiresAt)
		if err != nil {
			return kept, err
		}
		if !now.Before(until) {
			continue
		}
		if err := v.putLate(ctx, ref, card, now); err != nil {
			return kept, err
		}
		kept++
	}
	return kept, nil
}
