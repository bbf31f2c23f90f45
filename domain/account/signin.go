package account

import (
	"errors"
	"slices"
	"time"

	"payledger/domain"
)

const (
	MaxFailures     = 10               // wrong passwords of a network in a row that slow it down, or codes that lock a user
	LockFor         = 15 * time.Minute // from the last of them
	ForgetFailures  = 24 * time.Hour   // after which a wrong code does not count any more
	MaxUserSessions = 5                // of a user: a further sign-in ends the oldest one
	SessionLife     = 12 * time.Hour   // of a session, from its sign-in
	RecoveryCodes   = 8                // of a TOTP secret, each accepted once
)

// UserSession is a session of a user, from the sign-in to its end.
type UserSession struct {
	ID        domain.UserSessionID `json:"sessionId"` // names the session
	User      domain.UserID        `json:"userId"`    // the signed-in user
	At        time.Time            `json:"at"`        // of the sign-in, UTC
	ExpiresAt time.Time            `json:"expiresAt"` // the session ends then at the latest, UTC
}

// UserSession returns a user's session that has not ended at now.
func (s State) UserSession(user domain.UserID, id domain.UserSessionID, now time.Time) (UserSession, bool) {
	return at(s.UserSessions, slices.IndexFunc(s.UserSessions, func(o UserSession) bool {
		return o.ID == id && o.User == user && now.Before(o.ExpiresAt)
	}))
}

// acting returns an error if the session in whose name a user begins a new one has ended: a session
// that somebody ended does not go on as another one.
func (s State) acting(user domain.UserID, id domain.UserSessionID, now time.Time) error {
	if _, open := s.UserSession(user, id, now); !open {
		return domain.Refuse(domain.KindNotFound, domain.ReasonEntityNotFound, "The session of this request has ended.")
	}
	return nil
}

// UserSignedIn says that a user began a session with the password and, if the second factor is on,
// with a code of the app or a recovery code.
type UserSignedIn struct {
	At           time.Time            `json:"at"`                     // when it was decided, UTC
	User         domain.UserID        `json:"userId"`                 // the signed-in user
	Session      domain.UserSessionID `json:"sessionId"`              // the new session
	ExpiresAt    time.Time            `json:"expiresAt"`              // the session ends then at the latest, UTC
	TOTPCounter  uint64               `json:"totpCounter,omitempty"`  // of the code: it is not accepted again; absent: no such code was needed
	RecoveryCode uint64               `json:"recoveryCode,omitempty"` // the number of the recovery code that took its place, from 1: it is not accepted again
	From         string               `json:"from,omitempty"`         // address of the browser
}

// UserSignedOut says that a user has ended a session.
type UserSignedOut struct {
	At      time.Time            `json:"at"`             // when it was decided, UTC
	User    domain.UserID        `json:"userId"`         // the user of the session
	Session domain.UserSessionID `json:"sessionId"`      // the ended session
	From    string               `json:"from,omitempty"` // address of the browser
}

// UserSignInFailed says that somebody gave a wrong password, or a wrong code after the right
// password. It locks nobody: a network, a device or a session that gives too many waits (D22.13).
type UserSignInFailed struct {
	At    time.Time     `json:"at"`              // when it was decided, UTC
	User  domain.UserID `json:"userId"`          // the user whose name was given
	Code  bool          `json:"code,omitempty"`  // the password was right, the code was wrong
	From  string        `json:"from,omitempty"`  // address of the browser
	Slows string        `json:"slows,omitempty"` // the network, device or session that it counts for; absent: it counts for the user
	Until time.Time     `json:"until,omitempty"` // what it counts for has no further try before this time, UTC; absent: it has
}

// UserLocked says that a wrong code was one too many. Who gives it knows the password: the user
// cannot sign in on a new device until a time.
type UserLocked struct {
	At    time.Time     `json:"at"`             // when it was decided, UTC
	User  domain.UserID `json:"userId"`         // the user whose name was given
	Code  bool          `json:"code,omitempty"` // the password was right, the code was wrong
	Until time.Time     `json:"until"`          // the end of the lock, UTC
	From  string        `json:"from,omitempty"` // address of the browser
}

func (UserSignedIn) Type() string     { return "account.user_signed_in" }
func (UserSignedOut) Type() string    { return "account.user_signed_out" }
func (UserSignInFailed) Type() string { return "account.user_sign_in_failed" }
func (UserLocked) Type() string       { return "account.user_locked" }

func (UserSignedIn) accountEvent()     {}
func (UserSignedOut) accountEvent()    {}
func (UserSignInFailed) accountEvent() {}
func (UserLocked) accountEvent()       {}

// Locked is the error for a user who cannot sign in on a new device before a time.
type Locked struct{ Until time.Time }

func (e *Locked) Error() string {
	return "the user is locked until " + e.Until.UTC().Format(time.RFC3339)
}

// ErrCodeUsed means that a code was used before, or that it is older than a used one.
var ErrCodeUsed = errors.New("the code was used before")

// Locked returns the error of a user who is locked at now; nil if the user is not. A lock stops
// codes of new devices only.
func (u User) Locked(now time.Time) error {
	if now.Before(u.LockedUntil) {
		return &Locked{Until: u.LockedUntil}
	}
	return nil
}

