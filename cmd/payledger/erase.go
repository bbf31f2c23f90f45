package main

import (
	"context"
	"errors"
	"fmt"

	"payledger/cmd/payledger/options"
	"payledger/cmd/payledger/terminal"
	"payledger/domain"
	"payledger/domain/person"
	"payledger/eventstore"
	"payledger/eventstore/commands"
)

// eraseCommand erases a customer at the running service of a data folder (I1).
type eraseCommand struct {
	Customer string `arg:"" name:"customer-id" help:"The merchant's id of the customer."`
	Account  string `help:"The merchant account, if the ledger has several." placeholder:"ID"`
	Data     string `help:"Data folder of the running service." default:"./data" type:"path"`
}

type eraseRequest struct {
	Customer string           `json:"customerId"`
	Account  domain.AccountID `json:"accountId,omitempty"`
}

func (c *eraseCommand) Run(ctx context.Context, std terminal.Streams, args options.Arguments) error {
	if err := args.Refused(); err != nil {
		return err
	}
	if c.Customer == "" {
		return options.Usage(errors.New("customer-id is empty: name the customer by the id that you gave in customerId"))
	}
	var erased person.State
	request := eraseRequest{Customer: c.Customer, Account: domain.AccountID(c.Account)}
	if err := callService(ctx, c.Data, serviceHint, "erase-customer", request, &erased); err != nil {
		return err
	}
	_, err := fmt.Fprintf(std.Out, "customer %.60q is erased: the key of their personal data was destroyed (erased at %s, key %d).\n",
		erased.CustomerID, erased.ErasedAt.Format("2006-01-02T15:04:05Z07:00"), erased.Erased)
	return err
}

func (a *App) eraseCustomer(ctx context.Context, in eraseRequest, _ func(any) error) (any, error) {
	owner, err := a.oneAccount(in.Account)
	if err != nil {
		return nil, err
	}
	request, err := eventstore.NewUUID(a.commands.Random)
	if err != nil {
		return nil, err
	}
	erased, err := a.commands.EraseCustomer(ctx, commands.Caller{Account: owner, Actor: "cli:erase-customer", RequestID: request}, in.Customer)
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
	return erased, a.views.CaughtUp(ctx)
}

func (a *App) oneAccount(id domain.AccountID) (domain.AccountID, error) {
	all := a.views.Accounts()
	if id == "" && len(all) == 1 {
		return all[0].ID, nil
	}
	if id == "" {
		return "", fmt.Errorf("the ledger has %d accounts: name one of them with --account", len(all))
	}
	if _, known := a.views.Account(id); !known {
		return "", fmt.Errorf("the ledger has no account %s: check --account", id)
	}
	return id, nil
}
