package httpapi

import (
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/session"
)

// tokenClaims are what a client token says (D4).
type tokenClaims struct {
	AccessToken      accessToken `json:"accessToken"`
	Env              string      `json:"env"`
	Intent           string      `json:"intent"`
	CoreURL          string      `json:"coreUrl"`
	PciURL           string      `json:"pciUrl"`
	ConfigurationURL string      `json:"configurationUrl"`
	AccountID        string      `json:"accountId"`
	// PaymentID and Action name the required action that a token with intentAction is for.
	PaymentID domain.PaymentID `json:"paymentId,omitempty"`
	Action    uint64           `json:"action,omitempty"`
	jwt.RegisteredClaims
}

// intentCheckout is the intent of a session's client token (D4).
const intentCheckout = "CHECKOUT"

// environments as client tokens name them.
var tokenEnvironments = map[string]string{account.Sandbox: "SANDBOX", account.Production: "PRODUCTION"}

// signClientToken makes the client token of a session, with the access token that the session's id was made of.
func (a *API) signClientToken(s session.State, access accessToken) (string, error) {
	return a.signClaims(a.claims(access, intentCheckout, s.Account, s.ExpiresAt))
}

// claims are what every client token says.
func (a *API) claims(access accessToken, intent string, account domain.AccountID, expires time.Time) tokenClaims {
	base := a.base()
	return tokenClaims{
		AccessToken: access, Env: tokenEnvironments[a.Environment], Intent: intent,
		CoreURL: base, PciURL: base, ConfigurationURL: base + "/checkout/configuration", AccountID: string(account),
		RegisteredClaims: jwt.RegisteredClaims{ExpiresAt: jwt.NewNumericDate(expires.Truncate(time.Second))},
	}
}

// base is this service's address as browsers reach it, without a slash at its end.
func (a *API) base() string { return strings.TrimSuffix(a.PublicURL, "/") }

func (a *API) signClaims(claims tokenClaims) (string, error) {
	return jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString(a.ClientTokenKey)
}

// verifyClaims reads a token that this service signed, in the one spelling that it gave it.
func (a *API) verifyClaims(text string, claims jwt.Claims, also ...jwt.ParserOption) error {
	also = append(also, jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}), jwt.WithStrictDecoding())
	_, err := jwt.ParseWithClaims(text, claims, func(*jwt.Token) (any, error) { return a.ClientTokenKey, nil }, also...)
	return err
}

// readClientToken checks a client token of any intent: our signature, this environment, not expired.
func (c *call) readClientToken(text string) (claims tokenClaims, err error) {
	err = c.api.verifyClaims(text, &claims, jwt.WithTimeFunc(c.api.Now), jwt.WithExpirationRequired())
	if err != nil || claims.Env != tokenEnvironments[c.api.Environment] {
		return tokenClaims{}, badClientToken()
	}
	return claims, nil
}

// browsersToken is the client token of the headers; it is how a browser says who it is (D12).
func (c *call) browsersToken() (string, error) {
	text := clientToken(c.r.Header)
	if text == "" {
		return "", domain.Refuse(domain.KindUnauthorized, domain.ReasonUnauthorized, "The header X-Client-Token is missing.")
	}
	return text, nil
}

// authenticateBrowser reads the client token, or its access token alone (D12).
func (c *call) authenticateBrowser() error {
	text, err := c.browsersToken()
	if err != nil {
		return err
	}
	owner, access, err := c.sessionOf(text)
	if err != nil {
		return err
	}
	id := c.api.sessionID(access)
	merchant, known := c.api.Reader.Account(owner)
	if !known {
		return badClientToken()
	}
	c.merchant, c.session, c.actor = merchant, id, "client_token:"+string(id)
	return c.checkBrowserRate(byClientToken, string(id))
}

// sessionOf returns the access token of a client token, and the account that the session belongs to.
func (c *call) sessionOf(text string) (domain.AccountID, accessToken, error) {
	if !strings.Contains(text, ".") {
		return c.sessionOfAccessToken(accessToken(text))
	}
	claims, err := c.readClientToken(text)
	if err != nil || claims.Intent != intentCheckout {
		return "", "", badClientToken()
	}
	return domain.AccountID(claims.AccountID), claims.AccessToken, nil
}

// sessionOfAccessToken looks the session up: an access token alone does not say when it expires.
func (c *call) sessionOfAccessToken(access accessToken) (domain.AccountID, accessToken, error) {
	if !domain.ValidID(string(access)) {
		return "", "", badClientToken()
	}
	id := c.api.sessionID(access)
	owner, known, err := c.api.Reader.SessionAccount(c.ctx, id)
	if err == nil && !known {
		err = badClientToken()
	}
	if err == nil {
		_, err = c.api.Commands.Session(c.ctx, owner, id)
	}
	return owner, access, err
}

func badClientToken() error {
	return domain.Refuse(domain.KindInvalid, domain.ReasonSessionValidation, "The client token is not known or has expired.")
}
