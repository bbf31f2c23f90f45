package accounts

import (
	"context"
	"errors"
	"io"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/secrets"
	"payledger/eventstore/secrets/apikey"
)

// Credentials are shown once, when an account is created (I1: init).
type Credentials struct {
	AccountID         domain.AccountID `json:"accountId"`
	Environment       string           `json:"environment"`
	APIKey            string           `json:"apiKey"`
	SigningSecret     string           `json:"signingSecret"`
	DashboardUser     string           `json:"dashboardUser"`
	DashboardPassword string           `json:"dashboardPassword"`
	Warnings          []string         `json:"warnings,omitempty"` // of a reset
}

// ErrInitialized means that the log already has its first account.
var ErrInitialized = errors.New("the ledger is initialized already")

const firstUser = "admin" // the dashboard user of a new account

// Initialize creates the first account of a log. Secrets are stored first, then the account, then
// the claim that the log is initialized. A crash in between leaves an account whose key was never
// shown, and a second run creates another account. show is for a log whose credentials nobody can
// replace if they are lost; nil: none. It is called before the claim: if show or the claim fails,
// the log is not initialized, and the credentials are void.
func Initialize(ctx context.Context, store eventstore.Store, secretStore *secrets.Store, random io.Reader, environment, actor string, show func(Credentials) error) (Credentials, error) {
	if _, err := eventstore.Initialized(ctx, store); !errors.Is(err, eventstore.ErrNotFound) {
		if err == nil {
			err = ErrInitialized
		}
		return Credentials{}, err
	}
	credentials, err := Create(ctx, store, secretStore, random, "default", environment, actor)
	if err == nil && show != nil {
		err = show(credentials)
	}
	if err != nil {
		return Credentials{}, err
	}
	err = eventstore.Initialize(ctx, store, eventstore.LogState{Account: credentials.AccountID, Environment: environment}, actor)
	if errors.Is(err, eventstore.ErrConflict) {
		err = ErrInitialized
	}
	return credentials, err
}

// Create creates an account with an API key, a signing secret and a user of the dashboard. After a
// crash or an error the account may exist without anybody knowing its credentials; ResetCredentials
// makes others.
func Create(ctx context.Context, store eventstore.Store, secretStore *secrets.Store, random io.Reader, name, environment, actor string) (Credentials, error) {
	meta, err := store.NewMeta(actor, "init")
	if err != nil {
		return Credentials{}, err
	}
	shown, created, err := draftAccount(random, name, environment)
	if err != nil {
		return Credentials{}, err
	}
	verifier, err := secrets.NewPassword(random, shown.DashboardPassword)
	if err != nil {
		return Credentials{}, err
	}
	if err := secretStore.Create(ctx, created.Signing.Secret, []byte(shown.SigningSecret)); err != nil {
		return Credentials{}, err
	}
	if err := secretStore.Create(ctx, created.User.Password, verifier); err != nil {
		return Credentials{}, err
	}
	created.At, created.APIKey.CreatedAt, created.Signing.CreatedAt = meta.At, meta.At, meta.At
	_, err = eventstore.NewRepositories(store).Accounts.ExecuteNew(ctx, created.ID, created.ID, meta,
		func(state account.State) (account.Event, error) {
			return account.DecideCreate(state, account.Create{Created: created})
		})
	return shown, err
}

func draftAccount(random io.Reader, name, environment string) (Credentials, account.Created, error) {
	var ids [2][16]byte
	for i := range ids {
		if _, err := io.ReadFull(random, ids[i][:]); err != nil {
			return Credentials{}, account.Created{}, err
		}
	}
	id, user := domain.NewAccountID(ids[0]), domain.NewUserID(ids[1])
	key, err := newAPIKey(environment, random)
	if err != nil {
		return Credentials{}, account.Created{}, err
	}
	signing, err := newSigningSecret(random)
	if err != nil {
		return Credentials{}, account.Created{}, err
	}
	password, err := randomText(random, passwordLength)
	if err != nil {
		return Credentials{}, account.Created{}, err
	}
	shown := Credentials{
		AccountID: id, Environment: environment, APIKey: key.Text, SigningSecret: signing,
		DashboardUser: firstUser, DashboardPassword: password,
	}
	return shown, account.Created{
		ID: id, Name: name, Environment: environment, Processors: allProcessors(id),
		APIKey: account.APIKey{ID: key.ID, Name: "init", Hash: key.Hash, Scopes: account.Scopes},
		Signing: account.SigningSecret{
			Secret: secrets.SigningSecretName(id, 1), Hint: signingHint(signing),
		},
		User: account.User{
			ID: user, Name: firstUser, Role: "admin", Password: secrets.PasswordName(id, user, 1),
		},
	}, nil
}

func newAPIKey(environment string, random io.Reader) (apikey.Key, error) {
	var b [apikey.RandomSize]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return apikey.Key{}, err
	}
	return apikey.New(environment, b), nil
}

func allProcessors(id domain.AccountID) []account.Processor {
	var list []account.Processor
	for _, name := range processor.Names {
		list = append(list, account.FirstProcessor(id, name, true))
	}
	return list
}

const (
	signingSecretPrefix = "plsec_" // D2
	signingSecretLength = 43       // base62: 256 bits
	passwordLength      = 24       // base62: 142 bits
)

// randomText returns n random base62 characters, each equally likely.
func randomText(random io.Reader, n int) (string, error) {
	raw := make([]byte, n+8) // the remainder's bias is below one part in 2^64
	if _, err := io.ReadFull(random, raw); err != nil {
		return "", err
	}
	return apikey.Base62(raw, n), nil
}
