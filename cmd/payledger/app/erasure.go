package app

import (
	"context"
	"errors"
	"fmt"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/eventstore/commands"
)

// EraseRequest is the body of the command erase-customer.
type EraseRequest struct {
	Customer string           `json:"customerId"`
	Account  domain.AccountID `json:"accountId,omitempty"`
}

func (a *App) eraseCustomer(ctx context.Context, in EraseRequest, _ func(any) error) (any, error) {
	if !a.keepsViews() {
		return nil, errNoViews
	}
	owner, err := a.oneAccount(in.Account)
	if err != nil {
		return nil, err
	}
	request, err := eventstore.NewUUID(a.Commands.Random)
	if err != nil {
		return nil, err
	}
	erased, err := a.Commands.EraseCustomer(ctx, commands.Caller{Account: owner, Actor: "cli:erase-customer", RequestID: request}, in.Customer)
	var refused *domain.Error
	switch {
	case domain.ReasonOf(err) == domain.ReasonEntityNotFound:
		return nil, fmt.Errorf("account %s has no customer %.60q: no client session, payment or saved card has this customerId", owner, in.Customer)
	case errors.As(err, &refused):
		a.log.Error().Err(err).Msg("erase-customer")
		return nil, errors.New(refused.Message + " Repeat the command: it ends when the key is destroyed.")
	case err != nil:
		return nil, err
	}
	return erased, a.Views.CaughtUp(ctx)
}

func (a *App) oneAccount(id domain.AccountID) (domain.AccountID, error) {
	all := a.Views.Accounts()
	if id == "" && len(all) == 1 {
		return all[0].ID, nil
	}
	if id == "" {
		return "", fmt.Errorf("the ledger has %d accounts: name one of them with --account: %s", len(all), a.accountsHint())
	}
	if _, known := a.Views.Account(id); !known {
		return "", fmt.Errorf("the ledger has no account %s: check --account; it has %s", id, a.accountsHint())
	}
	return id, nil
}
