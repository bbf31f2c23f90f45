package httpapi

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore/commands"
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

// listAPIKeys: GET /management/api-keys.
func listAPIKeys(c *call) (any, error) {
	keys := make([]keyAnswer, len(c.merchant.APIKeys))
	for i, k := range c.merchant.APIKeys {
		keys[i] = c.renderKey(k, "")
	}
	return page(c, keys, func(k keyAnswer) string { return string(k.ID) })
}

// createAPIKey: POST /management/api-keys.
func createAPIKey(c *call) (any, error) {
	body, err := decode[keyRequest](c)
	if err != nil {
		return nil, err
	}
	if err := c.checkGiven(body.Scopes); err != nil {
		return nil, err
	}
	in := commands.APIKeyInput{Name: body.Name, Scopes: body.Scopes}
	if body.ExpiresAt != "" {
		at, err := parseTime(body.ExpiresAt)
		if err != nil {
			return nil, err
		}
		in.ExpiresAt = &at
	}
	if err := c.checkEnd(in.ExpiresAt); err != nil {
		return nil, err
	}
	made, text, err := c.api.Commands.CreateAPIKey(c.ctx, c.caller(), in)
	if err != nil {
		return nil, err
	}
	c.show()
	return c.renderKey(made, text), nil
}

// checkGiven refuses scopes that the caller's own key does not have, all of them at once: a key cannot make a key that may
// do more (D2).
func (c *call) checkGiven(scopes []string) error {
	lacks := slices.DeleteFunc(slices.Clone(scopes), c.key.Allows)
	if len(lacks) == 0 {
		return nil
	}
	return domain.Refuse(domain.KindForbidden, domain.ReasonMissingScope,
		"A key gives only scopes that it has. The API key lacks %s: make the new key with one that has them, or without them.", strings.Join(lacks, ", "))
}

// checkEnd refuses a key that would outlive the caller's own: a key that ends can give nobody, its holder included, more time
// than it has (D2). nil is a key without an end.
func (c *call) checkEnd(end *time.Time) error {
	own := c.key.ExpiresAt
	if own == nil || end != nil && !end.After(*own) {
		return nil
	}
	return domain.Invalid("ApiKeyRequest", domain.Violation{Path: "$.expiresAt", Description: fmt.Sprintf(
		"must be sent and not be later than %s, when the API key of this request expires", own.UTC().Format("2006-01-02T15:04:05.000000Z"))})
}

// revokeAPIKey: DELETE /management/api-keys/{id}. Every node reads the account anew for each request (AccountByKey), so no
// request that comes after the answer is let in by the key.
func revokeAPIKey(c *call) (any, error) {
	revoked, err := c.api.Commands.RevokeAPIKey(c.ctx, c.caller(), domain.APIKeyID(c.vars["id"]))
	if err != nil {
		return nil, err
	}
	c.show()
	return c.renderKey(revoked, ""), nil
}

// shownWithin is how long an answer waits for the views; longer, and the caller is better served without.
const shownWithin = 5 * time.Second

// show waits until this node's views show what was made: a key works, and a list has it, as soon as its
// creation is answered (D20). Views that stand still do not take the answer away, in which a key is shown
// once.
func (c *call) show() {
	ctx, cancel := context.WithTimeout(c.ctx, shownWithin)
	defer cancel()
	if err := c.api.Reader.CaughtUp(ctx); err != nil {
		c.api.Logger.Warn().Err(err).Str("requestId", c.id).Msg("answered before the views show it")
	}
}

func (c *call) renderKey(k account.APIKey, text string) keyAnswer {
	a := keyAnswer{ID: k.ID, Name: k.Name, Scopes: k.Scopes, CreatedAt: paymentjson.Time{Time: k.CreatedAt}, APIKey: text}
	if k.ExpiresAt != nil {
		at := paymentjson.Time{Time: *k.ExpiresAt}
		a.ExpiresAt = &at
	}
	if last, known := c.api.KeyUses.Last(k.ID); known {
		a.LastUsedAt = &paymentjson.Time{Time: last}
	}
	return a
}
