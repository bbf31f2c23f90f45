package account

import (
	"strings"
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

// CheckActor returns an error for the API key of a request if the key was revoked before the
// decision: nothing that it changes of the account comes after its end.
func (s State) CheckActor(actor string) error {
	id, isKey := strings.CutPrefix(actor, "api_key:")
	if _, known := s.Key(domain.APIKeyID(id)); isKey && !known {
		return domain.Refuse(domain.KindUnauthorized, domain.ReasonUnauthorized, "The API key of this request was revoked.")
	}
	return nil
}
