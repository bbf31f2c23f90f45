package account

import (
	"slices"
	"time"

	"payledger/domain"
)

// UserPasswordReset says that a user of the dashboard has another password from now on. The one before counts no more.
type UserPasswordReset struct {
	At       time.Time       `json:"at"`
	User     domain.UserID   `json:"userId"`
	Password domain.SecretID `json:"password"` // names the verifier in the stream of secrets
}

// Type names the event in the log.
func (UserPasswordReset) Type() string  { return "account.user_password_reset" }
func (UserPasswordReset) accountEvent() {}

// ResetUserPassword asks for another password of a user. Its verifier is stored already.
type ResetUserPassword struct {
	UserPasswordReset
	Replaces domain.SecretID // the verifier that the new one was made to follow
}

// DecideResetUserPassword makes the new password the user's. Of two resets at the same moment one is refused: verifiers follow
// each other in the order of their numbers, so that the older ones can be destroyed.
func DecideResetUserPassword(s State, c ResetUserPassword) (Event, error) {
	if !slices.ContainsFunc(s.Users, func(u User) bool { return u.ID == c.User && u.Password == c.Replaces }) {
		return nil, domain.Refuse(domain.KindConflict, domain.ReasonConcurrentModification, "The user's password was reset at the same moment, or the user is gone.")
	}
	return c.UserPasswordReset, nil
}

func evolvePassword(s State, e UserPasswordReset) State {
	s.Users, s.UpdatedAt = slices.Clone(s.Users), e.At
	for i := range s.Users {
		if s.Users[i].ID == e.User {
			s.Users[i].Password = e.Password
		}
	}
	return s
}
