package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore"
	"payledger/eventstore/commands/accounts"
	"payledger/eventstore/commands/users"
)

// AccountRequest is the body of the command account-create.
type AccountRequest struct {
	Name string `json:"name"`
}

const maxAccountName = 100 // characters

// Fault returns the fault of the name; "" means none.
func (r AccountRequest) Fault() string {
	switch {
	case strings.TrimSpace(r.Name) == "":
		return "the name is empty"
	case r.Name != strings.TrimSpace(r.Name):
		return "the name begins or ends with a space"
	case utf8.RuneCountInString(r.Name) > maxAccountName:
		return fmt.Sprintf("the name has %d characters; %d are the limit", utf8.RuneCountInString(r.Name), maxAccountName)
	case !utf8.ValidString(r.Name) || strings.ContainsFunc(r.Name, func(c rune) bool { return !unicode.IsPrint(c) }):
		return "the name has a character that cannot be printed"
	default:
		return ""
	}
}

// AccountRow is an account in the answer to the command account-list (I1).
type AccountRow struct {
	ID          domain.AccountID `json:"id"`
	Name        string           `json:"name"`
	Environment string           `json:"environment"`
	Created     time.Time        `json:"created"`
}

// listAccounts serves the command account-list: the oldest first.
func (a *App) listAccounts(context.Context, struct{}, func(any) error) (any, error) {
	return AccountRows(a.Views.Accounts()), nil
}

// AccountRows returns the rows of accounts: the oldest first.
func AccountRows(states []account.State) []AccountRow {
	rows := []AccountRow{}
	for _, state := range states {
		rows = append(rows, AccountRow{ID: state.ID, Name: state.Name, Environment: state.Environment, Created: state.CreatedAt})
	}
	slices.SortFunc(rows, func(x, y AccountRow) int { return cmp.Or(x.Created.Compare(y.Created), cmp.Compare(x.ID, y.ID)) })
	return rows
}

// mostNamed is the number of accounts that an error lists.
const mostNamed = 20

// accountsHint lists the ledger's accounts for an error.
func (a *App) accountsHint() string {
	all := a.Views.Accounts()
	slices.SortFunc(all, func(x, y account.State) int { return cmp.Or(x.CreatedAt.Compare(y.CreatedAt), cmp.Compare(x.ID, y.ID)) })
	var named []string
	for _, state := range all[:min(len(all), mostNamed)] {
		named = append(named, fmt.Sprintf("%s (%s)", state.ID, state.Name))
	}
	if more := len(all) - mostNamed; more > 0 {
		named = append(named, fmt.Sprintf("and %d more, which `payledger account list` has", more))
	}
	return strings.Join(named, ", ")
}

// knownWithin bounds the wait for the nodes after an account was made.
const knownWithin = 20 * time.Second

// createAccount serves the command account-create. It answers when the API of every node knows the
// account, or after knownWithin: only the answer has the credentials.
func (a *App) createAccount(ctx context.Context, in AccountRequest, _ func(any) error) (any, error) {
	if fault := in.Fault(); fault != "" {
		return nil, errors.New(fault)
	}
	a.creating.Lock() // of two accounts with one name, the second sees the first
	defer a.creating.Unlock()
	if err := a.Views.CaughtUp(ctx); err != nil { // another node may have made an account of this name
		return nil, err
	}
	for _, other := range a.Views.Accounts() {
		if other.Name == in.Name {
			return nil, a.nameTaken(other)
		}
	}
	state, err := eventstore.Initialized(ctx, a.Ledger.Store)
	if err != nil {
		return nil, err
	}
	made, err := accounts.Create(ctx, a.Ledger.Store, a.Ledger.Secrets, rand.Reader, in.Name, state.Environment, "cli:account")
	if err != nil {
		return nil, err
	}
	waiting, cancel := context.WithTimeout(context.WithoutCancel(ctx), knownWithin)
	defer cancel()
	if err := errors.Join(a.Views.CaughtUp(waiting), a.Commands.AllAppliedEverywhere(waiting)); err != nil {
		a.log.Warn().Err(err).Str("account", string(made.AccountID)).Msg("an account was made, and not every node has confirmed it yet")
	}
	return made, nil
}

func (a *App) nameTaken(other account.State) error {
	return fmt.Errorf("the ledger has an account %q: %s. If its credentials are lost, run `payledger credentials reset --data %s --account %s`",
		other.Name, other.ID, a.Options.Data, other.ID)
}

// ResetRequest is the body of the command credentials-reset.
type ResetRequest struct {
	Account domain.AccountID `json:"account"` // empty: the first account of the ledger
}

// CredentialsActor is the actor of the events of a reset (I1).
const CredentialsActor = "cli:credentials"

// resetCredentials serves the command credentials-reset. It answers when every node knows the new
// credentials, as the management API does for each of them.
func (a *App) resetCredentials(ctx context.Context, in ResetRequest, _ func(any) error) (any, error) {
	made, err := a.Commands.Accounts.ResetCredentials(ctx, in.Account, CredentialsActor)
	if errors.Is(err, accounts.ErrNoAccount) {
		err = NoAccount(in.Account)
	}
	return made, err
}

// NoAccount returns the error for an account that the ledger of a folder does not have.
func NoAccount(id domain.AccountID) error {
	return fmt.Errorf("the ledger has no account %s: check --account; `payledger account list` has the accounts", id)
}

func (a *App) openUsers(ctx context.Context) error {
	root, err := a.Ledger.Secrets.SessionRoot(ctx)
	if err != nil {
		return err
	}
	a.Users, err = users.New(users.Config{Accounts: a.Commands.Accounts, Root: root, Directory: a.Views.Accounts, Newest: a.Views.AccountNow})
	return err
}
