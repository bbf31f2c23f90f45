package secrets

import (
	"context"
	"crypto/cipher"
	"errors"
	"io"
	"strings"
	"sync"

	"payledger/domain"
	"payledger/eventstore"
)

// ErrGone means that a value was destroyed or never stored.
var ErrGone = errors.New("secrets: the value is not there")

// Vault stores and opens secrets. Values are named; a name says what it is and whose.
type Vault struct {
	bytes  *eventstore.SecretBytes
	master Key
	random io.Reader
	box    cipher.AEAD         // under the master key
	keys   newest[cipher.AEAD] // data keys
	boxes  newest[[]byte]      // encrypted cards
	emails sync.Map            // domain.AccountID → []byte, the keys of EmailHash
}

// Open makes a vault on the store's stream of secrets.
func Open(ctx context.Context, store *eventstore.Store, master Key, random io.Reader) (*Vault, error) {
	b, err := store.OpenSecrets(ctx)
	if err != nil {
		return nil, err
	}
	box, err := master.aead()
	if err != nil {
		return nil, err
	}
	return &Vault{bytes: b, master: master, random: random, box: box}, nil
}

// Create stores plain under a new name; eventstore.ErrConflict when the name is taken.
func (v *Vault) Create(ctx context.Context, name domain.SecretID, plain []byte) error {
	box, err := seal(v.box, v.random, string(name), plain)
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
	return open(v.box, string(name), box)
}

// Destroy overwrites the value on disk. It is safe to repeat.
func (v *Vault) Destroy(ctx context.Context, name domain.SecretID) error {
	v.keys.drop(name)
	return v.bytes.Destroy(ctx, string(name))
}

// The names of values, by kind. Ids are tokens of the log's own making; a customer's id is the merchant's
// text and enters as a hash.
const (
	kindCustomer = "customer-key"
	kindSession  = "session-key"
)

// PersonalKeyName names the key of a person's data: the customer's, or the checkout session's of a guest.
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
