package secrets

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"payledger/domain"
)

// CleanInterval is the interval of Clean, by the cleaner (package recovery): with epochs of a
// minute, a card is unreadable 2.5 minutes after its outcome at most, or 2.5 minutes after the
// start of the only process.
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

// epochCards are the cards of an epoch.
type epochCards struct {
	names []domain.SecretID
	keyed bool // the epoch's key stands
	mark  mark // of the key
	aged  bool // the key has stood for keyAge
}

func (v *Store) cleanEpochs(ctx context.Context, now time.Time, needed Needed) (int, error) {
	if err := v.bytes.Refresh(ctx); err != nil {
		return 0, err
	}
	through := v.bytes.End() // later cards stay: they may be under another key of their epoch
	cards, err := v.epochs(ctx)
	errs := []error{err}
	destroyed := 0
	for e, all := range cards {
		if !e.over(now) || all.keyed && !all.aged {
			continue
		}
		kept, unjudged, err := v.keepNeeded(ctx, now, all.names, needed)
		errs = append(errs, unjudged)
		var more bool
		if more, err = v.changed(ctx, e, all, err); more { // a node whose clock is behind uses the epoch: the next run looks again
			continue
		}
		if err == nil {
			err = v.endEpoch(ctx, e, all, through)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		destroyed += len(all.names) - kept
	}
	return destroyed, errors.Join(errs...)
}

// epochs returns the early cards by epoch, without the epochs whose key cannot be read, and the
// errors of these. The cards are read before the keys: a card without a key is unreadable.
func (v *Store) epochs(ctx context.Context) (map[epoch]*epochCards, error) {
	names, err := v.bytes.Names(ctx, kindCard)
	if err != nil {
		return nil, err
	}
	keys, err := v.bytes.Names(ctx, kindCardKey)
	if err != nil {
		return nil, err
	}
	cards := map[epoch]*epochCards{}
	for _, name := range names {
		e := epochOf(domain.SecretID(name))
		if cards[e] == nil {
			cards[e] = &epochCards{}
		}
		cards[e].names = append(cards[e].names, domain.SecretID(name))
	}
	var errs []error
	marks := map[epoch]mark{}
	for _, name := range keys {
		e := epochOf(domain.SecretID(name))
		key, err := v.dataKey(ctx, e.key(), false)
		switch {
		case errors.Is(err, ErrGone): // destroyed meanwhile
			continue
		case err != nil:
			errs = append(errs, err)
			delete(cards, e)
			continue
		case cards[e] == nil: // an epoch without cards may still have its key
			cards[e] = &epochCards{}
		}
		cards[e].keyed, cards[e].mark, marks[e] = true, key.mark, key.mark
	}
	for e := range v.standing.aged(v.elapsed(), marks) {
		cards[e].aged = true
	}
	return cards, errors.Join(errs...)
}

// changed reports whether the epoch has other cards than those that were judged, or another key:
// another node stored a card meanwhile, or ended the epoch. It passes an error on.
func (v *Store) changed(ctx context.Context, e epoch, judged *epochCards, err error) (bool, error) {
	if err != nil || !judged.keyed {
		return false, err
	}
	names, err := v.bytes.Names(ctx, e.prefix())
	if err != nil {
		return false, err
	}
	key, _, err := v.readKey(ctx, e.key(), false)
	if errors.Is(err, ErrGone) {
		return true, nil
	}
	return err == nil && (key.mark != judged.mark || len(names) != len(judged.names)), err
}

// endEpoch destroys the epoch's key, so that its cards are unreadable, and then purges the cards up
// to a place in the stream.
func (v *Store) endEpoch(ctx context.Context, e epoch, all *epochCards, through uint64) error {
	if all.keyed {
		if err := v.Destroy(ctx, e.key()); err != nil {
			return err
		}
	}
	if len(all.names) == 0 {
		return nil
	}
	return v.bytes.Purge(ctx, e.prefix(), through)
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

// keyAge is the time for which this process must have seen an epoch's key before it ends the epoch.
// The node that creates the key does so in the epoch by its own clock, and stores no card of the
// epoch when the epoch and the timeout of a write are over. Both take less than keyAge. A node
// whose clock is behind that one's may use the key longer: changed finds most of its cards. keyAge
// ends between two runs of Clean, so that a run that is late by a moment does not wait for the next
// one.
const keyAge = 2*epochLength - CleanInterval/2

// standing remembers since when this process has seen the keys of epochs.
type standing struct {
	mu   sync.Mutex
	keys map[epoch]seenKey
}

type seenKey struct {
	mark  mark
	since time.Duration // of Store.elapsed
}

// elapsed is the time since the store was opened, by a clock that nobody sets.
func (v *Store) elapsed() time.Duration {
	return time.Since(v.opened) + time.Duration(v.skipped.Load())
}

// Skip makes the store's keys older, for tests.
func (v *Store) Skip(by time.Duration) { v.skipped.Add(int64(by)) }

// aged notes the keys that stand now, and returns the epochs of those that have stood for keyAge.
// It forgets other keys: an epoch's key may be created anew.
func (s *standing) aged(now time.Duration, marks map[epoch]mark) map[epoch]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	keys, aged := map[epoch]seenKey{}, map[epoch]bool{}
	for e, m := range marks {
		seen, known := s.keys[e]
		if !known || seen.mark != m {
			seen = seenKey{m, now}
		}
		if keys[e] = seen; now-seen.since >= keyAge {
			aged[e] = true
		}
	}
	s.keys = keys
	return aged
}
