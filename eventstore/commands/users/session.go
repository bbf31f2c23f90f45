package users

import (
	"context"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore"
)

// Session returns the session of a token. A Refusal has the reason NoSession, SessionExpired or
// SessionEnded.
func (u *Users) Session(ctx context.Context, token string) (Current, error) {
	c, ours := u.read(token)
	if !ours || c.Session == "" {
		return Current{}, refuse(NoSession)
	}
	now := u.now()
	if !now.Before(c.Expires) || now.Sub(c.Issued) >= Idle {
		return Current{}, refuse(SessionExpired)
	}
	state, user, err := u.newest(ctx, c.Account, c.User)
	if err != nil {
		return Current{}, err
	}
	session, open := state.UserSession(c.User, c.Session, now)
	if !open {
		return Current{}, refuse(SessionEnded)
	}
	who := Current{Account: state, User: user, Session: session, ExpiresAt: tokenEnd(c.Issued, session)}
	if now.Sub(c.Issued) >= renewAfter {
		who.ExpiresAt = tokenEnd(now, session)
		who.Renewed, err = u.token(state.ID, session, now)
	}
	return who, err
}

// SignOut ends the session of a token. A token that proves no open session is no error.
func (u *Users) SignOut(ctx context.Context, token string, from Origin) error {
	c, ours := u.read(token)
	if !ours || c.Session == "" {
		return nil
	}
	_, err := u.record(ctx, from.caller(c.Account, Actor(c.User)), func(state account.State, at time.Time) (account.Event, error) {
		return account.DecideSignOut(state, account.SignOut{At: at, User: c.User, Session: c.Session, From: from.address()})
	})
	return err
}

// EndSessions ends open sessions of an account: users end sessions of their own, and an
// administrator those of everybody. It returns the number of sessions that it ended. A session that
// has ended already is no error; a session of another user is MissingScope.
func (u *Users) EndSessions(ctx context.Context, by Current, ids []domain.UserSessionID, from Origin) (ended int, err error) {
	for _, id := range ids {
		done := false
		_, err := u.record(ctx, from.caller(by.Account.ID, Actor(by.User.ID)), func(state account.State, at time.Time) (e account.Event, err error) {
			e, err = endSession(state, by, account.SignOut{At: at, Session: id, From: from.address()})
			done = e != nil
			return e, err
		})
		if err != nil {
			return ended, err
		}
		if done {
			ended++
		}
	}
	return ended, nil
}

func endSession(state account.State, by Current, c account.SignOut) (account.Event, error) {
	if _, open := state.UserSession(by.User.ID, by.Session.ID, c.At); !open {
		return nil, refuse(SessionEnded)
	}
	for _, s := range state.UserSessions {
		if s.ID == c.Session {
			c.User = s.User
		}
	}
	who, _ := state.User(by.User.ID)
	if c.User != "" && c.User != who.ID && who.Role != account.RoleAdmin {
		return nil, domain.Refuse(domain.KindForbidden, domain.ReasonMissingScope, "The role %s does not allow this.", who.Role)
	}
	return account.DecideSignOut(state, c)
}

func (u *Users) token(owner domain.AccountID, s account.UserSession, now time.Time) (string, error) {
	return u.sign(claims{Account: owner, User: s.User, Session: s.ID, Issued: now.UTC(), Expires: s.ExpiresAt})
}

func tokenEnd(issued time.Time, s account.UserSession) time.Time {
	if idle := issued.Add(Idle); idle.Before(s.ExpiresAt) {
		return idle
	}
	return s.ExpiresAt
}

// begin records an event of a user that begins a session, and returns the session. decide gets the
// id of the session.
func (u *Users) begin(ctx context.Context, c candidate, from Origin, decide func(account.State, time.Time, domain.UserSessionID) (account.Event, error)) (SignedIn, error) {
	text, err := eventstore.NewUUID(u.Accounts.Random)
	if err != nil {
		return SignedIn{}, err
	}
	id, user := domain.UserSessionID(text), c.user.ID
	state, err := u.record(ctx, from.caller(c.state.ID, Actor(user)), func(state account.State, at time.Time) (account.Event, error) {
		return decide(state, at, id)
	})
	if err != nil {
		return SignedIn{}, err
	}
	now := u.now()
	session, open := state.UserSession(user, id, now)
	if !open {
		return SignedIn{}, refuse(SessionEnded)
	}
	token, err := u.token(state.ID, session, now)
	found, _ := state.User(user)
	return SignedIn{Token: token, ExpiresAt: tokenEnd(now, session), Account: state.ID, User: found}, err
}
