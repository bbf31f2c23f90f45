package account

import "payledger/domain"

// Create is the command to create an account.
type Create struct{ Created }

// DecideCreate creates the account.
func DecideCreate(s State, c Create) (Event, error) {
	if s.Exists() {
		return nil, domain.Refuse(domain.KindConflict, domain.ReasonRequestValidation, "The account exists already.")
	}
	return c.Created, nil
}

// CreateAPIKey is the command to add a key; its text stays with the caller.
type CreateAPIKey APIKeyCreated

// DecideCreateAPIKey adds the key.
func DecideCreateAPIKey(s State, c CreateAPIKey) (Event, error) {
	if len(s.APIKeys) >= MaxAPIKeys {
		return nil, domain.InvalidAt("ApiKeyRequest", "$", "the account has the maximum number of API keys; revoke one")
	}
	if c.Key.ExpiresAt != nil && !c.Key.ExpiresAt.After(c.At) {
		return nil, domain.InvalidAt("ApiKeyRequest", "$.expiresAt", "must be in the future")
	}
	return APIKeyCreated(c), nil
}
