package secrets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/eventstore"
)

// ErrGone means that a value was destroyed or never stored.
var ErrGone = errors.New("secrets: the value is not there")

// Vault stores and opens secrets. Values are named; a name says what it is and whose.
type Vault struct {
	bytes  *eventstore.SecretBytes
	master Key
	random io.Reader
	keys   sync.Map // domain.SecretID → Key: data keys that were read before
}

// Open makes a vault on the store's stream of secrets.
func Open(ctx context.Context, store *eventstore.Store, master Key, random io.Reader) (*Vault, error) {
	b, err := store.OpenSecrets(ctx)
	if err != nil {
		return nil, err
	}
	return &Vault{bytes: b, master: master, random: random}, nil
}

// Create stores plain under a new name; eventstore.ErrConflict when the name is taken.
func (v *Vault) Create(ctx context.Context, name domain.SecretID, plain []byte) error {
	box, err := seal(v.master, v.random, string(name), plain)
	if err != nil {
		return err
	}
	return v.bytes.Create(ctx, string(name), box)
}

// Get opens the value; ErrGone when it is not there.
func (v *Vault) Get(ctx context.Context, name domain.SecretID) ([]byte, error) {
	box, err := v.bytes.Get(ctx, string(name))
	if errors.Is(err, eventstore.ErrNotFound) {
		return nil, ErrGone
	}
	if err != nil {
		return nil, err
	}
	return open(v.master, string(name), box)
}

// Destroy overwrites the value on disk. It is safe to repeat.
func (v *Vault) Destroy(ctx context.Context, name domain.SecretID) error {
	v.keys.Delete(name)
	return v.bytes.Destroy(ctx, string(name))
}

// The names of values, by kind. Ids are tokens of the log's own making; a customer's id is the merchant's
// text and enters as a hash.
const (
	kindCard     = "card"
	kindCustomer = "customer-key"
	kindSession  = "session-key"
)

// CardName names the card behind a token.
func CardName(account domain.AccountID, token domain.Token) domain.SecretID {
	return domain.SecretID(strings.Join([]string{kindCard, string(account), string(token)}, "."))
}

// PersonalKeyName names the key of a person's data: the customer's, or the checkout session's of a guest.
func PersonalKeyName(account domain.AccountID, customerID string, session domain.SessionID) domain.SecretID {
	if customerID != "" {
		return domain.SecretID(strings.Join([]string{kindCustomer, string(account), hashName(account, customerID)}, "."))
	}
	return domain.SecretID(strings.Join([]string{kindSession, string(account), string(session)}, "."))
}

// storedCard is a card with the time after which nobody needs it.
type storedCard struct {
	processor.Card
	ExpiresAt time.Time `json:"expiresAt"`
}

// PutCard stores a card until expires at the latest.
func (v *Vault) PutCard(ctx context.Context, name domain.SecretID, card processor.Card, expires time.Time) error {
	plain, err := eventstore.Marshal(storedCard{card, expires})
	if err != nil {
		return fmt.Errorf("secrets: card: %w", err)
	}
	return v.Create(ctx, name, plain)
}

// Card opens a card; ErrGone when it was destroyed or its time is over.
func (v *Vault) Card(ctx context.Context, name domain.SecretID, now time.Time) (processor.Card, error) {
	card, err := v.card(ctx, name)
	if err == nil && !now.Before(card.ExpiresAt) {
		return processor.Card{}, ErrGone
	}
	return card.Card, err
}

func (v *Vault) card(ctx context.Context, name domain.SecretID) (storedCard, error) {
	var card storedCard
	plain, err := v.Get(ctx, name)
	if err != nil {
		return card, err
	}
	return card, eventstore.Unmarshal(plain, &card)
}

// SweepCards destroys every card whose time is over, and those that done says are needed no more. It
// returns how many.
func (v *Vault) SweepCards(ctx context.Context, now time.Time, done func(account domain.AccountID, token domain.Token) bool) (int, error) {
	names, err := v.bytes.Names(ctx, kindCard)
	if err != nil {
		return 0, err
	}
	destroyed := 0
	for _, name := range names {
		parts := strings.Split(name, ".")
		if len(parts) != 3 {
			continue
		}
		card, err := v.card(ctx, domain.SecretID(name))
		if errors.Is(err, ErrGone) {
			continue
		}
		if err != nil {
			return destroyed, err
		}
		if now.Before(card.ExpiresAt) && !done(domain.AccountID(parts[1]), domain.Token(parts[2])) {
			continue
		}
		if err := v.Destroy(ctx, domain.SecretID(name)); err != nil {
			return destroyed, err
		}
		destroyed++
	}
	return destroyed, nil
}
