package secrets

import (
	"context"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"payledger/domain"
)

// emailHashSize is the number of bytes of the HMAC that are stored: two addresses of an account
// never have the same.
const emailHashSize = 16

// EmailHash returns the hash by which an account's payments are found for an e-mail address (D11).
// The hash is HMAC-SHA256 under a key of the account, derived from the first master key of the
// ledger: events never change, so a rotation keeps the root of these keys. So the log and the views
// reveal no address to a reader who tries likely addresses, and the same address has different
// hashes in two accounts. Case and surrounding space are ignored. The hash of an empty address is
// "".
//
// The hash is not encrypted under the person's key, and stays after that key is destroyed. The
// holder of the master key, or of an earlier one, could still test a guessed address on the hash.
// So a reader that finds data by the hash must not show erased data. Under another master key the
// hash finds nothing.
func (v *Store) EmailHash(account domain.AccountID, email string) (string, error) {
	email = NormalEmail(email)
	if email == "" {
		return "", nil
	}
	key, err := v.emailKey(account)
	if err != nil {
		return "", err
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(email))
	return hex.EncodeToString(mac.Sum(nil)[:emailHashSize]), nil
}

// emailKey returns the account's key, which the first call derives.
func (v *Store) emailKey(account domain.AccountID) ([]byte, error) {
	if key, ok := v.emails.Load(account); ok {
		return key.([]byte), nil
	}
	key, err := hkdf.Expand(sha256.New, v.emailRoot, "payledger e-mail addresses of "+string(account), KeySize)
	if err != nil {
		return nil, fmt.Errorf("secrets: e-mail hash: %w", err)
	}
	v.emails.Store(account, key)
	return key, nil
}

// emailRootName names the root of the keys of EmailHash. Only a rotated ledger stores it. Nobody
// can compute a master key from it.
const emailRootName domain.SecretID = "hash-root.system.emails"

func (v *Store) openEmailRoot(ctx context.Context) ([]byte, error) {
	root, err := v.Get(ctx, emailRootName)
	if errors.Is(err, ErrGone) { // with a root of another master key no address would be found
		if err = v.bytes.Fence(ctx); err == nil {
			root, err = v.Get(ctx, emailRootName)
		}
	}
	if errors.Is(err, ErrGone) {
		root, err = hkdf.Extract(sha256.New, v.masters[0][:], nil)
	}
	if err != nil {
		return nil, fmt.Errorf("secrets: e-mail hash: %w", err)
	}
	return root, nil
}

// NormalEmail returns an e-mail address in lower case, without surrounding space.
func NormalEmail(email string) string { return strings.ToLower(strings.TrimSpace(email)) }
