package clienttoken

import (
	"context"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/session"
)

// Tokens signs and reads all client tokens and resume tokens of a service.
type Tokens struct {
	Key         []byte // signs, and makes sessions' ids of their access tokens (D4); MinKey bytes or more
	Environment string // account.Sandbox or account.Production
	PublicURL   string // this service as browsers reach it
	Now         func() time.Time
	// Owner returns the account of a session, false when there is no such session.
	Owner func(context.Context, domain.SessionID) (domain.AccountID, bool, error)
	// Session reads a session; unknown and expired ones are refused.
	Session func(context.Context, domain.AccountID, domain.SessionID) (session.State, error)
}

// MinKey is the length of the shortest signing key, in bytes: HS256's own size.
const MinKey = 32

type claims struct {
	AccessToken      AccessToken      `json:"accessToken"`
	Env              string           `json:"env"`
	Intent           string           `json:"intent"`
	CoreURL          string           `json:"coreUrl"`
	PciURL           string           `json:"pciUrl"`
	ConfigurationURL string           `json:"configurationUrl"`
	AccountID        domain.AccountID `json:"accountId"`
	// PaymentID and Action name the required action of an action's token.
	PaymentID domain.PaymentID `json:"paymentId,omitempty"`
	Action    uint64           `json:"action,omitempty"`
	jwt.RegisteredClaims
}

const intentCheckout = "CHECKOUT"

// Environments are the environments as client tokens name them.
var Environments = map[string]string{account.Sandbox: "SANDBOX", account.Production: "PRODUCTION"}

// SignSession makes the client token of a session; the session's id is the hash of access.
func (t *Tokens) SignSession(s session.State, access AccessToken) (string, error) {
	return t.sign(t.claims(access, intentCheckout, s.Account, s.ExpiresAt))
}

func (t *Tokens) claims(access AccessToken, intent string, account domain.AccountID, expires time.Time) claims {
	base := t.Base()
	return claims{
		AccessToken: access, Env: Environments[t.Environment], Intent: intent,
		CoreURL: base, PciURL: base, ConfigurationURL: base + "/checkout/configuration", AccountID: account,
		RegisteredClaims: jwt.RegisteredClaims{ExpiresAt: jwt.NewNumericDate(expires.Truncate(time.Second))},
	}
}

// Base returns the public URL without a slash at its end.
func (t *Tokens) Base() string { return strings.TrimSuffix(t.PublicURL, "/") }

func (t *Tokens) sign(c jwt.Claims) (string, error) {
	return jwt.NewWithClaims(jwt.SigningMethodHS256, c).SignedString(t.Key)
}

// verify reads a token that this service signed, in its one canonical spelling.
func (t *Tokens) verify(text string, claims jwt.Claims, also ...jwt.ParserOption) error {
	also = append(also, jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}), jwt.WithStrictDecoding())
	_, err := jwt.ParseWithClaims(text, claims, func(*jwt.Token) (any, error) { return t.Key, nil }, also...)
	return err
}

// read checks a client token of any intent: our signature, this environment, not expired.
func (t *Tokens) read(text string) (read claims, err error) {
	err = t.verify(text, &read, jwt.WithTimeFunc(t.Now), jwt.WithExpirationRequired())
	if err != nil || read.Env != Environments[t.Environment] {
		return claims{}, Refused()
	}
	return read, nil
}

// ReadSession returns the access token of a session's client token, or of the access token alone,
// and the session's account (D12).
func (t *Tokens) ReadSession(ctx context.Context, text string) (domain.AccountID, AccessToken, error) {
	if !strings.Contains(text, ".") {
		return t.readAccess(ctx, AccessToken(text))
	}
	read, err := t.read(text)
	if err != nil || read.Intent != intentCheckout {
		return "", "", Refused()
	}
	return read.AccountID, read.AccessToken, nil
}

// readAccess looks the session up: an access token alone does not carry its expiry.
func (t *Tokens) readAccess(ctx context.Context, access AccessToken) (domain.AccountID, AccessToken, error) {
	if !domain.ValidID(string(access)) {
		return "", "", Refused()
	}
	id := t.SessionID(access)
	owner, known, err := t.Owner(ctx, id)
	if err == nil && !known {
		err = Refused()
	}
	if err == nil {
		_, err = t.Session(ctx, owner, id)
	}
	return owner, access, err
}

// Refused is the error for a client token that is not good for the call.
func Refused() error {
	return domain.Refuse(domain.KindInvalid, domain.ReasonSessionValidation, "The client token is not known or has expired.")
}
