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

// A new card is encrypted under the key of its minute (epoch). When the minute is over, and this
// process has seen the key for long enough (keyAge), Clean copies the cards that are still needed
// to late cards (late.go), and destroys the minute's key, so the other cards become unreadable
// together.
const (
	kindCard    = "card"     // card.<epoch>.<account>.<token>
	kindCardKey = "card-key" // card-key.<epoch>

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

// over reports whether no write of a card of e by this node can be under way at now, by this
// node's clock: a whole epoch lies between, far longer than the timeout of a write. An epoch that
// is as far ahead of now is over, too: the clock was set back.
func (e epoch) over(now time.Time) bool {
	current := epochAt(now)
	return e < current-1 || e > current+1
}

func (e epoch) key() domain.SecretID { return domain.SecretID(kindCardKey + "." + e.String()) }

func (e epoch) prefix() string { return kindCard + "." + e.String() }

func (r CardRef) name() domain.SecretID {
	return domain.SecretID(strings.Join([]string{epochAt(r.TokenizedAt).prefix(), string(r.Account), string(r.Token)}, "."))
}

// storedCard is a card with its token's expiry. After the expiry no payment may begin to use the
// card.
type storedCard struct {
	processor.Card
	ExpiresAt time.Time `json:"expiresAt"`
}

// PutCard stores a card until its token expires. A payment that has begun to use the card may use
// it until the outcome (Needed).
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
			return remember(v, &v.boxes, ref.name(), box, nil)
		}
		// Another node ended the epoch meanwhile, as this process stood still: repeat under the new
		// key.
		if err := v.Destroy(ctx, ref.name()); err != nil {
			return err
		}
	}
}

// Card returns a card for a payment that began at a time. If the token had not expired then and the
// entered card exists, it has its CVV. Else, and without TokenizedAt, it is the vaulted card, which
// has none; ErrGone if there is neither.
func (v *Store) Card(ctx context.Context, ref CardRef, began time.Time) (processor.Card, error) {
	card, err := storedCard{}, ErrGone
	if _, ended := v.ended.get(ref.name(), v.now()); !ended && !ref.TokenizedAt.IsZero() {
		card, err = v.enteredCard(ctx, ref)
		if errors.Is(err, ErrGone) && epochAt(ref.TokenizedAt).over(v.now()) { // for ever: a token is made once
			v.ended.putUnless(ref.name(), struct{}{}, v.now(), nil)
		}
	}
	if err == nil && !began.Before(card.ExpiresAt) {
		err = ErrGone
	}
	if errors.Is(err, ErrGone) {
		return v.keptCard(ctx, ref.keptName())
	}
	if err == nil && card.Absent() {
		err = errNoNumber
	}
	return card.Card, err
}

func (v *Store) enteredCard(ctx context.Context, ref CardRef) (storedCard, error) {
	card, err := v.earlyCard(ctx, ref.name())
	for _, name := range []domain.SecretID{ref.lateName(), ref.ownName()} {
		if errors.Is(err, ErrGone) {
			card, _, err = v.readLate(ctx, name)
		}
	}
	return card, err
}

func (v *Store) earlyCard(ctx context.Context, name domain.SecretID) (card storedCard, err error) {
	box, here := v.boxes.get(name, v.now())
	if !here {
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

func epochOf(name domain.SecretID) epoch {
	parts := strings.Split(string(name), ".")
	if len(parts) < 2 {
		return 0
	}
	n, _ := strconv.ParseInt(parts[1], 10, 64) // 0 if it is malformed: epoch 0 has no cards
	return epoch(n)
}

// DestroyCard is called after an outcome. It overwrites a card with a value of its own at once,
// unless the card is still needed. A new card becomes unreadable with its epoch's key, which Clean
// destroys within 2.5 minutes.
func (v *Store) DestroyCard(ctx context.Context, ref CardRef, now time.Time, needed Needed) error {
	v.boxes.drop(ref.name())
	if !epochAt(ref.TokenizedAt).over(now) {
		return nil
	}
	until, err := needed(ctx, ref.Account, ref.Token, now)
	if err != nil || now.Before(until) {
		return err
	}
	return v.destroyLate(ctx, ref)
}
