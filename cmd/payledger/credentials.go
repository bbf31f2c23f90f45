package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/rs/zerolog"

	"payledger/eventstore/commands"
)

// credentialsCommand has the tools for credentials that were lost.
type credentialsCommand struct {
	Reset resetCommand `cmd:"" help:"Make new credentials for the account of a stopped server's data folder and print them once."`
}

// resetCommand makes new credentials in place of lost ones. Who has the folder and its master key may do so.
type resetCommand struct {
	Data          string `help:"Data folder of a stopped server." default:"./data" type:"path"`
	MasterKey     string `help:"Key of the stream of secrets, 64 hexadecimal digits." placeholder:"HEX"`
	MasterKeyFile string `help:"File that holds the master key." type:"path"`
	JSON          bool   `name:"json" help:"Print the credentials as JSON."`
}

// Run makes the credentials and prints them, once.
func (c *resetCommand) Run(ctx context.Context, std streams, args arguments) (err error) {
	if err := args.refused(); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(c.Data, eventsFolder)); err != nil {
		return fmt.Errorf("%s holds no ledger; name its folder with --data, or make one with `payledger init`", c.Data)
	}
	if c.MasterKey, err = readSecret("--master-key", c.MasterKey, c.MasterKeyFile); err != nil {
		return usageError{err}
	}
	l, err := openLedger(ctx, Options{Data: c.Data, MasterKey: c.MasterKey, existing: true}, zerolog.Nop(), false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	made, err := commands.ResetCredentials(ctx, l.store, l.vault, rand.Reader, "cli:credentials")
	if errors.Is(err, commands.ErrNotInitialized) {
		return fmt.Errorf("%s holds a ledger without an account; make one with `payledger init`", c.Data)
	}
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(std.out).Encode(made)
	}
	printCredentials(std.out, made)
	fmt.Fprint(std.out, "API keys that were there still work: revoke a lost one with DELETE /management/api-keys/{id}.\nWebhooks are signed with the previous secret too for 24 hours.\n")
	return nil
}

// printCredentials writes credentials for people.
func printCredentials(out io.Writer, made commands.Credentials) {
	fmt.Fprintf(out, "account             %s (%s)\napi key             %s\nsigning secret      %s\ndashboard user      %s\ndashboard password  %s\n\nThis is shown once. Keep it.\n",
		made.AccountID, made.Environment, made.APIKey, made.SigningSecret, made.DashboardUser, made.DashboardPassword)
}
