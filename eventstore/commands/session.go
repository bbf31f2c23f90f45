package commands

import (
	"context"

	"payledger/domain"
	"payledger/domain/session"
	"payledger/eventstore"
	"payledger/eventstore/secrets"
)

// CreateSession records a client session (D4). The client token is made from it by the caller.
func (s *Service) CreateSession(ctx context.Context, by Caller, in SessionInput) (session.State, error) {
	id, err := eventstore.NewUUID(s.Random)
	if err != nil {
		return session.State{}, err
	}
	meta, err := s.request(by)
	if err != nil {
		return session.State{}, err
	}
	command := session.Create{
		At: meta.At, ID: domain.SessionID(id), Account: by.Account,
		ExpiresAt: meta.At.Add(s.tokenTTL(by)), Fields: in.Fields,
	}
	if _, err := session.DecideCreate(session.State{}, command); err != nil {
		return session.State{}, err // before a key is made for a session that will not be
	}
	if in.Customer != nil {
		key := secrets.PersonalKeyName(by.Account, in.CustomerID, command.ID)
		command.Fields.Personal, err = s.Vault.Seal(ctx, key, domain.Personal{Customer: in.Customer})
		if err != nil {
			return session.State{}, domain.Unavailable(err)
		}
	}
	tip, err := eventstore.ExecuteNew(ctx, s.Store, eventstore.Sessions, eventstore.Sessions.Key(by.Account, id), meta,
		func(state session.State) (session.Event, error) { return session.DecideCreate(state, command) })
	return tip.State, err
}

// Session reads a client session; unknown and expired ones are refused (D3).
func (s *Service) Session(ctx context.Context, account domain.AccountID, id domain.SessionID) (session.State, error) {
	tip, err := eventstore.LoadTip(ctx, s.Store, eventstore.Sessions, eventstore.Sessions.Key(account, string(id)))
	switch {
	case err != nil:
		return session.State{}, err
	case !tip.State.Exists():
		return session.State{}, domain.Refuse(domain.KindInvalid, domain.ReasonSessionValidation, "The client token is not known.")
	case tip.State.Expired(s.Store.Now()):
		return session.State{}, domain.Refuse(domain.KindInvalid, domain.ReasonSessionValidation, "The client token has expired.")
	}
	return tip.State, nil
}

// request makes the meta data of a command that asks for something new.
func (s *Service) request(by Caller) (eventstore.Meta, error) {
	meta, err := s.Store.NewMeta(by.Actor, by.RequestID)
	meta.Request = true
	return meta, err
}
