package secrets

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/eventstore/codec"
)

// A card that was just entered is encrypted under the key of its minute, and the keys of minutes that are
// over are destroyed with everything that is needed no more: see Janitor. A card that is still needed then
// is kept by itself and destroyed by itself.
const (
	kindCard     = "card"      // card.<epoch>.<account>.<token>
	kindCardKey  = "card-key"  // card-key.<epoch>
	kindLateCard = "late-card" // late-card.<account>.<token>

	// epochLength is how long one key serves for new cards.
	epochLength = time.Minute
)

// CardRef names a card by its token and the time of its instrument.tokenized event.
type CardRef struct {
	Account     domain.AccountID
	Token       domain.Token
	TokenizedAt time.Time
}

type epoch int64

func epochAt(t time.Time) epoch { return epoch(t.Unix() / int64(epochLength/time.Second)) }

func (e epoch) String() string { return strconv.FormatInt(int64(e), 10) }

// over reports whether no write of a card of e can still be under way at now: a whole epoch lies between, far longer than
// a write may take. An epoch as far ahead is over, too: the clock was set back since.
func (e epoch) over(now time.Time) bool { return (e - epochAt(now)).abs() > 1 }

func (e epoch) abs() epoch { return max(e, -e) }

func (e epoch) key() domain.SecretID { return domain.SecretID(kindCardKey + "." + e.String()) }

func (e epoch) prefix() string { return kindCard + "." + e.String() }

func (r CardRef) name() domain.SecretID {
	return domain.SecretID(strings.Join([]string{epochAt(r.TokenizedAt).prefix(), string(r.Account), string(r.Token)}, "."))
}

func (r CardRef) lateName() domain.SecretID {
	return domain.SecretID(strings.Join([]string{kindLateCard, string(r.Account), string(r.Token)}, "."))
}

// storedCard is a card with the time from which nobody may start to use it: its token's end.
type storedCard struct {
	processor.Card
	ExpiresAt time.Time `json:"expiresAt"`
}

// PutCard stores a card until its token expires. A payment that began to use it may use it until its outcome (Needed).
func (v *Store) PutCard(ctx context.Context, ref CardRef, card processor.Card, expires time.Time) error {
	plain, err := codec.Marshal(storedCard{card, expires})
	if err != nil {
		return fmt.Errorf("secrets: card: %w", err)
	}
	e := epochAt(ref.TokenizedAt)
	for {
		key, err := v.dataKey(ctx, e.key(), true)
		if err != nil {
			return err
		}
		box, err := key.seal(v.random, string(ref.name()), plain)
		if err != nil {
			return err
		}
		if err := v.bytes.CreateIn(ctx, e.prefix(), string(ref.name()), box); err != nil {
			return err
		}
		now, err := v.dataKey(ctx, e.key(), true)
		if err != nil {
			return err
		}
		if now.mark == key.mark {
			return remember(v, &v.boxes, ref.name(), box)
		}
		if err := v.Destroy(ctx, ref.name()); err != nil { // a node whose clock is ahead ended the epoch before: once more, under its new key
			return err
		}
	}
}

// Card opens a card for what began at a time: as it was entered, if its token had not expired then and it is there, else
// the vaulted one, which has no CVV; ErrGone when there is neither. A reference without its time means the vaulted one.
func (v *Store) Card(ctx context.Context, ref CardRef, began time.Time) (processor.Card, error) {
	card, err := storedCard{}, ErrGone
	if !ref.TokenizedAt.IsZero() {
		card, err = v.entered(ctx, ref)
	}
	if err == nil && !began.Before(card.ExpiresAt) {
		err = ErrGone
	}
	if errors.Is(err, ErrGone) {
		return decoded[processor.Card](ctx, v, ref.keptName())
	}
	return card.Card, err
}

func (v *Store) entered(ctx context.Context, ref CardRef) (storedCard, error) {
	card, err := v.earlyCard(ctx, ref.name())
	if errors.Is(err, ErrGone) {
		card, err = decoded[storedCard](ctx, v, ref.lateName())
	}
	return card, err
}

func (v *Store) earlyCard(ctx context.Context, name domain.SecretID) (storedCard, error) {
	var card storedCard
	box, here := v.boxes.get(name, v.now())
	if !here {
		var err error
		if box, err = v.read(ctx, name); err != nil {
			return card, err
		}
	}
	key, err := v.dataKey(ctx, epochOf(name).key(), false)
	if err != nil {
		return card, err
	}
	plain, err := key.open(string(name), box)
	if err != nil {
		return card, err
	}
	return card, codec.Unmarshal(plain, &card)
}

// epochOf reads the epoch back from a card's name.
func epochOf(name domain.SecretID) epoch {
	parts := strings.Split(string(name), ".")
	if len(parts) < 2 {
		return 0
	}
	n, _ := strconv.ParseInt(parts[1], 10, 64) // 0 names no epoch: nothing is found there
	return epoch(n)
}

// DestroyCard ends the use of a card that has its outcome. A card with a value of its own is overwritten at once, unless it
// is still needed. A new card becomes unreadable with its epoch's key, which Janitor destroys within two minutes.
func (v *Store) DestroyCard(ctx context.Context, ref CardRef, now time.Time, needed Needed) error {
	v.boxes.drop(ref.name())
	if !epochAt(ref.TokenizedAt).over(now) {
		return nil
	}
	until, err := needed(ctx, ref.Account, ref.Token, now)
	if err != nil || now.Before(until) {
		return err
	}
	return v.Destroy(ctx, ref.lateName())
}
