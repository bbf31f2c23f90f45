package httpapi_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"payledger/domain/account"
	"payledger/httpapi"
)

var someCard = `{"paymentInstrument":{"number":"4111111111111111","cvv":"737","expirationMonth":"03","expirationYear":"` + expires + `"}}`

// sign makes a token of our shape with other claims, key or algorithm.
func sign(t *testing.T, method jwt.SigningMethod, key any, claims jwt.MapClaims) string {
	t.Helper()
	text, err := jwt.NewWithClaims(method, claims).SignedString(key)
	must(t, err)
	return text
}

// otherBytes is the token with one bit of its signature changed.
func otherBytes(t *testing.T, token string) string {
	t.Helper()
	at := strings.LastIndex(token, ".") + 1
	signature, err := base64.RawURLEncoding.Strict().DecodeString(token[at:])
	must(t, err)
	signature[0] ^= 1
	return token[:at] + base64.RawURLEncoding.EncodeToString(signature)
}

// otherSpelling is the token with a bit set that belongs to no byte of its signature: another text
// of the same bytes.
func otherSpelling(t *testing.T, token string) string {
	t.Helper()
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := len(token) - 1
	other := token[:last] + string(digits[strings.IndexByte(digits, token[last])|1])
	at := strings.LastIndex(token, ".") + 1
	want, err := base64.RawURLEncoding.DecodeString(token[at:])
	must(t, err)
	got, err := base64.RawURLEncoding.DecodeString(other[at:])
	must(t, err)
	if other == token || !bytes.Equal(got, want) {
		t.Fatalf("%s is no other spelling of %s", other, token)
	}
	return other
}

// TestClientToken checks the claims of a client token (D4), and which tokens the checkout accepts
// (D12).
func TestClientToken(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	session := r.want(r.do(request{method: "POST", path: "/client-session", body: someSession}), 200, "")
	token := session.text1("clientToken")
	body, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	must(t, err)
	var claims jwt.MapClaims
	must(t, json.Unmarshal(body, &claims))
	_, err = jwt.Parse(token, func(*jwt.Token) (any, error) { return tokenKey, nil }, jwt.WithValidMethods([]string{"HS256"}))
	must(t, err)
	expires, err := time.Parse(time.RFC3339Nano, session.text1("clientExpirationDate"))
	must(t, err)
	for name, want := range map[string]any{
		"env": "SANDBOX", "intent": "CHECKOUT", "coreUrl": "https://pay.example", "pciUrl": "https://pay.example",
		"configurationUrl": "https://pay.example/checkout/configuration", "accountId": string(r.account.AccountID), "exp": float64(expires.Unix()),
	} {
		if claims[name] != want {
			t.Errorf("claim %s is %v, want %v", name, claims[name], want)
		}
	}
	access := claims["accessToken"].(string)
	with := func(name string, value any) jwt.MapClaims {
		c := maps.Clone(claims)
		c[name] = value
		if value == nil {
			delete(c, name)
		}
		return c
	}
	hs := jwt.SigningMethodHS256
	for _, c := range []struct {
		name, token string
		status      int
		errorID     string
	}{
		{"the token", token, 200, ""},
		{"its access token alone", access, 200, ""},
		{"none", "", 401, "Unauthorized"},
		{"nonsense", "nonsense", 400, "ClientSessionValidationError"},
		{"nonsense with dots", "a.b.c", 400, "ClientSessionValidationError"},
		{"an unknown session", "11111111-0000-4000-8000-000000000001", 400, "ClientSessionValidationError"},
		{"an unknown session, signed", sign(t, hs, tokenKey, with("accessToken", "11111111-0000-4000-8000-000000000001")), 400, "ClientSessionValidationError"},
		{"an unknown account, signed", sign(t, hs, tokenKey, with("accountId", "nobody")), 400, "ClientSessionValidationError"},
		{"other bytes", otherBytes(t, token), 400, "ClientSessionValidationError"},
		{"another spelling", otherSpelling(t, token), 400, "ClientSessionValidationError"},
		{"another key", sign(t, hs, make([]byte, 32), claims), 400, "ClientSessionValidationError"},
		{"no signature", sign(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, claims), 400, "ClientSessionValidationError"},
		{"another algorithm", sign(t, jwt.SigningMethodHS512, tokenKey, claims), 400, "ClientSessionValidationError"},
		{"without expiry", sign(t, hs, tokenKey, with("exp", nil)), 400, "ClientSessionValidationError"},
		{"expired", sign(t, hs, tokenKey, with("exp", 1)), 400, "ClientSessionValidationError"},
		{"of the other environment", sign(t, hs, tokenKey, with("env", "PRODUCTION")), 400, "ClientSessionValidationError"},
		{"for an action", sign(t, hs, tokenKey, with("intent", "3DS_AUTHENTICATION")), 400, "ClientSessionValidationError"},
	} {
		if a := r.browser(c.token, someCard); a.status != c.status || a.errorID() != c.errorID {
			t.Errorf("%s: %d %s", c.name, a.status, a.text)
		}
	}
	alias := r.do(request{method: "POST", path: "/payment-instruments", body: someCard, header: map[string]string{"Primer-Client-Token": token, "X-Api-Key": ""}})
	r.want(alias, 200, "")
	unsure := r.browser("nonsense", "{")
	r.want(unsure, 400, "ClientSessionValidationError") // authentication comes before JSON (D3)
	r.late.Store(3601)
	for _, expired := range []string{token, access} {
		r.want(r.browser(expired, someCard), 400, "ClientSessionValidationError")
	}
}

// TestUnsafeConfig checks that a configuration with forgeable tokens is refused.
func TestUnsafeConfig(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]httpapi.Config{
		"short key":           {ClientTokenKey: make([]byte, 31), Environment: account.Sandbox},
		"unknown environment": {ClientTokenKey: make([]byte, 32), Environment: "staging"},
	} {
		if _, err := httpapi.New(c); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
