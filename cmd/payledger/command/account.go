package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"payledger/cmd/payledger/app"
	"payledger/cmd/payledger/control"
	"payledger/cmd/payledger/options"
	"payledger/cmd/payledger/terminal"
	"payledger/eventstore/commands/accounts"
)

type accountCommand struct {
	Create createAccountCommand `cmd:"" help:"Make one more merchant account in a running service and print its credentials once."`
	List   listAccountsCommand  `cmd:"" help:"List the merchant accounts of a running service: id, name, environment and time of creation."`
}

// listAccountsCommand lists the accounts of the running service of a data folder (I1).
type listAccountsCommand struct {
	Data string `help:"Data folder of the running service." default:"./data" type:"path"`
	JSON bool   `name:"json" help:"Print a JSON array."`
}

func (c *listAccountsCommand) Run(ctx context.Context, std terminal.Streams, args options.Arguments) error {
	if err := args.Refused(); err != nil {
		return err
	}
	var rows []app.AccountRow
	if err := callService(ctx, c.Data, serviceHint, "account-list", struct{}{}, &rows); err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(std.Out).Encode(rows)
	}
	table := tabwriter.NewWriter(std.Out, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		if _, err := fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", r.ID, r.Name, r.Environment, r.Created.UTC().Format(time.RFC3339)); err != nil {
			return err
		}
	}
	return table.Flush()
}

// createAccountCommand creates an account at the running service of a data folder (I1).
type createAccountCommand struct {
	Name string `arg:"" help:"Name of the merchant."`
	Data string `help:"Data folder of the running service." default:"./data" type:"path"`
	JSON bool   `name:"json" help:"Print the credentials as JSON."`
}

func (c *createAccountCommand) Run(ctx context.Context, std terminal.Streams, args options.Arguments) error {
	if err := args.Refused(); err != nil {
		return err
	}
	request := app.AccountRequest{Name: c.Name}
	if fault := request.Fault(); fault != "" {
		return options.Usage(errors.New(fault))
	}
	var made accounts.Credentials
	if err := callService(ctx, c.Data, serviceHint, "account-create", request, &made); err != nil {
		return err
	}
	return showCredentials(std.Out, made, c.JSON)
}

const serviceHint = "start it with `payledger serve --data` and this folder, and repeat the command"

// callService sends a command to the service that runs on a folder, and decodes its answer. hint is for a folder without a service.
func callService(ctx context.Context, data, hint, command string, request, answer any) error {
	service, err := control.Find(ctx, data)
	if errors.Is(err, control.ErrNoService) {
		return fmt.Errorf("no service runs on %s: %s", data, hint)
	}
	if err != nil {
		return err
	}
	return service.Call(ctx, command, request, nil, answer)
}
