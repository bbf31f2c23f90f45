package accounts

import (
	"context"
	"errors"
	"io"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/secrets"
)

// ErrNotInitialized means that the log has no account.
var ErrNotInitialized = errors.New("the ledger has no account yet")

// ResetCredentials replaces lost credentials of the log's first account: it creates another signing secret, an API key
// with every scope, and another password of the first dashboard user. Existing API keys still work. Webhooks carry the
// previous secret's signature too, for SigningOverlap. After a crash or an error, some credentials exist that were
// never shown; the next run creates all of them again. Each is an event of the account by actor.
func ResetCredentials(ctx context.Context, store *eventstore.Store, vault *secrets.Store, random io.Reader, actor string) (Credentials, error) {
	state, err := store.Initialized(ctx)
	if errors.Is(err, eventstore.ErrNotFound) {
		err = ErrNotInitialized
	}
	if err != nil {
		return Credentials{}, err
	}
	tip, err := store.Repositories().Accounts.Load(ctx, state.Account, state.Account, eventstore.Latest)
	if err != nil {
		return Credentials{}, err
	}
	s := &Accounts{Base: commands.NewBase(commands.Config{
		Store: store, Secrets: vault, Random: random,
		Account: func(domain.AccountID) (account.State, bool) { return tip.State, tip.State.Exists() },
	})}
	defer s.Close()
	by := commands.Caller{Account: state.Account, Actor: actor, RequestID: "credentials-reset"}
	_, key, err := s.CreateAPIKey(ctx, by, APIKeyInput{Name: "credentials reset", Scopes: account.Scopes})
	if err != nil {
		return Credentials{}, err
	}
	rotated, err := s.RotateSigningSecret(ctx, by)
	if err != nil {
		return Credentials{}, err
	}
	made := Credentials{AccountID: state.Account, Environment: state.Environment, APIKey: key, SigningSecret: rotated.Text}
	if len(tip.State.Users) == 0 {
		return made, nil
	}
	made.DashboardUser = tip.State.Users[0].Name
	made.DashboardPassword, err = s.ResetUserPassword(ctx, by, tip.State.Users[0])
	return made, err
}
