package apikey

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"hash/crc32"
	"math/big"
	"slices"
	"strings"

	"payledger/domain"
	"payledger/domain/account"
)

// RandomSize is the number of random bytes in a key.
const RandomSize = 48

const (
	idLength     = 16 // base62: 95 bits
	secretLength = 32 // base62: 190 bits
	checkLength  = 6
	alphabet     = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// ErrMalformed means that a text is not a key: its form or its checksum is wrong.
var ErrMalformed = errors.New("apikey: not an API key")

var prefixes = map[string]string{account.Sandbox: "sandbox", account.Production: "live"}

// Key is a new key: its id and hash, which are stored, and its text, which is shown once.
type Key struct {
	ID   domain.APIKeyID
	Text string
	Hash []byte // SHA-256 of Text
}

// New returns a key for an environment, made from random bytes.
func New(environment string, random [RandomSize]byte) Key {
	id := Base62(random[:16], idLength)
	text := "plk_" + prefixes[environment] + "_" + id + "_" + Base62(random[16:], secretLength)
	text += check(text)
	return Key{ID: domain.APIKeyID(id), Text: text, Hash: Hash(text)}
}

// Parse returns the environment and the id in a key's text, or ErrMalformed. The key may be
// unknown: the caller compares its hash.
func Parse(text string) (environment string, id domain.APIKeyID, err error) {
	for name, prefix := range prefixes {
		rest, of := strings.CutPrefix(text, "plk_"+prefix+"_")
		part, secret, two := strings.Cut(rest, "_")
		if !of || !two || len(part) != idLength || len(secret) != secretLength+checkLength {
			continue
		}
		body, sum := text[:len(text)-checkLength], text[len(text)-checkLength:]
		if strings.Trim(part, alphabet)+strings.Trim(secret, alphabet) != "" || check(body) != sum {
			break
		}
		return name, domain.APIKeyID(part), nil
	}
	return "", "", ErrMalformed
}

// Hash returns the stored form of a key.
func Hash(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

// Matches compares a key's text with a stored hash in constant time.
func Matches(hash []byte, text string) bool {
	return subtle.ConstantTimeCompare(hash, Hash(text)) == 1
}

func check(text string) string {
	var digits [checkLength]byte
	sum := crc32.ChecksumIEEE([]byte(text))
	for i := range slices.Backward(digits[:]) { // as Base62, at each request
		digits[i] = alphabet[sum%uint32(len(alphabet))]
		sum /= uint32(len(alphabet))
	}
	return string(digits[:])
}

// Base62 returns b, a big-endian number, as n base62 digits, left-padded with 0. Higher digits are
// dropped.
func Base62(b []byte, n int) string {
	value, base, digit := new(big.Int).SetBytes(b), big.NewInt(int64(len(alphabet))), new(big.Int)
	text := make([]byte, n)
	for i := n - 1; i >= 0; i-- {
		value.DivMod(value, base, digit)
		text[i] = alphabet[digit.Int64()]
	}
	return string(text)
}
