package users

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"time"

	"payledger/domain"
	"payledger/eventstore/codec"
)

const (
	// Idle is the time after which a token expires that was not renewed.
	Idle = time.Hour
	// renewAfter is the age from which Session renews a token.
	renewAfter = time.Minute
	// stepLife is the time that a user has for the code after the password.
	stepLife = 5 * time.Minute

	tokenLabel   = "payledger tokens of dashboard sessions"
	longestToken = 1024 // characters
)

// claims are the content of a token: of a session, of the step between password and code, or of a
// known device.
type claims struct {
	Account domain.AccountID     `json:"a"`
	User    domain.UserID        `json:"u"`
	Session domain.UserSessionID `json:"s,omitempty"` // of a session
	Issued  time.Time            `json:"i"`
	Expires time.Time            `json:"e"`           // of the session, or of the step
	Checked domain.SecretID      `json:"p,omitempty"` // of a step: the verifier that the password was compared with
	Device  string               `json:"d,omitempty"` // of a known device: its name
}

// sign returns the token of claims: the HMAC and the claims, in base64url.
func (u *Users) sign(c claims) (string, error) {
	body, err := codec.Marshal(c)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(append(u.mac(body), body...)), nil
}

// read returns the claims of a token that this ledger signed.
func (u *Users) read(token string) (c claims, ours bool) {
	if len(token) > longestToken {
		return c, false
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(raw) < sha256.Size {
		return c, false
	}
	body := raw[sha256.Size:]
	if !hmac.Equal(raw[:sha256.Size], u.mac(body)) || codec.Unmarshal(body, &c) != nil {
		return claims{}, false
	}
	return c, true
}

func (u *Users) mac(body []byte) []byte {
	mac := hmac.New(sha256.New, u.key)
	mac.Write(body)
	return mac.Sum(nil)
}
