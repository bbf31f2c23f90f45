package commands

import (
	"context"
	"errors"
	"io"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore"
	"payledger/eventstore/secrets"
)

// ErrNotInitialized means that the log has no account.
var ErrNotInitialized = errors.New("the ledger has no account yet")

// ResetCredentials makes credentials for the log's first account in place of lost ones: another signing secret, an API key
// with every scope, and another password of the dashboard's first user. API keys that were there still work. Webhooks
// carry the previous signing secret's signature too, for SigningOverlap. A crash, or an error, in between leaves some of
// them made and shown to nobody; the next run makes all of them again.
func ResetCredentials(ctx context.Context, store *eventstore.Store, vault *secrets.Vault, random io.Reader, actor string) (Credentials, error) {
	state, err := store.Initialized(ctx)
	if errors.Is(err, eventstore.ErrNotFound) {
		err = ErrNotInitialized
	}
	if err != nil {
		return Credentials{}, err
	}
	tip, err := eventstore.LoadTipAtLeader(ctx, store, eventstore.Accounts, eventstore.Accounts.Key(state.Account, string(state.Account)))
	if err != nil {
		return Credentials{}, err
	}
	s := &Service{Config: Config{
		Store: store, Vault: vault, Random: random,
		Account: func(domain.AccountID) (account.State, bool) { return tip.State, tip.State.Exists() },
	}}
	by := Caller{Account: state.Account, Actor: actor, RequestID: "credentials-reset"}
	_, key, err := s.CreateAPIKey(ctx, by, APIKeyInput{Name: "credentials reset", Scopes: account.Scopes})
	if err != nil {
		return Credentials{}, err
	}
	rotated, err := s.RotateSigningSecret(ctx, by)
	if err != nil {
		return Credentials{}, err
	}
	made := Credentials{AccountID: state.Account, Environment: state.Environment, APIKey: key, SigningSecret: rotated.Text}
	made.DashboardUser, made.DashboardPassword, err = s.resetPassword(ctx, tip.State.Users)
	return made, err
}

// resetPassword replaces the password of the first user. A crash between the two steps leaves the user without one.
func (s *Service) resetPassword(ctx context.Context, users []account.User) (name, password string, err error) {
	if len(users) == 0 {
		return "", "", nil
	}
	if password, err = randomText(s.Random, passwordLength); err != nil {
		return "", "", err
	}
	verifier, err := secrets.NewPassword(s.Random, password)
	if err != nil {
		return "", "", err
	}
	if err := s.Vault.Destroy(ctx, users[0].Password); err != nil {
		return "", "", err
	}
	return users[0].Name, password, s.Vault.Create(ctx, users[0].Password, verifier)
}
