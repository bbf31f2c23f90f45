package secrets

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"payledger/domain"
)

// emailHashSize is how much of the HMAC is kept, in bytes: two addresses of an account never meet.
const emailHashSize = 16

// EmailHash is what an account's payments are found by for an e-mail address (D11): HMAC-SHA256 under a key
// of the account that is derived from the master key, so that neither the log nor a read model tells an
// address to somebody who tries likely ones, and two accounts have nothing in common. Case and surrounding
// space do not count; nothing but space gives "".
//
// The hash is not encrypted under the person's key and stays after that was destroyed. The master key's
// holder could still test a guessed address on it, so a reader that finds data by it must not show what does
// not open any more. Under another master key it finds nothing.
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

// emailKey derives the account's key, once.
func (v *Store) emailKey(account domain.AccountID) ([]byte, error) {
	if key, ok := v.emails.Load(account); ok {
		return key.([]byte), nil
	}
	key, err := hkdf.Key(sha256.New, v.master[:], nil, "payledger e-mail addresses of "+string(account), KeySize)
	if err != nil {
		return nil, fmt.Errorf("secrets: e-mail hash: %w", err)
	}
	v.emails.Store(account, key)
	return key, nil
}

// NormalEmail is the form in which two spellings of an e-mail address are the same.
func NormalEmail(email string) string { return strings.ToLower(strings.TrimSpace(email)) }
