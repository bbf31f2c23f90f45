package command

import (
	"context"
	"errors"
	"fmt"

	"payledger/cmd/payledger/app"
	"payledger/cmd/payledger/control"
	"payledger/cmd/payledger/options"
	"payledger/cmd/payledger/terminal"
	"payledger/eventstore/commands/accounts"
)

type accountCommand struct {
	Create createAccountCommand `cmd:"" help:"Make one more merchant account in a running service and print its credentials once."`
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
