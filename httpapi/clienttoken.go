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
	AccessToken      string `json:"accessToken"`
	Env              string `json:"env"`
	Intent           string `json:"intent"`
	CoreURL          string `json:"coreUrl"`
	PciURL           string `json:"pciUrl"`
	ConfigurationURL string `json:"configurationUrl"`
	AccountID        string `json:"accountId"`
	jwt.RegisteredClaims
}

// Intents of client tokens (D4).
const intentCheckout = "CHECKOUT"

// environments as client tokens name them.
var tokenEnvironments = map[string]string{account.Sandbox: "SANDBOX", account.Production: "PRODUCTION"}

// signClientToken makes the client token of a session.
func (a *API) signClientToken(s session.State) (string, error) {
	base := strings.TrimSuffix(a.PublicURL, "/")
	return jwt.NewWithClaims(jwt.SigningMethodHS256, tokenClaims{
		AccessToken: string(s.ID), Env: tokenEnvironments[a.Environment], Intent: intentCheckout,
		CoreURL: base, PciURL: base, ConfigurationURL: base + "/checkout/configuration", AccountID: string(s.Account),
		RegisteredClaims: jwt.RegisteredClaims{ExpiresAt: jwt.NewNumericDate(s.ExpiresAt.Truncate(time.Second))},
	}).SignedString(a.ClientTokenKey)
}

// authenticateBrowser reads the client token, or its access token alone (D12).
func (c *call) authenticateBrowser() error {
	text := clientToken(c.r.Header)
	if text == "" {
		return domain.Refuse(domain.KindUnauthorized, domain.ReasonUnauthorized, "The header X-Client-Token is missing.")
	}
	owner, id, err := c.sessionOf(text)
	if err != nil {
		return err
	}
	merchant, known := c.api.Reader.Account(owner)
	if !known {
		return badClientToken()
	}
	c.merchant, c.session, c.actor = merchant, id, "client_token:"+string(id)
	return nil
}

// sessionOf tells which session of which account a client token stands for.
func (c *call) sessionOf(text string) (domain.AccountID, domain.SessionID, error) {
	if !strings.Contains(text, ".") {
		return c.sessionOfAccessToken(domain.SessionID(text))
	}
	var claims tokenClaims
	_, err := jwt.ParseWithClaims(text, &claims, func(*jwt.Token) (any, error) { return c.api.ClientTokenKey, nil },
		jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}), jwt.WithTimeFunc(c.api.Now), jwt.WithExpirationRequired())
	if err != nil || claims.Env != tokenEnvironments[c.api.Environment] || claims.Intent != intentCheckout {
		return "", "", badClientToken()
	}
	return domain.AccountID(claims.AccountID), domain.SessionID(claims.AccessToken), nil
}

// sessionOfAccessToken looks the session up: an access token alone does not say when it expires.
func (c *call) sessionOfAccessToken(id domain.SessionID) (domain.AccountID, domain.SessionID, error) {
	if !domain.ValidID(string(id)) {
		return "", "", badClientToken()
	}
	owner, known, err := c.api.Reader.SessionAccount(c.ctx, id)
	if err == nil && !known {
		err = badClientToken()
	}
	if err == nil {
		_, err = c.api.Commands.Session(c.ctx, owner, id)
	}
	return owner, id, err
}

func badClientToken() error {
	return domain.Refuse(domain.KindInvalid, domain.ReasonSessionValidation, "The client token is not known or has expired.")
}
