package account

import (
	"errors"
	"time"

	"payledger/domain"
)

// UserTOTPBegun says that a user got a secret for one-time codes. It has no effect until the user
// confirms it with a code.
type UserTOTPBegun struct {
	At   time.Time       `json:"at"`     // when it was decided, UTC
	User domain.UserID   `json:"userId"` // the user with the secret
	TOTP domain.SecretID `json:"totp"`   // names the secret in the stream of secrets
}

// UserTOTPEnabled says that a user confirmed the secret: each sign-in needs a code from now on. All
// of the user's sessions end; a new one begins.
type UserTOTPEnabled struct {
	At          time.Time            `json:"at"`          // when it was decided, UTC
	User        domain.UserID        `json:"userId"`      // the user with the secret
	TOTP        domain.SecretID      `json:"totp"`        // names the secret in the stream of secrets
	TOTPCounter uint64               `json:"totpCounter"` // of the code that confirmed it: it is not accepted again
	Session     domain.UserSessionID `json:"sessionId"`   // the new session
	ExpiresAt   time.Time            `json:"expiresAt"`   // the session ends then at the latest, UTC
}

// UserTOTPDisabled says that sign-ins need no code any more. All of the user's sessions end; a new
// one begins if the user did it.
type UserTOTPDisabled struct {
	At        time.Time            `json:"at"`                  // when it was decided, UTC
	User      domain.UserID        `json:"userId"`              // the user
	Session   domain.UserSessionID `json:"sessionId,omitempty"` // the new session; absent: somebody else did it
	ExpiresAt time.Time            `json:"expiresAt,omitempty"` // the session ends then at the latest, UTC
}

func (UserTOTPBegun) Type() string    { return "account.user_totp_begun" }
func (UserTOTPEnabled) Type() string  { return "account.user_totp_enabled" }
func (UserTOTPDisabled) Type() string { return "account.user_totp_disabled" }

func (UserTOTPBegun) accountEvent()    {}
func (UserTOTPEnabled) accountEvent()  {}
func (UserTOTPDisabled) accountEvent() {}

// ErrTOTPOn means that the user has a second factor, which must be turned off before another one.
var ErrTOTPOn = errors.New("the second factor is on already")

// RecoveryLeft returns how many recovery codes a user can still use.
func (u User) RecoveryLeft() int {
	if u.TOTP == "" {
		return 0
	}
	left := 0
	for number := range uint64(RecoveryCodes) {
		if !u.recovered(number + 1) {
			left++
		}
	}
	return left
}

// recovered reports whether a recovery code was used.
func (u User) recovered(number uint64) bool { return u.RecoveryUsed&recoveryBit(number) != 0 }

func recoveryBit(number uint64) uint64 { return 1 << (number - 1) }

// BeginUserTOTP is the command to give a user a secret, which is stored already.
type BeginUserTOTP struct {
	UserTOTPBegun
	Proof Proof // of the password
}

// DecideBeginUserTOTP makes the secret the one to confirm.
func DecideBeginUserTOTP(s State, c BeginUserTOTP) (Event, error) {
	if u, _ := s.User(c.User); u.TOTP != "" {
		return nil, ErrTOTPOn
	}
	if err := s.holds(c.User, c.Proof, c.At); err != nil {
		return nil, err
	}
	return c.UserTOTPBegun, nil
}

// EnableUserTOTP is the command to put a secret in force after a right code.
type EnableUserTOTP struct {
	UserTOTPEnabled
	By domain.UserSessionID // the session that sends the code
}

// DecideEnableUserTOTP puts the secret in force.
func DecideEnableUserTOTP(s State, c EnableUserTOTP) (Event, error) {
	u, known := s.User(c.User)
	if !known {
		return nil, NoUser()
	}
	if c.TOTP == "" || u.TOTPBegun != c.TOTP {
		return nil, replaced()
	}
	if err := s.acting(c.User, c.By, c.At); err != nil {
		return nil, err
	}
	c.ExpiresAt = c.At.Add(SessionLife)
	return c.UserTOTPEnabled, nil
}

// DisableUserTOTP is the command to turn codes off.
type DisableUserTOTP struct {
	At      time.Time
	User    domain.UserID
	Proof   *Proof               // of the user's code; nil: somebody else turns it off
	By      domain.UserSessionID // the user's session that sends the code
	Session domain.UserSessionID // the user's new session
}

// DecideDisableUserTOTP turns codes off; the event is nil if they are off already and no secret
// waits for its confirmation.
func DecideDisableUserTOTP(s State, c DisableUserTOTP) (Event, error) {
	u, known := s.User(c.User)
	if !known {
		return nil, NoUser()
	}
	if u.TOTP == "" && u.TOTPBegun == "" {
		return nil, nil
	}
	off := UserTOTPDisabled{At: c.At, User: c.User}
	if c.Proof != nil {
		if err := s.acting(c.User, c.By, c.At); err != nil {
			return nil, err
		}
		if err := s.holds(c.User, *c.Proof, c.At); err != nil {
			return nil, err
		}
		off.Session, off.ExpiresAt = c.Session, c.At.Add(SessionLife)
	}
	return off, nil
}

func evolveTOTP(s State, e Event) State {
	switch e := e.(type) {
	case UserTOTPBegun:
		return s.withUser(e.User, e.At, func(u *User) { u.TOTPBegun, u.TOTPLast = e.TOTP, e.TOTP })
	case UserTOTPEnabled:
		s = s.withUser(e.User, e.At, func(u *User) {
			u.TOTP, u.TOTPBegun, u.TOTPCounter, u.RecoveryUsed = e.TOTP, "", e.TOTPCounter, 0
			u.unlock()
		}).withoutSessions(e.User)
		return s.withSession(UserSession{ID: e.Session, User: e.User, At: e.At, ExpiresAt: e.ExpiresAt})
	case UserTOTPDisabled:
		s = s.withUser(e.User, e.At, func(u *User) { u.TOTP, u.TOTPBegun, u.TOTPCounter, u.RecoveryUsed = "", "", 0, 0 }).withoutSessions(e.User)
		if e.Session != "" {
			s = s.withSession(UserSession{ID: e.Session, User: e.User, At: e.At, ExpiresAt: e.ExpiresAt})
		}
	}
	return s
}
