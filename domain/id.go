package domain

import (
	"crypto/sha256"
	"encoding/base32"
	"hash/fnv"
	"strconv"
	"strings"
)

// The ids of the aggregates are the last part of ce-subject in the log (I2): none has a dot, a
// space, '*' or '>'.
type (
	// AccountID is a merchant account's.
	AccountID string
	// PaymentID is a payment's: two characters of log generation and 128 bits (D6).
	PaymentID string
	// SessionID is a client session's: a UUID. It is not secret and proves nothing: the access
	// token does (D4).
	SessionID string
	// Token is a payment instrument's: the paymentMethodToken.
	Token string
	// AttemptID is a payment attempt's (§2.6).
	AttemptID string
	// EndpointID is a webhook endpoint's: a UUID, notificationConfig.id (D17).
	EndpointID string
	// APIKeyID is the part of an API key that is not secret (D2).
	APIKeyID string
	// UserID is a dashboard user's.
	UserID string
	// UserSessionID is that of a dashboard user's session: a UUID. It proves nothing without the
	// signature of the session's token.
	UserSessionID string
	// DisputeID is a dispute's: derived from the processor's id.
	DisputeID string
	// SecretID names a value in the stream of secrets.
	SecretID string
	// PersonID is a person's: derived from the name of the key of the person's data.
	PersonID string
	// WorkflowID is a workflow's: a UUID (D19).
	WorkflowID string
	// RunID is a workflow run's: two characters of log generation and 128 bits (D19).
	RunID string
	// OperationKey is the processor's idempotency key, "<paymentId>.<revision>" (D14.2).
	OperationKey string
)

// Generation is the set of shard streams of new aggregates: the first two characters of a payment
// id (D6). There is one today.
const Generation = "01"

// idEncoding is Crockford's base32 in lower case: no letter that reads as a digit.
var idEncoding = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// The sources of derived ids; the number keeps them distinct.
const (
	deriveFromKey     byte = 0 // an X-Idempotency-Key (D9)
	deriveFromToken   byte = 1 // the single-use token of a payment made without a key
	deriveFromSession byte = 2 // the checkout in which a vaulted token pays without a key
	deriveFromAttempt byte = 3 // the attempt whose approval makes the payment
	deriveRun         byte = 4 // a workflow and the event that started it

	deriveFromVerified byte = 5 // the token of a card verification: no payment
)

// NewPaymentID makes an id from 16 random bytes.
func NewPaymentID(random [16]byte) PaymentID { return PaymentID(Generation + encodeID(random[:])) }

// PaymentIDShaped reports whether the id has the form of a payment id.
func PaymentIDShaped(id PaymentID) bool {
	const length = len(Generation) + 26 // 128 bits in base32
	_, err := idEncoding.DecodeString(string(id[min(len(id), len(Generation)):]))
	return len(id) == length && err == nil
}

// PaymentIDForKey derives the id of the aggregate that claims a key: the payment created with it,
// or a KeyClaimed (D9).
func PaymentIDForKey(account AccountID, key string) PaymentID {
	return deriveID(account, deriveFromKey, key)
}

// PaymentIDForToken derives the id of a payment that a single-use token pays without a key: a
// repeat after a crash completes the same payment instead of finding its token used up.
func PaymentIDForToken(account AccountID, token Token) PaymentID {
	return deriveID(account, deriveFromToken, string(token))
}

// PaymentIDForSession derives the id for a vaulted token in a checkout without a key: two requests
// create one payment (D12).
func PaymentIDForSession(account AccountID, session SessionID, token Token) PaymentID {
	return deriveID(account, deriveFromSession, string(session)+" "+string(token))
}

// PaymentIDForAttempt derives the payment id of an approval: however many approvals there are,
// there is one payment (§3.3).
func PaymentIDForAttempt(account AccountID, attempt AttemptID) PaymentID {
	return deriveID(account, deriveFromAttempt, string(attempt))
}

// VerificationReference derives the reference of a token's verification at processors: a reader of
// the token itself could pay.
func VerificationReference(account AccountID, token Token) PaymentID {
	return deriveID(account, deriveFromVerified, string(token))
}

// NewAttemptID derives the id of a session's attempt with a token, so that a repeat gets the same
// attempt. shown is the price that the customer saw, nil if unknown; number is the number of
// earlier attempts of the session.
func NewAttemptID(session SessionID, token Token, shown *Price, number uint64) AttemptID {
	text := "attempt " + string(session) + " " + string(token) + " " + strconv.FormatUint(number, 10)
	if shown != nil {
		text += " " + strconv.FormatInt(int64(shown.Amount), 10) + string(shown.Currency)
	}
	return AttemptID(hashed([]byte(text)))
}

// DisputeIDFor derives the id of a processor's dispute, the same for all its notifications (§3.2).
func DisputeIDFor(account AccountID, processor, disputeID string) DisputeID {
	return DisputeID(hashed([]byte("dispute " + string(account) + " " + processor + " " + disputeID)))
}

// PersonIDFor derives the id of the person whose data is sealed under a key, given the key's name
// without its number.
func PersonIDFor(key SecretID) PersonID {
	return PersonID(hashed([]byte("person " + string(key))))
}

// NewRunID derives the id of the one run of a workflow that an event starts, whatever version it is
// of (D19).
func NewRunID(account AccountID, workflow WorkflowID, eventID string) RunID {
	return RunID(deriveID(account, deriveRun, string(workflow)+"."+eventID))
}

func deriveID(account AccountID, kind byte, from string) PaymentID {
	return PaymentID(hashed(source(account, kind, from)))
}

func source(account AccountID, kind byte, from string) []byte {
	return append(append([]byte(account), kind), from...)
}

func hashed(source []byte) string {
	sum := sha256.Sum256(source)
	return Generation + encodeID(sum[:16])
}

// NewToken makes a token from 16 random bytes.
func NewToken(random [16]byte) Token { return Token(Generation + encodeID(random[:])) }

// NewAccountID makes an id from 16 random bytes.
func NewAccountID(random [16]byte) AccountID { return AccountID(encodeID(random[:])) }

// NewUserID makes an id from 16 random bytes.
func NewUserID(random [16]byte) UserID { return UserID(encodeID(random[:])) }

func encodeID(b []byte) string { return idEncoding.EncodeToString(b) }

// ValidID reports whether s can be an id: the last part of a ce-subject.
func ValidID(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	return strings.IndexFunc(s, func(r rune) bool {
		return !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '-' || r == '_')
	}) < 0
}

// KeyHash returns the short hash of an idempotency key that a payment's state stores instead of the
// merchant's text (D9).
func KeyHash(account AccountID, key string) string {
	sum := sha256.Sum256(source(account, deriveFromKey, key))
	return encodeID(sum[16:26])
}

// Shard returns the shard of an aggregate: FNV-1a of its id, modulo the number of shards. The log's
// format fixes it for ever.
func Shard(id string, shards int) int {
	h := fnv.New64a()
	h.Write([]byte(id))
	return int(h.Sum64() % uint64(shards))
}
