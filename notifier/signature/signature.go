package signature

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"payledger/domain/exactjson"
)

// The signature headers of a webhook (§5.2).
const (
	HeaderPrimary   = "X-Signature-Primary"
	HeaderSecondary = "X-Signature-Secondary" // only for 24 hours after a rotation
	// HeaderListener is of webhooks that a listener reads: signed with the listener's own secret
	// (D18).
	HeaderListener = "X-Signature-Listener"
)

// DefaultTolerance is the largest allowed difference between signedAt and the receiver's clock
// (§5.2 rule 4, §8).
const DefaultTolerance = 3 * time.Minute

// signedAtDigits bounds the length of signedAt: 12 digits reach the year 33658.
const signedAtDigits = 12

// The errors of Verify, in the order of its checks; test with errors.Is.
var (
	// ErrNoSecret means that the receiver gave no secret, or an empty one: nothing was checked.
	ErrNoSecret = errors.New("signature: no signing secret given")
	// ErrNoSignature means that both headers are missing.
	ErrNoSignature = errors.New("signature: the webhook carries no signature")
	// ErrMismatch means that no header is a signature of the body with one of the secrets.
	ErrMismatch = errors.New("signature: the signature does not fit the body")
	// ErrSignedAt means that the signed body has no signedAt of Unix seconds as a string.
	ErrSignedAt = errors.New("signature: the body has no valid signedAt")
	// ErrExpired means that signedAt is before the tolerance: the webhook may be an old one that
	// was sent again.
	ErrExpired = errors.New("signature: signedAt is too old")
	// ErrFuture means that signedAt is after the tolerance: the clocks differ.
	ErrFuture = errors.New("signature: signedAt lies in the future")
)

// Sign returns the value of a signature header for the raw body, signed with the secret's text
// (§5.2 rule 1).
func Sign(secret string, body []byte) string {
	return base64.StdEncoding.EncodeToString(digest(secret, body))
}

func digest(secret string, body []byte) []byte {
	h := hmac.New(sha256.New, []byte(secret))
	h.Write(body)
	return h.Sum(nil)
}

// Verify checks the headers and the raw body of a webhook with the receiver's clock and secrets
// (two during a rotation). It returns nil if the body is genuine and fresh, else one of this
// package's errors: then do not use the body. Verify compares signatures in constant time.
func Verify(header http.Header, body []byte, now time.Time, secrets ...string) error {
	return VerifyWithin(DefaultTolerance, header, body, now, secrets...)
}

// VerifyWithin is Verify with another tolerance for signedAt. A difference that equals the
// tolerance is accepted.
func VerifyWithin(tolerance time.Duration, header http.Header, body []byte, now time.Time, secrets ...string) error {
	if err := checkSignature(header, body, secrets); err != nil {
		return err
	}
	return checkFresh(body, now, tolerance)
}

// checkSignature compares every header with every secret, also after a match: its duration must not
// depend on the secrets.
func checkSignature(header http.Header, body []byte, secrets []string) error {
	given := append(header.Values(HeaderPrimary), header.Values(HeaderSecondary)...)
	switch {
	case len(secrets) == 0:
		return ErrNoSecret
	case len(given) == 0:
		return ErrNoSignature
	}
	fits := false
	for _, secret := range secrets {
		if secret == "" {
			return ErrNoSecret // any sender can sign with an empty key
		}
		expected := digest(secret, body)
		for _, text := range given {
			signature, err := base64.StdEncoding.Strict().DecodeString(text)
			if err == nil && hmac.Equal(signature, expected) {
				fits = true
			}
		}
	}
	if !fits {
		return ErrMismatch
	}
	return nil
}

func checkFresh(body []byte, now time.Time, tolerance time.Duration) error {
	var fields map[string]json.RawMessage
	if err := exactjson.Unmarshal(body, &fields); err != nil {
		return fmt.Errorf("%w: %w", ErrSignedAt, err)
	}
	raw, signed := fields["signedAt"]
	if !signed {
		if testMessage(fields) {
			return nil
		}
		return ErrSignedAt
	}
	var text string
	if err := exactjson.Unmarshal(raw, &text); err != nil || bytes.Equal(raw, []byte("null")) {
		return fmt.Errorf("%w: it is not a string", ErrSignedAt)
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || len(text) > signedAtDigits || strings.Trim(text, "0123456789") != "" {
		return fmt.Errorf("%w: it is not a number of seconds", ErrSignedAt)
	}
	at := time.Unix(seconds, 0)
	switch {
	case at.Before(now.Add(-tolerance)):
		return ErrExpired
	case at.After(now.Add(tolerance)):
		return ErrFuture
	}
	return nil
}

// testMessage reports whether the fields are exactly those of the dashboard's test message,
// {"message": "…"} (D17).
func testMessage(fields map[string]json.RawMessage) bool {
	var text string
	raw, there := fields["message"]
	return len(fields) == 1 && there && exactjson.Unmarshal(raw, &text) == nil
}
