package command

import (
	"context"
	"errors"
	"fmt"

	"payledger/cmd/payledger/app"
	"payledger/cmd/payledger/options"
	"payledger/cmd/payledger/terminal"
	"payledger/domain"
	"payledger/domain/person"
)

// eraseCommand erases a customer at the running service of a data folder (I1).
type eraseCommand struct {
	Customer string `arg:"" name:"customer-id" help:"The merchant's id of the customer."`
	Account  string `help:"The merchant account, if the ledger has several." placeholder:"ID"`
	Data     string `help:"Data folder of the running service." default:"./data" type:"path"`
}

func (c *eraseCommand) Run(ctx context.Context, std terminal.Streams, args options.Arguments) error {
	if err := args.Refused(); err != nil {
		return err
	}
	if c.Customer == "" {
		return options.Usage(errors.New("customer-id is empty: name the customer by the id that you gave in customerId"))
	}
	var erased person.State
	request := app.EraseRequest{Customer: c.Customer, Account: domain.AccountID(c.Account)}
	if err := callService(ctx, c.Data, serviceHint, "erase-customer", request, &erased); err != nil {
		return err
	}
	_, err := fmt.Fprintf(std.Out, "customer %.60q is erased: the key of their personal data was destroyed (erased at %s, key %d).\n",
		erased.CustomerID, erased.ErasedAt.Format("2006-01-02T15:04:05Z07:00"), erased.Erased)
	return err
}
