package account

import (
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

// DecideRevokeAPIKey revokes the key. A key may revoke even itself: `payledger credentials reset`
// creates a new one.
func DecideRevokeAPIKey(s State, c RevokeAPIKey) (Event, error) {
	if _, known := s.Key(c.ID); !known {
		return nil, domain.Refuse(domain.KindNotFound, domain.ReasonEntityNotFound, "There is no API key of this id. It may have been revoked.")
	}
	return APIKeyRevoked(c), nil
}
