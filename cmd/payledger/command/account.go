package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/rs/zerolog"

	"payledger/cmd/payledger/app"
	"payledger/cmd/payledger/control"
	"payledger/cmd/payledger/ledger"
	"payledger/cmd/payledger/options"
	"payledger/cmd/payledger/terminal"
	"payledger/domain/account"
	"payledger/eventstore"
	"payledger/eventstore/commands/accounts"
	"payledger/eventstore/commands/reconcile"
	"payledger/eventstore/folder"
)

type accountCommand struct {
	Create createAccountCommand `cmd:"" help:"Make one more merchant account in a running service and print its credentials once."`
	List   listAccountsCommand  `cmd:"" help:"List the merchant accounts of a running service, or of a stopped server's folder: id, name, environment and time of creation."`
}

// listAccountsCommand lists the accounts of a data folder: of the service that runs on it, or else
// of the folder itself (I1).
type listAccountsCommand struct {
	Data          string `help:"Data folder, of a running service or a stopped one." default:"./data" type:"path"`
	JSON          bool   `name:"json" help:"Print a JSON array."`
	MasterKey     string `help:"Key of the stream of secrets, if the server is stopped." placeholder:"HEX"`
	MasterKeyFile string `help:"File that holds the master key, if the server is stopped." type:"path"`
}

func (c *listAccountsCommand) Run(ctx context.Context, std terminal.Streams, args options.Arguments) error {
	if err := args.Refused(); err != nil {
		return err
	}
	var rows []app.AccountRow
	service, err := control.Find(ctx, c.Data)
	switch {
	case errors.Is(err, control.ErrNoService):
		rows, err = c.inFolder(ctx)
	case err == nil:
		err = service.Call(ctx, "account-list", struct{}{}, nil, &rows)
	}
	if err != nil {
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

// inFolder returns the accounts of a stopped server's folder. It does not change the folder.
func (c *listAccountsCommand) inFolder(ctx context.Context) (rows []app.AccountRow, err error) {
	o := options.Options{Data: c.Data, MasterKey: c.MasterKey, MasterKeyFile: c.MasterKeyFile}
	l, err := ledger.Open(ctx, o, ledger.ReadOnly, ledger.Config{Logger: zerolog.Nop()})
	if errors.Is(err, folder.ErrInUse) {
		return nil, control.Unreachable(c.Data)
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	ids, err := reconcile.Accounts(ctx, l.Store)
	if err != nil {
		return nil, err
	}
	var states []account.State
	for _, id := range ids {
		tip, err := eventstore.Load(ctx, l.Store, eventstore.Accounts, eventstore.Accounts.Key(id, string(id)), eventstore.Latest)
		if err != nil {
			return nil, err
		}
		states = append(states, tip.State)
	}
	return app.AccountRows(states), nil
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

// callService sends a command to the service that runs on a folder, and decodes its answer. hint is
// for a folder without a service.
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
