package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

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

type accountRequest struct {
	Name string `json:"name"`
}

const maxAccountName = 100 // characters

func (r accountRequest) fault() string {
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

func (c *createAccountCommand) Run(ctx context.Context, std terminal.Streams, args options.Arguments) error {
	if err := args.Refused(); err != nil {
		return err
	}
	request := accountRequest{Name: c.Name}
	if fault := request.fault(); fault != "" {
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

// createAccount serves the command account-create. It answers when the API knows the account.
func (a *App) createAccount(ctx context.Context, in accountRequest, _ func(any) error) (any, error) {
	if fault := in.fault(); fault != "" {
		return nil, errors.New(fault)
	}
	a.creating.Lock() // of two accounts with one name, the second sees the first
	defer a.creating.Unlock()
	for _, other := range a.views.Accounts() {
		if other.Name == in.Name {
			return nil, fmt.Errorf("the ledger has an account %q: %s. If its credentials are lost, stop the service and run `payledger credentials reset --data %s --account %s`",
				in.Name, other.ID, a.options.Data, other.ID)
		}
	}
	state, err := a.ledger.Store.Initialized(ctx)
	if err != nil {
		return nil, err
	}
	made, err := accounts.Create(ctx, a.ledger.Store, a.ledger.Secrets, rand.Reader, in.Name, state.Environment, "cli:account")
	if err != nil {
		return nil, err
	}
	return made, a.views.CaughtUp(ctx)
}
