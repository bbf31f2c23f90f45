package account

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"payledger/domain"
)

// Limits of the state, which the log stores with every event.
const (
	MaxUsers        = 100
	MaxRemovedUsers = 200 // older ones are found in the account's events
	MaxEmail        = 254 // bytes of an e-mail address (RFC 5321)
)

// User may use the dashboard.
type User struct {
	ID       domain.UserID   `json:"id"`       // names the user
	Name     string          `json:"name"`     // the name to sign in with: an e-mail address in lower case, or the first user's "admin"
	Role     Role            `json:"role"`     // the rights in the dashboard
	Password domain.SecretID `json:"password"` // names the verifier in the stream of secrets

	CreatedAt    time.Time       `json:"createdAt,omitempty"`    // UTC; absent: with the account
	SignedInAt   time.Time       `json:"signedInAt,omitempty"`   // the newest sign-in, UTC; absent: none yet
	TOTP         domain.SecretID `json:"totp,omitempty"`         // names the TOTP secret in force; absent: no code is needed
	TOTPBegun    domain.SecretID `json:"totpBegun,omitempty"`    // names a TOTP secret that the user has not confirmed
	TOTPLast     domain.SecretID `json:"totpLast,omitempty"`     // names the newest TOTP secret that the user ever got: numbers are not used again
	TOTPCounter  uint64          `json:"totpCounter,omitempty"`  // of the newest code that was used; codes up to it are refused
	RecoveryUsed uint64          `json:"recoveryUsed,omitempty"` // the recovery codes that were used: bit 0 is that of code 1
	Failures     int64           `json:"failures,omitempty"`     // wrong codes of new devices since the newest sign-in or lock
	FailedAt     time.Time       `json:"failedAt,omitempty"`     // the newest of them, UTC
	LockedUntil  time.Time       `json:"lockedUntil,omitempty"`  // no sign-in on a new device before this time, UTC
}

// Admin reports whether the user may do everything.
func (u User) Admin() bool { return u.Role == RoleAdmin }

// RemovedUser is a user who was removed: the history and the audit log still name the user.
type RemovedUser struct {
	ID   domain.UserID `json:"id"`   // names the user
	Name string        `json:"name"` // of the sign-in
	At   time.Time     `json:"at"`   // of the removal, UTC
}

// User returns a user by id; false if there is none, or if the user was removed.
func (s State) User(id domain.UserID) (User, bool) {
	return at(s.Users, s.userAt(id))
}

// Removed reports whether a user was removed, if the removal is one of the newest.
func (s State) Removed(id domain.UserID) bool {
	return slices.ContainsFunc(s.RemovedUsers, func(r RemovedUser) bool { return r.ID == id })
}

// UserNamed returns a user by the name of the sign-in. Case and surrounding space do not count.
func (s State) UserNamed(name string) (User, bool) {
	name = UserName(name)
	return at(s.Users, slices.IndexFunc(s.Users, func(u User) bool { return UserName(u.Name) == name }))
}

// UserName returns a name of a sign-in in lower case, without surrounding space.
func UserName(name string) string { return strings.ToLower(strings.TrimSpace(name)) }

func (s State) userAt(id domain.UserID) int {
	return slices.IndexFunc(s.Users, func(u User) bool { return u.ID == id })
}

func (s State) otherAdmin(id domain.UserID) bool {
	return slices.ContainsFunc(s.Users, func(u User) bool { return u.Admin() && u.ID != id })
}

// UserAdded says that the account has a further user.
type UserAdded struct {
	At   time.Time `json:"at"`   // when it was decided, UTC
	User User      `json:"user"` // the new user
}

// UserRoleChanged says that a user has another role. All of the user's sessions end.
type UserRoleChanged struct {
	At   time.Time     `json:"at"`     // when it was decided, UTC
	User domain.UserID `json:"userId"` // the changed user
	Role Role          `json:"role"`   // the rights from now on
}

// UserRemoved says that a user is no longer one. All of the user's sessions end.
type UserRemoved struct {
	At   time.Time     `json:"at"`     // when it was decided, UTC
	User domain.UserID `json:"userId"` // the removed user
}

func (UserAdded) Type() string       { return "account.user_added" }
func (UserRoleChanged) Type() string { return "account.user_role_changed" }
func (UserRemoved) Type() string     { return "account.user_removed" }

func (UserAdded) accountEvent()       {}
func (UserRoleChanged) accountEvent() {}
func (UserRemoved) accountEvent()     {}

// AddUser is the command to add a user, whose verifier is stored already.
type AddUser UserAdded

