package httpapi

import (
	"bytes"
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore/secrets/apikey"
	"payledger/httpapi/clienttoken"
	"payledger/httpapi/management"
)

const apiVersion = "2.4"

// authenticate identifies the caller (D2). All failures have the same answer.
func (c *call) authenticate() error {
	if c.user != nil {
		c.authenticateUser()
		return nil
	}
	switch c.route.access {
	case byNothing, byPage, bySignature:
		return nil
	case byClientToken:
		return c.authenticateBrowser()
	case byActionToken:
		return c.authenticateAction()
	}
	return c.authenticateKey(c.r.Header.Get("X-Api-Key"))
}

// authenticateKey checks the key as this node knows it first: unknown keys and keys above their
// rate limit cost no reading of the log. Then it reads the newest state of the account: a revoked
// key is missing there.
func (c *call) authenticateKey(text string) error {
	environment, id, err := apikey.Parse(text)
	if err != nil || environment != c.api.Environment {
		return unauthorized()
	}
	known, found := c.api.Reader.APIKey(id)
	if !found || !apikey.Matches(known.Hash, text) || !known.Valid(c.api.Now()) {
		return unauthorized()
	}
	if err := c.checkLimit(caller{byAPIKey, string(known.ID)}, "API key"); err != nil {
		return err
	}
	if err := c.readKey(known); err != nil {
		return err
	}
	c.api.KeyUses.Note(id, c.api.Now())
	c.Actor = "api_key:" + string(id)
	return nil
}

// readKey reads the newest state of the account, with its key.
func (c *call) readKey(known account.APIKey) error {
	merchant, found, err := c.api.Reader.AccountByKey(c.Ctx, known.ID)
	if err != nil {
		return err
	}
	if !found {
		return unauthorized()
	}
	key, found := merchant.Key(known.ID)
	if !found || !bytes.Equal(key.Hash, known.Hash) || !key.Valid(c.api.Now()) {
		return unauthorized()
	}
	c.Merchant, c.Key = merchant, key
	return nil
}

// checkKeyAgain checks the API key of a change again, after everything that a caller can make long:
// the key may have been revoked while the body was on its way (D20). It counts for no rate limit.
func (c *call) checkKeyAgain() error {
	if c.Key.ID == "" || c.r.Method == http.MethodGet || c.r.Method == http.MethodHead {
		return nil
	}
	if err := c.readKey(c.Key); err != nil {
		return err
	}
	return c.checkScope()
}

func unauthorized() error {
	return domain.Refuse(domain.KindUnauthorized, domain.ReasonUnauthorized,
		"The header X-API-KEY is missing, or its key is not known, not valid any more, or of another environment.")
}

func (c *call) checkVersion() error {
	if !c.route.versioned || c.user != nil {
		return nil
	}
	switch version := c.r.Header.Get("X-Api-Version"); version {
	case apiVersion:
		return nil
	case "":
		return domain.Refuse(domain.KindInvalid, domain.ReasonAPIVersionMissing,
			"The header X-API-VERSION is missing. Supported: %s.", apiVersion)
	default:
		return domain.Refuse(domain.KindInvalid, domain.ReasonAPIVersionNotSupported,
			"The API version is not supported. Supported: %s.", apiVersion)
	}
}

func (c *call) checkScope() error {
	for _, scope := range []string{c.route.scope, management.OperationScope(c.route.operation)} {
		if scope != "" && !c.Key.Allows(scope) {
			return domain.Refuse(domain.KindForbidden, domain.ReasonMissingScope, "The API key lacks the scope %s.", scope)
		}
	}
	return nil
}

// The headers that carry the client token; the second is an alias (D12).
const clientTokenHeader, clientTokenAlias = "X-Client-Token", "Primer-Client-Token"

// authenticateBrowser reads the client token of a session, or its access token alone (D12).
func (c *call) authenticateBrowser() error {
	text, err := c.browsersToken()
	if err != nil {
		return err
	}
	merchant, id, err := c.sessionOf(text)
	if err != nil {
		return err
	}
	c.Merchant, c.Session, c.Actor = merchant, id, "client_token:"+string(id)
	if err := c.narrowOrigin(); err != nil {
		return err
	}
	return c.checkLimit(caller{byClientToken, string(id)}, "client token")
}

func (c *call) sessionOf(text string) (account.State, domain.SessionID, error) {
	owner, access, err := c.api.tokens.ReadSession(c.Ctx, text)
	if err != nil {
		return account.State{}, "", err
	}
	merchant, known := c.api.Reader.Account(owner)
	if !known {
		return account.State{}, "", clienttoken.Refused()
	}
	return merchant, c.api.tokens.SessionID(access), nil
}

// authenticateAction reads the client token of a required action; no other client token is accepted
// (D12).
func (c *call) authenticateAction() error {
	text, err := c.browsersToken()
	if err != nil {
		return err
	}
	return c.enterAction(text)
}

