package account

import (
	"slices"
	"time"

	"payledger/domain"
)

// UserPasswordReset says that a dashboard user has a new password instead of the previous one, by
// somebody else's order. All of the user's sessions end, and a lock. A secret for codes that waits
// for its confirmation is dropped.
type UserPasswordReset struct {
	At       time.Time       `json:"at"`       // when it was decided, UTC
	User     domain.UserID   `json:"userId"`   // the user with the new password
	Password domain.SecretID `json:"password"` // names the verifier in the stream of secrets
}

// UserPasswordChanged says that a user chose another password. All of the user's sessions end; a
// new one begins.
type UserPasswordChanged struct {
	At        time.Time            `json:"at"`        // when it was decided, UTC
	User      domain.UserID        `json:"userId"`    // the user with the new password
	Password  domain.SecretID      `json:"password"`  // names the verifier in the stream of secrets
	Session   domain.UserSessionID `json:"sessionId"` // the new session
	ExpiresAt time.Time            `json:"expiresAt"` // the session ends then at the latest, UTC
}

func (UserPasswordReset) Type() string   { return "account.user_password_reset" }
func (UserPasswordChanged) Type() string { return "account.user_password_changed" }

func (UserPasswordReset) accountEvent()   {}
func (UserPasswordChanged) accountEvent() {}

// ResetUserPassword is the command to set a user's new password. Its verifier is stored already.
type ResetUserPassword struct {
	UserPasswordReset
	Replaces domain.SecretID // the verifier that the new one follows
}

// DecideResetUserPassword sets the new password. Of two simultaneous resets one fails, so that
// older verifiers can be destroyed.
func DecideResetUserPassword(s State, c ResetUserPassword) (Event, error) {
	if !slices.ContainsFunc(s.Users, func(u User) bool { return u.ID == c.User && u.Password == c.Replaces }) {
		return nil, domain.Refuse(domain.KindConflict, domain.ReasonConcurrentModification, "The user's password was reset at the same moment, or the user does not exist.")
	}
	return c.UserPasswordReset, nil
}

// ChangeUserPassword is the command to set the password that a user chose. Replaces is the verifier
// that the previous one was checked with.
type ChangeUserPassword struct {
	UserPasswordChanged
	Replaces domain.SecretID
	By       domain.UserSessionID // the session that asks for it
}

// DecideChangeUserPassword sets the password and begins a session.
func DecideChangeUserPassword(s State, c ChangeUserPassword) (Event, error) {
	u, known := s.User(c.User)
	switch {
	case !known:
		return nil, NoUser()
	case u.Password != c.Replaces:
		return nil, replaced()
	}
	if err := s.acting(c.User, c.By, c.At); err != nil {
		return nil, err
	}
	c.ExpiresAt = c.At.Add(SessionLife)
	return c.UserPasswordChanged, nil
}

func evolvePassword(s State, e Event) State {
	switch e := e.(type) {
	case UserPasswordReset:
		return s.withPassword(e.User, e.At, e.Password).withUser(e.User, e.At, func(u *User) { u.TOTPBegun = "" })
	case UserPasswordChanged:
		s = s.withPassword(e.User, e.At, e.Password)
		return s.withSession(UserSession{ID: e.Session, User: e.User, At: e.At, ExpiresAt: e.ExpiresAt})
	}
	return s
}

func (s State) withPassword(user domain.UserID, at time.Time, password domain.SecretID) State {
	return s.withUser(user, at, func(u *User) {
		u.Password = password
		u.unlock()
	}).withoutSessions(user)
}
