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

// CheckActor returns an error if the API key of a request was revoked before the decision, or if
// its user was removed or the user's session has ended, as it does with a change of the role:
// nothing that they change of the account comes after their end. An empty session is not looked
// for.
func (s State) CheckActor(actor string, session domain.UserSessionID, at time.Time) error {
	what, id, _ := strings.Cut(actor, ":")
	_, isKey := s.Key(domain.APIKeyID(id))
	_, isUser := s.User(domain.UserID(id))
	_, open := s.UserSession(domain.UserID(id), session, at)
	switch {
	case what == "api_key" && !isKey:
		return domain.Refuse(domain.KindUnauthorized, domain.ReasonUnauthorized, "The API key of this request was revoked.")
	case what == "user" && !isUser:
		return domain.Refuse(domain.KindUnauthorized, domain.ReasonUnauthorized, "The user of this request was removed.")
	case what == "user" && session != "" && !open:
		return domain.Refuse(domain.KindUnauthorized, domain.ReasonUnauthorized, "The session of this request has ended.")
	}
	return nil
}
