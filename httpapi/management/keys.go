package management

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/httpapi/request"
	"payledger/httpapi/validation"
	"payledger/projections/listing"
	"payledger/projections/paymentjson"
)

type keyRequest struct {
	Name      string        `json:"name"`
	Scopes    []string      `json:"scopes"`
	ExpiresAt *request.Date `json:"expiresAt"`
}

// keyAnswer is an API key; only the answer to its creation has its text.
type keyAnswer struct {
	ID         domain.APIKeyID   `json:"id"`
	Name       string            `json:"name"`
	Scopes     []string          `json:"scopes"`
	CreatedAt  paymentjson.Time  `json:"createdAt"`
	ExpiresAt  *paymentjson.Time `json:"expiresAt,omitempty"`
	LastUsedAt *paymentjson.Time `json:"lastUsedAt,omitempty"` // a whole minute; nil when no use is known
	APIKey     string            `json:"apiKey,omitempty"`
}

// ListAPIKeys serves GET /management/api-keys.
func (h *Handlers) ListAPIKeys(c *request.Call) (any, error) {
	keys := request.Map(c.Merchant.APIKeys, func(k account.APIKey) keyAnswer { return h.renderKey(k, "") })
	return request.Page(c, "api-keys", keys, func(k keyAnswer) listing.Place {
		return listing.Place{At: k.CreatedAt.Time, ID: string(k.ID)}
	})
}

// CreateAPIKey serves POST /management/api-keys.
func (h *Handlers) CreateAPIKey(c *request.Call, body keyRequest) (any, error) {
	if err := checkScopes(c, body.Scopes); err != nil {
		return nil, err
	}
	in := account.APIKey{Name: body.Name, Scopes: body.Scopes, ExpiresAt: body.ExpiresAt.Pointer()}
	if err := checkExpiry(c, in.ExpiresAt); err != nil {
		return nil, err
	}
	made, text, err := h.Commands.CreateAPIKey(c.Ctx, c.Caller(), in)
	return h.shown(c, h.renderKey(made, text), err)
}

// checkScopes refuses scopes that the caller's own key does not have, all of them at once (D2).
func checkScopes(c *request.Call, scopes []string) error {
	lacks := slices.DeleteFunc(slices.Clone(scopes), c.Key.Allows)
	if len(lacks) == 0 {
		return nil
	}
	return domain.Refuse(domain.KindForbidden, domain.ReasonMissingScope,
		"A key gives only scopes that it has. The API key lacks %s: make the new key with one that has them, or without them.", strings.Join(lacks, ", "))
}

// checkExpiry refuses a key that would outlive the caller's own (D2). nil is a key that does not
// expire.
func checkExpiry(c *request.Call, end *time.Time) error {
	own := c.Key.ExpiresAt
	if own == nil || end != nil && !end.After(*own) {
		return nil
	}
	return domain.Invalid("ApiKeyRequest", domain.Violation{Path: "$.expiresAt", Description: fmt.Sprintf(
		"must be sent and not be later than %s, when the API key of this request expires", own.UTC().Format("2006-01-02T15:04:05.000000Z"))})
}

// RevokeAPIKey serves DELETE /management/api-keys/{id}. Every request reads AccountByKey, so the
// key admits none after this answer.
func (h *Handlers) RevokeAPIKey(c *request.Call) (any, error) {
	revoked, err := h.Commands.RevokeAPIKey(c.Ctx, c.Caller(), domain.APIKeyID(c.Vars["id"]))
	return h.shown(c, h.renderKey(revoked, ""), err)
}

func (h *Handlers) renderKey(k account.APIKey, text string) keyAnswer {
	a := keyAnswer{ID: k.ID, Name: k.Name, Scopes: k.Scopes, CreatedAt: paymentjson.Time{Time: k.CreatedAt}, ExpiresAt: request.Time(k.ExpiresAt), APIKey: text}
	if last, known := h.KeyUses.Last(k.ID); known {
		a.LastUsedAt = &paymentjson.Time{Time: last}
	}
	return a
}

func keyRules(v *validation.Violations, c *request.Call) {
	v.Date(c.Body.Tree, "expiresAt")
}
