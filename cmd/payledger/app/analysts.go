package app

import (
	"context"
	"errors"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore/commands"
	"payledger/eventstore/eventstream"
)

// AnalyticsUser is the body of the command to a running service.
type AnalyticsUser struct {
	Name    string           `json:"name"`
	Account domain.AccountID `json:"account,omitempty"`
	Remove  bool             `json:"remove,omitempty"`
}

// AnalyticsCredentials is the answer to an AnalyticsUser.
type AnalyticsCredentials struct {
	Credentials string `json:"credentials"` // a NATS credentials file; empty after a removal
}

// changeAnalyticsUser makes or removes an analytics user. The event is recorded before the user can
// connect: after a crash in between, the credentials were never shown, and the command can be
// repeated. A removed user may stay connected until the crash ends it.
func (a *App) changeAnalyticsUser(ctx context.Context, in AnalyticsUser, _ func(any) error) (_ any, err error) {
	if a.analysts == nil {
		return nil, errors.New("the service keeps no stream for analysts: start it with --nats-listen")
	}
	if in.Account, err = a.oneAccount(in.Account); err != nil {
		return nil, err
	}
	a.analystsMu.Lock() // the order of the events is the order of SetUsers
	defer a.analystsMu.Unlock()
	var file []byte
	var users []account.AnalyticsUser
	by := commands.Caller{Account: in.Account, Actor: "cli:analytics-user", RequestID: "analytics-user"}
	if in.Remove {
		users, err = a.Commands.RemoveAnalyticsUser(ctx, by, in.Name)
	} else {
		var key string
		if file, key, err = a.analysts.Credentials(string(in.Account), in.Name); err != nil {
			return nil, err
		}
		users, err = a.Commands.CreateAnalyticsUser(ctx, by, account.AnalyticsUser{Name: in.Name, Key: key})
	}
	if err != nil {
		return nil, err
	}
	if err := a.analysts.SetUsers(map[string][]eventstream.User{string(in.Account): analystsOf(users)}); err != nil {
		return nil, err
	}
	return AnalyticsCredentials{string(file)}, nil
}

// streamPatience is the longest time for which the first check of the stream EVENTS delays a start.
const streamPatience = 5 * time.Second

// admitAnalysts lets the recorded analytics users of all accounts connect. The stream is made
// before, unless that fails or takes long.
func (a *App) admitAnalysts(ctx context.Context) error {
	if a.analysts == nil {
		return nil
	}
	select {
	case <-a.Feed.Checked():
	case <-time.After(streamPatience):
	case <-ctx.Done():
		return ctx.Err()
	}
	all := map[string][]eventstream.User{}
	for _, merchant := range a.Views.Accounts() {
		if len(merchant.AnalyticsUsers) > 0 {
			all[string(merchant.ID)] = analystsOf(merchant.AnalyticsUsers)
		}
	}
	return a.analysts.SetUsers(all)
}

func analystsOf(users []account.AnalyticsUser) []eventstream.User {
	list := make([]eventstream.User, len(users))
	for i, u := range users {
		list[i] = eventstream.User{Name: u.Name, Key: u.Key}
	}
	return list
}
