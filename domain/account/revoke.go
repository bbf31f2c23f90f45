package account

import (
	"slices"
	"time"

	"payledger/domain"
)

// APIKeyRevoked says that an API key is no longer valid.
type APIKeyRevoked struct {
	At time.Time       `json:"at"` // when it was decided, UTC
	ID domain.APIKeyID `json:"id"` // the revoked key
}

func (APIKeyRevoked) Type() string  { return "account.api_key_revoked" }
func (APIKeyRevoked) accountEvent() {}

// RevokeAPIKey is the command to revoke a key.
type RevokeAPIKey APIKeyRevoked

// DecideRevokeAPIKey revokes the key. A key may revoke itself, even the last one: `payledger credentials reset` creates a
// new one.
func DecideRevokeAPIKey(s State, c RevokeAPIKey) (Event, error) {
	if _, known := s.Key(c.ID); !known {
		return nil, domain.Refuse(domain.KindNotFound, domain.ReasonEntityNotFound, "There is no API key of this id. It may have been revoked.")
	}
	return APIKeyRevoked(c), nil
}

func evolveRevoked(s State, e APIKeyRevoked) State {
	s.UpdatedAt = e.At
	s.APIKeys = slices.DeleteFunc(slices.Clone(s.APIKeys), func(k APIKey) bool { return k.ID == e.ID })
	return s
}
