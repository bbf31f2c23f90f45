package account

import (
	"slices"
	"time"

	"payledger/domain"
)

// UserPasswordReset says that a dashboard user has a new password instead of the previous one.
type UserPasswordReset struct {
	At       time.Time       `json:"at"`       // when it was decided, UTC
	User     domain.UserID   `json:"userId"`   // the user with the new password
	Password domain.SecretID `json:"password"` // names the verifier in the stream of secrets
}

func (UserPasswordReset) Type() string  { return "account.user_password_reset" }
func (UserPasswordReset) accountEvent() {}

// ResetUserPassword is the command to set a user's new password. Its verifier is stored already.
type ResetUserPassword struct {
	UserPasswordReset
	Replaces domain.SecretID // the verifier that the new one follows
}

// DecideResetUserPassword sets the new password. Of two simultaneous resets one fails: verifiers follow each other in the
// order of their numbers, so that older ones can be destroyed.
func DecideResetUserPassword(s State, c ResetUserPassword) (Event, error) {
	if !slices.ContainsFunc(s.Users, func(u User) bool { return u.ID == c.User && u.Password == c.Replaces }) {
		return nil, domain.Refuse(domain.KindConflict, domain.ReasonConcurrentModification, "The user's password was reset at the same moment, or the user does not exist.")
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
