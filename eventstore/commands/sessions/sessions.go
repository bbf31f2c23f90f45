package sessions

import (
	"context"
	"reflect"
	"time"

	"payledger/domain"
	"payledger/domain/session"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/secrets"
)

// Sessions carries out the commands of client sessions.
type Sessions struct{ *commands.Base }

// SessionInput is a validated request for a client session (D4).
type SessionInput struct {
	session.Fields                  // Personal is set from Customer
	Customer       *domain.Customer // nil: none was sent
}

// SessionChange returns a session's new fields, given its current ones.
type SessionChange func(SessionInput) (SessionInput, error)

// CreateSession records a client session (D4). Events and views contain the id: it must not be the
// session's access token.
func (s *Sessions) CreateSession(ctx context.Context, by commands.Caller, id domain.SessionID, in SessionInput) (session.State, error) {
	meta, err := s.RequestMeta(by)
	if err != nil {
		return session.State{}, err
	}
	command := session.Create{
		At: meta.At, ID: id, Account: by.Account,
		ExpiresAt: meta.At.Add(s.tokenTTL(by)), Fields: in.Fields,
	}
	if _, err := session.DecideCreate(session.State{}, command); err != nil {
		return session.State{}, err // before a key is created
	}
	if in.Customer != nil {
		key := secrets.PersonalKeyName(by.Account, in.CustomerID, command.ID)
		command.Fields.Personal, err = s.Secrets.Seal(ctx, key, domain.Personal{Customer: in.Customer})
		if err != nil {
			return session.State{}, domain.Unavailable(err)
		}
	}
	tip, err := s.Log.Sessions.ExecuteNew(ctx, by.Account, id, meta,
		func(state session.State) (session.Event, error) { return session.DecideCreate(state, command) })
	return tip.State, err
}

// ChangeSession records a client session's new fields, if they differ (D4).
func (s *Sessions) ChangeSession(ctx context.Context, by commands.Caller, id domain.SessionID, change SessionChange) (session.State, error) {
	return commands.Retry(func() (session.State, bool, error) { return s.changeSession(ctx, by, id, change) })
}

// changeSession tries once. moved reports that the session changed meanwhile.
func (s *Sessions) changeSession(ctx context.Context, by commands.Caller, id domain.SessionID, change SessionChange) (after session.State, moved bool, err error) {
	from, err := s.Session(ctx, by.Account, id)
	if err != nil {
		return from, false, err
	}
	fields, err := s.changedFields(ctx, by, from, change)
	if err != nil || reflect.DeepEqual(fields, from.Fields) {
		return from, false, err
	}
	tip, err := commands.Request(ctx, s.Base, by, s.Log.Sessions.Execute, id, func(state session.State, at time.Time) (session.Event, error) {
		if moved = state.Revision != from.Revision; moved {
			return nil, nil
		}
		return session.DecideChange(state, session.Change{At: at, Fields: fields})
	})
	return tip.State, moved, err
}

// changedFields returns the session's new fields, with the customer sealed again if it changed.
func (s *Sessions) changedFields(ctx context.Context, by commands.Caller, from session.State, change SessionChange) (session.Fields, error) {
	was, err := s.Secrets.Open(ctx, from.Personal)
	if err != nil {
		return from.Fields, domain.Unavailable(err)
	}
	in, err := change(SessionInput{Fields: from.Fields, Customer: was.Customer})
	if err != nil {
		return from.Fields, err
	}
	in.Personal = from.Personal
	if _, err := session.DecideChange(from, session.Change{At: s.Store.Now(), Fields: in.Fields}); err != nil {
		return from.Fields, err // before a key is created
	}
	if in.CustomerID == from.CustomerID && reflect.DeepEqual(in.Customer, was.Customer) {
		return in.Fields, nil
	}
	key := secrets.PersonalKeyName(by.Account, in.CustomerID, from.ID)
	if in.Personal, err = s.Secrets.Seal(ctx, key, domain.Personal{Customer: in.Customer}); err != nil {
		return from.Fields, domain.Unavailable(err)
	}
	return in.Fields, nil
}

// Session loads a client session. Unknown and expired sessions are refused (D3).
func (s *Sessions) Session(ctx context.Context, account domain.AccountID, id domain.SessionID) (session.State, error) {
	tip, err := s.Log.Sessions.Load(ctx, account, id, eventstore.Latest)
	if err == nil {
		err = tip.State.Usable(s.Store.Now())
	}
	if err != nil {
		return session.State{}, err
	}
	return tip.State, nil
}

// tokenTTL returns the life of the account's client tokens: its own setting, else the service's
// (D4, D20).
func (s *Sessions) tokenTTL(by commands.Caller) time.Duration {
	merchant, _ := s.Account(by.Account) // an unknown account has no setting
	return merchant.Settings.TokenTTL(s.ClientTokenTTL)
}
