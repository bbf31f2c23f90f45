package command

import (
	"context"
	"fmt"

	"payledger/cmd/payledger/app"
	"payledger/cmd/payledger/terminal"
	"payledger/domain"
)

// analyticsUserCommand makes credentials for the stream EVENTS of a running service (I1).
type analyticsUserCommand struct {
	Name    string `arg:"" help:"Name of the program that will read the events. Credentials of the same name before end."`
	Remove  bool   `help:"End the credentials of this name, and make no new ones."`
	Account string `help:"The merchant account whose events it reads, if the ledger has several." placeholder:"ID"`
	Data    string `help:"Data folder of the running service." default:"./data" type:"path"`
}

func (c *analyticsUserCommand) Run(ctx context.Context, std terminal.Streams) error {
	var made app.AnalyticsCredentials
	hint := "start it with `payledger serve --nats-listen`, or name its folder with --data"
	err := callService(ctx, c.Data, hint, "analytics-user", app.AnalyticsUser{Name: c.Name, Account: domain.AccountID(c.Account), Remove: c.Remove}, &made)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(std.Out, made.Credentials)
	return printed(err)
}