// DecideAddUser adds the user. The name must be an e-mail address that no other user of the account
// has.
func DecideAddUser(s State, c AddUser) (Event, error) {
	if !s.Exists() {
		return nil, domain.Refuse(domain.KindNotFound, domain.ReasonEntityNotFound, "There is no account of this id.")
	}
	var found faults
	if fault := EmailFault(c.User.Name); fault != "" {
		found.add("$.email", "%s", fault)
	} else if _, taken := s.UserNamed(c.User.Name); taken {
		found.add("$.email", "is the address of another user of this account")
	}
	if !c.User.Role.Known() {
		found.add("$.role", "must be one of %s", roleList())
	}
	if len(s.Users) >= MaxUsers {
		found.add("$", "the account has the maximum of %d users; remove one", MaxUsers)
	}
	if len(found) > 0 {
		return nil, domain.Invalid("UserRequest", found...)
	}
	c.User.Name, c.User.CreatedAt = UserName(c.User.Name), c.At
	return UserAdded(c), nil
}

// EmailFault returns the violation of a text that is no plain address (RFC 5321 without quoted
// parts and literals, in ASCII); "" if there is none. Two addresses that look alike must not
// differ.
func EmailFault(text string) string {
	local, host, _ := strings.Cut(strings.TrimSpace(text), "@")
	const special = "!#$%&'*+/=?^_`{|}~-"
	word := func(more string) func(string) bool {
		return func(part string) bool {
			return part == "" || strings.ContainsFunc(part, func(r rune) bool {
				return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && !strings.ContainsRune(more, r)
			})
		}
	}
	labels := strings.Split(host, ".")
	edge := func(l string) bool { return len(l) > 63 || strings.HasPrefix(l, "-") || strings.HasSuffix(l, "-") }
	if slices.ContainsFunc(strings.Split(local, "."), word(special)) || slices.ContainsFunc(labels, word("-")) || slices.ContainsFunc(labels, edge) ||
		len(local) > 64 || len(local)+1+len(host) > MaxEmail {
		return fmt.Sprintf("must be an e-mail address of at most %d ASCII characters, such as name@example.com, without a display name", MaxEmail)
	}
	return ""
}

// ChangeUserRole is the command to give a user another role.
type ChangeUserRole UserRoleChanged

// DecideChangeUserRole changes the role; the event is nil if nothing differs. One admin remains.
func DecideChangeUserRole(s State, c ChangeUserRole) (Event, error) {
	user, known := s.User(c.User)
	switch {
	case !known:
		return nil, NoUser()
	case !c.Role.Known():
		return nil, domain.InvalidAt("UserChange", "$.role", "must be one of %s", roleList())
	case user.Role == c.Role:
		return nil, nil
	case user.Admin() && !s.otherAdmin(c.User):
		return nil, domain.InvalidAt("UserChange", "$.role", "must stay %s: %s is the account's only admin; make another user an admin first", RoleAdmin, user.Name)
	}
	return UserRoleChanged(c), nil
}

// RemoveUser is the command to remove a user.
type RemoveUser UserRemoved

// DecideRemoveUser removes the user; a repeat is an error. One admin remains.
func DecideRemoveUser(s State, c RemoveUser) (Event, error) {
	user, known := s.User(c.User)
	if !known {
		return nil, NoUser()
	}
	if user.Admin() && !s.otherAdmin(c.User) {
		return nil, domain.InvalidAt("User", "$.role", "%s is the account's only admin and stays; make another user an admin first", user.Name)
	}
	return UserRemoved(c), nil
}

// NoUser returns the error for an unknown user id (D20).
func NoUser() error {
	return domain.Refuse(domain.KindNotFound, domain.ReasonEntityNotFound, "There is no user of this id. The user may have been removed.")
}

func evolveUsers(s State, e Event) State {
	switch e := e.(type) {
	case UserAdded:
		s.Users, s.UpdatedAt = append(slices.Clone(s.Users), e.User), e.At
	case UserRoleChanged:
		s = s.withUser(e.User, e.At, func(u *User) { u.Role = e.Role }).withoutSessions(e.User)
	case UserRemoved:
		removed, _ := s.User(e.User)
		s = s.withoutSessions(e.User)
		s.Users, s.UpdatedAt = slices.DeleteFunc(slices.Clone(s.Users), func(u User) bool { return u.ID == e.User }), e.At
		s.RemovedUsers = append(slices.Clone(s.RemovedUsers), RemovedUser{ID: e.User, Name: removed.Name, At: e.At})
		s.RemovedUsers = s.RemovedUsers[max(0, len(s.RemovedUsers)-MaxRemovedUsers):]
	}
	return s
}

func (s State) withUser(id domain.UserID, at time.Time, change func(*User)) State {
	s.Users, s.UpdatedAt = slices.Clone(s.Users), at
	if i := s.userAt(id); i >= 0 {
		change(&s.Users[i])
	}
	return s
}