// Proof names the secrets that a password and a code were checked with.
type Proof struct {
	Password    domain.SecretID // the verifier; "": no password was checked
	TOTP        domain.SecretID // "": no code was checked
	TOTPCounter uint64          // of the code
	Recovery    uint64          // the number of the recovery code in its place, from 1; 0: there is none
	Known       bool            // the code came from a device or a session of the user, whose wrong codes are counted apart
}

// holds refuses a proof that is not one any more: a code of a new device while the user is locked,
// a secret that was replaced, a code that was used.
func (s State) holds(user domain.UserID, p Proof, at time.Time) error {
	u, known := s.User(user)
	if !known {
		return NoUser()
	}
	if err := u.Locked(at); err != nil && p.TOTP != "" && !p.Known {
		return err
	}
	if p.Password != "" && p.Password != u.Password || p.TOTP != u.TOTP {
		return replaced()
	}
	switch {
	case p.TOTP == "":
		return nil
	case p.Recovery > 0 && u.recovered(p.Recovery), p.Recovery == 0 && p.TOTPCounter <= u.TOTPCounter:
		return ErrCodeUsed
	}
	return nil
}

func replaced() error {
	return domain.Refuse(domain.KindConflict, domain.ReasonConcurrentModification, "The user's password or second factor was changed at the same moment.")
}

// SignIn is the command to begin a session of a user who gave the right password and code.
type SignIn struct {
	At      time.Time
	User    domain.UserID
	Proof   Proof
	Session domain.UserSessionID
	From    string
}

// DecideSignIn begins the session. A code is accepted once, even if two nodes checked it.
func DecideSignIn(s State, c SignIn) (Event, error) {
	if err := s.holds(c.User, c.Proof, c.At); err != nil {
		return nil, err
	}
	return UserSignedIn{
		At: c.At, User: c.User, Session: c.Session, ExpiresAt: c.At.Add(SessionLife), TOTPCounter: c.Proof.TOTPCounter, RecoveryCode: c.Proof.Recovery, From: c.From,
	}, nil
}

// FailSignIn is the command to count a wrong password or code.
type FailSignIn UserSignInFailed

// DecideFailSignIn records the failure. The MaxFailures-th failure that counts for the user locks
// the user. Failures of a locked user do not count: the lock ends at its time.
func DecideFailSignIn(s State, c FailSignIn) (Event, error) {
	u, known := s.User(c.User)
	if !known {
		return nil, NoUser()
	}
	if c.Slows != "" {
		return UserSignInFailed(c), nil
	}
	if err := u.Locked(c.At); err != nil {
		return nil, err
	}
	if u.failuresAt(c.At)+1 < MaxFailures {
		return UserSignInFailed(c), nil
	}
	return UserLocked{At: c.At, User: c.User, Code: c.Code, Until: c.At.Add(LockFor), From: c.From}, nil
}

func (u User) failuresAt(at time.Time) int64 {
	if at.Sub(u.FailedAt) >= ForgetFailures {
		return 0
	}
	return u.Failures
}

// SignOut is the command to end a session.
type SignOut UserSignedOut

// DecideSignOut ends the session; the event is nil if it has ended already.
func DecideSignOut(s State, c SignOut) (Event, error) {
	if _, there := s.UserSession(c.User, c.Session, c.At); !there {
		return nil, nil
	}
	return UserSignedOut(c), nil
}

func evolveSignIn(s State, e Event) State {
	switch e := e.(type) {
	case UserSignedIn:
		s = s.withUser(e.User, e.At, func(u *User) {
			u.SignedInAt, u.TOTPCounter = e.At, max(u.TOTPCounter, e.TOTPCounter)
			if e.RecoveryCode > 0 {
				u.RecoveryUsed |= recoveryBit(e.RecoveryCode)
			}
			u.unlock()
		})
		s = s.withSession(UserSession{ID: e.Session, User: e.User, At: e.At, ExpiresAt: e.ExpiresAt})
	case UserSignedOut:
		s.UserSessions, s.UpdatedAt = slices.DeleteFunc(slices.Clone(s.UserSessions), func(o UserSession) bool { return o.ID == e.Session }), e.At
	case UserSignInFailed:
		if e.Slows != "" {
			s.UpdatedAt = e.At
			break
		}
		s = s.withUser(e.User, e.At, func(u *User) { u.Failures, u.FailedAt = u.failuresAt(e.At)+1, e.At })
	case UserLocked:
		s = s.withUser(e.User, e.At, func(u *User) { u.Failures, u.FailedAt, u.LockedUntil = 0, time.Time{}, e.Until })
	}
	return s
}

func (u *User) unlock() { u.Failures, u.FailedAt, u.LockedUntil = 0, time.Time{}, time.Time{} }

// withSession adds a session. It leaves out the account's expired sessions, and the user's oldest
// ones above MaxUserSessions.
func (s State) withSession(made UserSession) State {
	kept, own := []UserSession{made}, 1
	for _, o := range slices.Backward(s.UserSessions) {
		if !made.At.Before(o.ExpiresAt) {
			continue
		}
		if o.User == made.User {
			if own++; own > MaxUserSessions {
				continue
			}
		}
		kept = append(kept, o)
	}
	slices.Reverse(kept)
	s.UserSessions = kept
	return s
}

func (s State) withoutSessions(user domain.UserID) State {
	s.UserSessions = slices.DeleteFunc(slices.Clone(s.UserSessions), func(o UserSession) bool { return o.User == user })
	return s
}
