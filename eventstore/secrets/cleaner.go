package secrets

import (
	"context"
	"errors"
	"strings"
	"time"

	"payledger/domain"
)

// CleanInterval is the interval of Clean, by the cleaner (package recovery): with epochs of a
// minute, a card is unreadable 2.5 minutes after its outcome at most.
const CleanInterval = 30 * time.Second

// Needed returns the time until which a token's card may have to be sent to a processor, given the
// token's expiry. A card that is not needed after now is destroyed. Before Needed returns such a
// time, it completes the remaining work with the card.
type Needed func(ctx context.Context, account domain.AccountID, token domain.Token, expires time.Time) (until time.Time, err error)

// Clean destroys the cards that are no longer needed: the outcome is known, or the client token of
// an unused card has expired. One overwrite makes all cards of a minute unreadable (card.go),
// without a copy of each block. It may be repeated, and returns their number. A card that cannot be
// judged, because its shard is damaged, stays, and delays no other one; Clean returns the errors of
// all.
func (v *Store) Clean(ctx context.Context, now time.Time, needed Needed) (int, error) {
	early, earlyErr := v.cleanEpochs(ctx, now, needed)
	late, lateErr := v.cleanLate(ctx, now, needed)
	return early + late, errors.Join(earlyErr, lateErr)
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
	var errs []error
	for e, names := range cards {
		if !e.over(now) {
			continue
		}
		kept, unjudged, err := v.keepNeeded(ctx, now, names, needed)
		errs = append(errs, unjudged)
		if err == nil {
			err = v.endEpoch(ctx, e, names)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		destroyed += len(names) - kept
	}
	return destroyed, errors.Join(errs...)
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

// keepNeeded copies each card that is still needed to a late card, and each card that cannot be
// judged. unjudged are the errors of these.
func (v *Store) keepNeeded(ctx context.Context, now time.Time, names []domain.SecretID, needed Needed) (kept int, unjudged, err error) {
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
			return kept, unjudged, err
		}
		until, err := needed(ctx, ref.Account, ref.Token, card.ExpiresAt)
		unjudged = errors.Join(unjudged, err)
		if err == nil && !now.Before(until) {
			continue
		}
		if err := v.putLate(ctx, ref, card, now); err != nil {
			return kept, unjudged, err
		}
		kept++
	}
	return kept, unjudged, nil
}
