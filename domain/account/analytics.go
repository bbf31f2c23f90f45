package account

import (
	"slices"
	"time"

	"payledger/domain"
)

// MaxAnalyticsUsers is the largest number of an account's analytics users.
const MaxAnalyticsUsers = 50

// AnalyticsUser is a program that reads the account's events from the stream EVENTS.
type AnalyticsUser struct {
	Name string `json:"name"` // names the user in the account
	Key  string `json:"key"`  // public key of its credentials
}

// AnalyticsUserCreated says that an analytics user has credentials with this key, and no others.
type AnalyticsUserCreated struct {
	At   time.Time     `json:"at"`            // when it was decided, UTC
	User AnalyticsUser `json:"analyticsUser"` // the user; one of the same name is replaced
}

func (AnalyticsUserCreated) Type() string  { return "account.analytics_user_created" }
func (AnalyticsUserCreated) accountEvent() {}

// DecideCreateAnalyticsUser adds a user or replaces one of the same name.
func DecideCreateAnalyticsUser(s State, c AnalyticsUserCreated) (Event, error) {
	if !s.Exists() {
		return nil, domain.Refuse(domain.KindNotFound, domain.ReasonEntityNotFound, "There is no account of this id.")
	}
	if len(evolveAnalyticsUser(s, c).AnalyticsUsers) > MaxAnalyticsUsers {
		return nil, domain.InvalidAt("AnalyticsUser", "$.name", "the account has the maximum number of analytics users; remove one, or replace one by its name")
	}
	return c, nil
}

// AnalyticsUserRemoved says that the credentials of an analytics user have ended.
type AnalyticsUserRemoved struct {
	At   time.Time `json:"at"`   // when it was decided, UTC
	Name string    `json:"name"` // of the user
}

func (AnalyticsUserRemoved) Type() string  { return "account.analytics_user_removed" }
func (AnalyticsUserRemoved) accountEvent() {}

// DecideRemoveAnalyticsUser removes a user by its name.
func DecideRemoveAnalyticsUser(s State, c AnalyticsUserRemoved) (Event, error) {
	if !slices.ContainsFunc(s.AnalyticsUsers, func(u AnalyticsUser) bool { return u.Name == c.Name }) {
		return nil, domain.Refuse(domain.KindNotFound, domain.ReasonEntityNotFound, "The account has no analytics user of this name.")
	}
	return c, nil
}

func evolveAnalyticsUser(s State, e AnalyticsUserCreated) State {
	s = evolveNoAnalyticsUser(s, AnalyticsUserRemoved{At: e.At, Name: e.User.Name})
	s.AnalyticsUsers = append(s.AnalyticsUsers, e.User)
	return s
}

func evolveNoAnalyticsUser(s State, e AnalyticsUserRemoved) State {
	s.AnalyticsUsers = slices.DeleteFunc(slices.Clone(s.AnalyticsUsers), func(u AnalyticsUser) bool { return u.Name == e.Name })
	s.UpdatedAt = e.At
	return s
}
