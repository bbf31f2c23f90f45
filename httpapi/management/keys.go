package management

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore/commands"
	"payledger/httpapi/request"
	"payledger/httpapi/validation"
	"payledger/projections/paymentjson"
)

// keyRequest is the body of POST /management/api-keys (D20).
type keyRequest struct {
	Name      string   `json:"name"`
	Scopes    []string `json:"scopes"`
	ExpiresAt string   `json:"expiresAt"`
}

// keyAnswer is an API key; its text is answered once, when it is made.
type keyAnswer struct {
	ID        domain.APIKeyID   `json:"id"`
	Name      string            `json:"name"`
	Scopes    []string          `json:"scopes"`
	CreatedAt paymentjson.Time  `json:"createdAt"`
	ExpiresAt *paymentjson.Time `json:"expiresAt,omitempty"`
	// LastUsedAt is a whole minute; nil when no use is known.
	LastUsedAt *paymentjson.Time `json:"lastUsedAt,omitempty"`
	APIKey     string            `json:"apiKey,omitempty"`
}

// ListAPIKeys serves GET /management/api-keys.
func (h *Handlers) ListAPIKeys(c *request.Call) (any, error) {
	keys := make([]keyAnswer, len(c.Merchant.APIKeys))
	for i, k := range c.Merchant.APIKeys {
		keys[i] = h.renderKey(c, k, "")
	}
	return request.Page(c, keys, func(k keyAnswer) string { return string(k.ID) })
}

// CreateAPIKey serves POST /management/api-keys.
func (h *Handlers) CreateAPIKey(c *request.Call) (any, error) {
	body, err := request.Decode[keyRequest](c)
	if err != nil {
		return nil, err
	}
	if err := h.checkGiven(c, body.Scopes); err != nil {
		return nil, err
	}
	in := commands.APIKeyInput{Name: body.Name, Scopes: body.Scopes}
	if body.ExpiresAt != "" {
		at, err := validation.ParseTime(body.ExpiresAt)
		if err != nil {
			return nil, err
		}
		in.ExpiresAt = &at
	}
	if err := h.checkEnd(c, in.ExpiresAt); err != nil {
		return nil, err
	}
	made, text, err := h.Commands.CreateAPIKey(c.Ctx, c.Caller(), in)
	if err != nil {
		return nil, err
	}
	h.show(c)
	return h.renderKey(c, made, text), nil
}

// checkGiven refuses scopes that the caller's own key does not have, all of them at once: a key cannot make a key that may
// do more (D2).
func (h *Handlers) checkGiven(c *request.Call, scopes []string) error {
	lacks := slices.DeleteFunc(slices.Clone(scopes), c.Key.Allows)
	if len(lacks) == 0 {
		return nil
	}
	return domain.Refuse(domain.KindForbidden, domain.ReasonMissingScope,
		"A key gives only scopes that it has. The API key lacks %s: make the new key with one that has them, or without them.", strings.Join(lacks, ", "))
}

// checkEnd refuses a key that would outlive the caller's own: a key that ends can give nobody, its holder included, more time
// than it has (D2). nil is a key without an end.
func (h *Handlers) checkEnd(c *request.Call, end *time.Time) error {
	own := c.Key.ExpiresAt
	if own == nil || end != nil && !end.After(*own) {
		return nil
	}
	return domain.Invalid("ApiKeyRequest", domain.Violation{Path: "$.expiresAt", Description: fmt.Sprintf(
		"must be sent and not be later than %s, when the API key of this request expires", own.UTC().Format("2006-01-02T15:04:05.000000Z"))})
}

// RevokeAPIKey serves DELETE /management/api-keys/{id}. Every node reads the account anew for each request (AccountByKey), so no
// request that comes after the answer is let in by the key.
func (h *Handlers) RevokeAPIKey(c *request.Call) (any, error) {
	revoked, err := h.Commands.RevokeAPIKey(c.Ctx, c.Caller(), domain.APIKeyID(c.Vars["id"]))
	if err != nil {
		return nil, err
	}
	h.show(c)
	return h.renderKey(c, revoked, ""), nil
}

func (h *Handlers) renderKey(c *request.Call, k account.APIKey, text string) keyAnswer {
	a := keyAnswer{ID: k.ID, Name: k.Name, Scopes: k.Scopes, CreatedAt: paymentjson.Time{Time: k.CreatedAt}, APIKey: text}
	if k.ExpiresAt != nil {
		at := paymentjson.Time{Time: *k.ExpiresAt}
		a.ExpiresAt = &at
	}
	if last, known := h.KeyUses.Last(k.ID); known {
		a.LastUsedAt = &paymentjson.Time{Time: last}
	}
	return a
}

// keyRules: D20.
func keyRules(v *validation.Violations, c *request.Call) {
	if text, ok := c.Body.Tree["expiresAt"].(string); ok {
		if _, err := validation.ParseTime(text); err != nil {
			v.Add("$.expiresAt", "must be an RFC 3339 date")
		}
	}
}
