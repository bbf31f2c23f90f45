package domain

import (
	"crypto/sha256"
	"encoding/base32"
	"hash/fnv"
	"strings"
)

// Ids of the aggregates. Each is also the last token of its subject in the log (I2), so none may hold
// a dot, a space, '*' or '>'.
type (
	AccountID    string
	PaymentID    string
	SessionID    string // a UUID: also the accessToken of the client token (D4)
	Token        string // paymentMethodToken, the id of a payment instrument
	EndpointID   string // a UUID: notificationConfig.id (D17)
	APIKeyID     string
	UserID       string
	SecretID     string // names a value in the stream of secrets
	OperationKey string // the processor's idempotency key, "<paymentId>.<revision>" (D14)
)

// Generation is the set of shard streams that new aggregates are written to: the first two characters
// of a payment id (D6). There is one today.
const Generation = "01"

// idEncoding is Crockford's base32 in lower case: no letter that reads as a digit.
var idEncoding = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// What a derived id is derived from; the number keeps the kinds apart.
const (
	deriveFromKey   byte = 0 // an X-Idempotency-Key (D9)
	deriveFromToken byte = 1 // the single-use token of a payment made without a key
)

// NewPaymentID makes an id from 16 random bytes.
func NewPaymentID(random [16]byte) PaymentID { return PaymentID(Generation + encodeID(random[:])) }

// PaymentIDForKey derives the payment id of a keyed create: its subject is the claim of the key, so a
// key can never yield two payments (D9).
func PaymentIDForKey(account AccountID, key string) PaymentID {
	return deriveID(account, deriveFromKey, key)
}

// PaymentIDForToken derives the id of a payment that a single-use token pays without a key: a repeat
// after a crash completes the same payment instead of finding its token used up.
func PaymentIDForToken(account AccountID, token Token) PaymentID {
	return deriveID(account, deriveFromToken, string(token))
}

func deriveID(account AccountID, kind byte, from string) PaymentID {
	h := sha256.New()
	h.Write([]byte(account))
	h.Write([]byte{kind})
	h.Write([]byte(from))
	return PaymentID(Generation + encodeID(h.Sum(nil)[:16]))
}

// NewToken, NewAccountID and the like make ids from 16 random bytes.
func NewToken(random [16]byte) Token         { return Token(Generation + encodeID(random[:])) }
func NewAccountID(random [16]byte) AccountID { return AccountID(encodeID(random[:])) }
func NewUserID(random [16]byte) UserID       { return UserID(encodeID(random[:])) }

func encodeID(b []byte) string { return idEncoding.EncodeToString(b) }

// ValidID tells whether s can be the last token of a subject. What cannot names nothing.
func ValidID(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	return strings.IndexFunc(s, func(r rune) bool {
		return !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '-' || r == '_')
	}) < 0
}

// KeyHash is the short hash of an idempotency key that a payment's state keeps (D9): enough to tell two
// keys of one payment apart, and not the merchant's text.
func KeyHash(account AccountID, key string) string {
	h := sha256.New()
	h.Write([]byte(account))
	h.Write([]byte{deriveFromKey})
	h.Write([]byte(key))
	return encodeID(h.Sum(nil)[16:26])
}

// Shard gives the shard of an aggregate: FNV-1a of its id, modulo the number of shards. It is part of
// the log's format and never changes.
func Shard(id string, shards int) int {
	h := fnv.New64a()
	h.Write([]byte(id))
	return int(h.Sum64() % uint64(shards))
}
