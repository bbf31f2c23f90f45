package accounts

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/secrets"
)

// ErrNotInitialized means that the log has no account.
var ErrNotInitialized = errors.New("the ledger has no account yet")

// ErrNoAccount means that the log has no account of an id.
var ErrNoAccount = errors.New("the ledger has no such account")

// ResetCredentials is Accounts.ResetCredentials on the log of a stopped server.
func ResetCredentials(ctx context.Context, store eventstore.Store, secretStore *secrets.Store, random io.Reader, owner domain.AccountID, actor string) (Credentials, error) {
	var now account.State
	s := &Accounts{Base: commands.NewBase(commands.Config{
		Store: store, Secrets: secretStore, Random: random,
		Account: func(domain.AccountID) (account.State, bool) { return now, now.Exists() },
	})}
	defer s.Close()
	return s.resetCredentials(ctx, owner, actor, &now)
}

// ResetCredentials replaces lost credentials of an account, of the log's first one if owner is
// empty: it creates an API key with every scope, another password of the first dashboard user who
// is an admin, and, last, another signing secret. The user's lock ends, and so does the second
// factor, after the password: nobody else can sign in meanwhile. Existing API keys still work.
// Webhooks carry the previous secret's signature too, for SigningOverlap. After a crash or an
// error, some credentials exist that were never shown; the next run creates all of them again. Each
// is an event of the account by actor. ErrNotInitialized and ErrNoAccount mean that nothing was
// changed.
func (s *Accounts) ResetCredentials(ctx context.Context, owner domain.AccountID, actor string) (Credentials, error) {
	return s.resetCredentials(ctx, owner, actor, new(account.State))
}

// resetCredentials is ResetCredentials. It sets now to the account's state before it changes it.
func (s *Accounts) resetCredentials(ctx context.Context, owner domain.AccountID, actor string, now *account.State) (Credentials, error) {
	state, err := eventstore.Initialized(ctx, s.Store)
	if errors.Is(err, eventstore.ErrNotFound) {
		err = ErrNotInitialized
	}
	if err != nil {
		return Credentials{}, err
	}
	owner = cmp.Or(owner, state.Account)
	tip, err := s.Log.Accounts.Load(ctx, owner, owner, eventstore.Latest)
	if err == nil && !tip.State.Exists() {
		err = ErrNoAccount
	}
	if err != nil {
		return Credentials{}, err
	}
	*now = tip.State
	by := commands.Caller{Account: owner, Actor: actor, RequestID: "credentials-reset"}
	_, key, err := s.CreateAPIKey(ctx, by, account.APIKey{Name: "credentials reset", Scopes: account.Scopes})
	if err != nil {
		return Credentials{}, err
	}
	made := Credentials{AccountID: owner, Environment: state.Environment, APIKey: key}
	if first := slices.IndexFunc(tip.State.Users, account.User.Admin); first >= 0 {
		user := tip.State.Users[first]
		made.DashboardUser = user.Name
		if made.DashboardPassword, err = s.ResetUserPassword(ctx, by, user); err != nil {
			return Credentials{}, err
		}
		if _, err = s.DisableUserTOTP(ctx, by, user.ID); err != nil {
			return Credentials{}, err
		}
	}
	rotated, err := s.RotateSigningSecret(ctx, by) // last: a second rotation ends the overlap of the secret that receivers have
	if err != nil {
		return Credentials{}, err
	}
	if made.SigningSecret = rotated.Text; rotated.Ended != nil {
		made.Warnings = append(made.Warnings, rotated.Ended.Warning())
	}
	if rotated.Elsewhere != nil {
		made.Warnings = append(made.Warnings, account.UnconfirmedRotation)
	}
	return made, nil
}
