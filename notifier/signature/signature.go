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
)

// The headers of a webhook that carry signatures (§5.2).
const (
	HeaderPrimary   = "X-Signature-Primary"
	HeaderSecondary = "X-Signature-Secondary" // only while a secret is being rotated
)

// DefaultTolerance is how far signedAt may lie from the receiver's clock (§5.2 rule 4, §8).
const DefaultTolerance = 3 * time.Minute

// signedAtDigits is how long signedAt is at most: 12 digits reach the year 33658.
const signedAtDigits = 12

// The errors of Verify, in the order of its checks; test with errors.Is.
var (
	// ErrNoSecret means that the receiver gave no secret, or an empty one: nothing was checked.
	ErrNoSecret = errors.New("signature: no signing secret given")
	// ErrNoSignature means that neither header is there.
	ErrNoSignature = errors.New("signature: the webhook carries no signature")
	// ErrMismatch means that no header fits the body under any of the secrets.
	ErrMismatch = errors.New("signature: the signature does not fit the body")
	// ErrSignedAt means that the signed body has no signedAt of Unix seconds as a string.
	ErrSignedAt = errors.New("signature: the body has no valid signedAt")
	// ErrExpired means that signedAt lies further back than the tolerance: an old webhook sent again.
	ErrExpired = errors.New("signature: signedAt is too old")
	// ErrFuture means that signedAt lies further ahead than the tolerance: the clocks differ.
	ErrFuture = errors.New("signature: signedAt lies in the future")
)

// Sign gives the value of a signature header for the raw body under the secret's text (§5.2 rule 1).
func Sign(secret string, body []byte) string {
	return base64.StdEncoding.EncodeToString(digest(secret, body))
}

func digest(secret string, body []byte) []byte {
	h := hmac.New(sha256.New, []byte(secret))
	h.Write(body)
	return h.Sum(nil)
}

// Verify checks a webhook as it came: its headers, its raw body, the receiver's clock and the secrets that
// the receiver holds (two during a rotation). nil means that the body is genuine and fresh; any other
// answer is one of this package's errors and the body must not be acted upon. Signatures are compared in
// constant time.
func Verify(header http.Header, body []byte, now time.Time, secrets ...string) error {
	return VerifyWithin(DefaultTolerance, header, body, now, secrets...)
}

// VerifyWithin is Verify with another tolerance for signedAt; the bounds themselves are within it.
func VerifyWithin(tolerance time.Duration, header http.Header, body []byte, now time.Time, secrets ...string) error {
	if err := checkSignature(header, body, secrets); err != nil {
		return err
	}
	return checkFresh(body, now, tolerance)
}

// checkSignature compares every header with every secret, all of them whatever it finds: the time taken
// tells neither which one fitted nor how much of it.
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
			return ErrNoSecret // anybody can sign with an empty key
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

// checkFresh looks at signedAt of a body whose signature fitted.
func checkFresh(body []byte, now time.Time, tolerance time.Duration) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
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
	if err := json.Unmarshal(raw, &text); err != nil || bytes.Equal(raw, []byte("null")) {
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

// testMessage tells the dashboard's test, {"message": "…"} and nothing else (D17).
func testMessage(fields map[string]json.RawMessage) bool {
	var text string
	raw, there := fields["message"]
	return len(fields) == 1 && there && json.Unmarshal(raw, &text) == nil
}