func (c *call) enterAction(text string) error {
	owner, action, err := c.api.tokens.ReadAction(text)
	if err != nil {
		return err
	}
	merchant, known := c.api.Reader.Account(owner)
	if !known {
		return clienttoken.Refused()
	}
	c.Merchant, c.Action = merchant, action
	if err := c.narrowOrigin(); err != nil {
		return err
	}
	return c.checkLimit(caller{byActionToken, string(action.Payment)}, "client token")
}

func (c *call) browsersToken() (string, error) {
	text := cmp.Or(c.r.Header.Get(clientTokenHeader), c.r.Header.Get(clientTokenAlias))
	if text == "" {
		return "", domain.Refuse(domain.KindUnauthorized, domain.ReasonUnauthorized, "The header X-Client-Token is missing.")
	}
	return text, nil
}

// options answers an OPTIONS request: it names the methods of a path, and needs no credential
// (D22.7).
type options struct{ methods []string }

const (
	// preflightAge is the time for which a browser may keep the answer to a preflight, in seconds.
	preflightAge = "7200"
	// shownHeaders are the headers of an answer that a page of another origin may read.
	shownHeaders = "X-Request-Id, Retry-After"
)

// allowOrigin allows pages of any origin to read the answer of a call that needs a client token
// (D22.6). The client token is a header, and no cookie counts, so a page can do nothing for its
// visitor that its server could not do.
func (c *call) allowOrigin() {
	if c.user == nil && (c.route.access == byClientToken || c.route.access == byActionToken) {
		c.w.Header().Set("Access-Control-Allow-Origin", "*")
		c.w.Header().Set("Access-Control-Expose-Headers", shownHeaders)
	}
}

// narrowOrigin allows the call to pages of the account's checkoutOrigins only, and to the service's
// own (D22.6). A page that may not read the answer must not make the call either: its customer
// would see a failure, and pay again. A preflight has no token, so it names no account.
func (c *call) narrowOrigin() error {
	origins := c.Merchant.Settings.CheckoutOrigins
	if len(origins) == 0 || c.route.access == byPage {
		return nil
	}
	h, origin := c.w.Header(), c.r.Header.Get("Origin")
	h.Add("Vary", "Origin")
	switch {
	case slices.Contains(origins, origin):
		h.Set("Access-Control-Allow-Origin", origin)
		return nil
	case origin == "" || c.isOwn(origin): // no browser, or a page of this service
		h.Del("Access-Control-Allow-Origin")
		return nil
	}
	h.Del("Access-Control-Allow-Origin")
	refused := domain.Refuse(domain.KindUnauthorized, domain.ReasonUnauthorized, "The account does not allow this call to pages of the origin %q.", origin)
	refused.Recovery = "Add the page's origin to the setting checkoutOrigins: PATCH /management/settings. Or use the hosted page: GET /checkout. " +
		"If this is the hosted page, behind a proxy, start the service with its address as browsers see it: --public-url."
	if secure := originOf("https://" + c.r.Host); origin == secure {
		refused.Recovery = "If this is the hosted page, a proxy in front of the service ends TLS: start the service with --public-url " + secure +
			" (PAYLEDGER_PUBLIC_URL). For another page, or until then, add the origin to the setting checkoutOrigins: PATCH /management/settings."
	}
	return refused
}

// isOwn reports whether an origin is that of this service: that of the public URL, or of the
// connection on which the request came. Scheme, host and port are compared. A proxy may end TLS and
// change the host, and any client can send X-Forwarded headers: they do not count.
func (c *call) isOwn(origin string) bool {
	scheme := "http"
	if c.r.TLS != nil {
		scheme = "https"
	}
	own := []string{originOf(scheme + "://" + c.r.Host), originOf(c.api.PublicURL)}
	return origin != "" && slices.Contains(own, origin)
}

// originOf returns the origin of a URL as browsers send it: in lower case, and without the default
// port. "": it is not http or https.
func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	return u.Scheme + "://" + strings.TrimSuffix(strings.ToLower(u.Host), map[string]string{"http": ":80", "https": ":443"}[u.Scheme])
}

func (c *call) answerOptions(o options) outcome {
	h := c.w.Header()
	h.Set("Allow", strings.Join(append(slices.Clone(o.methods), http.MethodOptions), ", "))
	h.Set("Content-Length", "0")
	h.Del("Access-Control-Allow-Origin")
	if wanted := c.r.Header.Get("Access-Control-Request-Method"); wanted != "" {
		c.answerPreflight(wanted)
	}
	c.w.WriteHeader(http.StatusOK)
	return outcome{status: http.StatusOK}
}

// answerPreflight allows a page of any origin to make the call, if the call needs a client token
// (D22.6).
func (c *call) answerPreflight(method string) {
	c.w.Header().Set("Vary", "Access-Control-Request-Method, Access-Control-Request-Headers")
	r, _, known := c.api.match(c.r, method)
	if c.route = r; !known {
		return
	}
	if c.allowOrigin(); c.w.Header().Get("Access-Control-Allow-Origin") == "" {
		return
	}
	c.w.Header().Set("Access-Control-Allow-Methods", method)
	c.w.Header().Set("Access-Control-Allow-Headers", c.r.Header.Get("Access-Control-Request-Headers"))
	c.w.Header().Set("Access-Control-Max-Age", preflightAge)
}
