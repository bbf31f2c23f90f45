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
	"strings"

	"github.com/rs/zerolog"

	"payledger/cmd/payledger/ledger"
	"payledger/cmd/payledger/options"
	"payledger/cmd/payledger/terminal"
	"payledger/domain"
	"payledger/eventstore"
	"payledger/eventstore/commands/accounts"
)

type credentialsCommand struct {
	Reset resetCommand `cmd:"" help:"Make new credentials for the account of a stopped server's data folder and print them once."`
}

// resetCommand creates new credentials for the holder of the folder and its master key.
type resetCommand struct {
	Data          string `help:"Data folder of a stopped server." default:"./data" type:"path"`
	Account       string `help:"The merchant account; the first one of the ledger by default." placeholder:"ID"`
	MasterKey     string `help:"Key of the stream of secrets, 64 hexadecimal digits." placeholder:"HEX"`
	MasterKeyFile string `help:"File that holds the master key." type:"path"`
	JSON          bool   `name:"json" help:"Print the credentials as JSON."`
}

// Run creates the credentials and prints them once.
func (c *resetCommand) Run(ctx context.Context, std terminal.Streams, args options.Arguments) (err error) {
	if err := args.Refused(); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(c.Data, ledger.EventsFolder)); err != nil {
		return fmt.Errorf("%s holds no ledger; name its folder with --data, or make one with `payledger init`", c.Data)
	}
	if c.MasterKey, err = options.ReadSecret("--master-key", c.MasterKey, c.MasterKeyFile); err != nil {
		return options.Usage(err)
	}
	l, err := ledger.Open(ctx, options.Options{Data: c.Data, MasterKey: c.MasterKey}, ledger.Existing, eventstore.Config{Logger: zerolog.Nop()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	made, err := accounts.ResetCredentials(ctx, l.Store, l.Secrets, rand.Reader, domain.AccountID(c.Account), "cli:credentials")
	switch {
	case errors.Is(err, accounts.ErrNotInitialized):
		return fmt.Errorf("%s holds a ledger without an account; make one with `payledger init`", c.Data)
	case errors.Is(err, accounts.ErrNoAccount):
		return fmt.Errorf("the ledger in %s has no account %s: check --account", c.Data, c.Account)
	}
	if err != nil {
		return err
	}
	if err := showCredentials(std.Out, made, c.JSON); err != nil || c.JSON {
		return err
	}
	_, err = fmt.Fprint(std.Out, "API keys that were there still work: revoke a lost one with DELETE /management/api-keys/{id}.\nWebhooks are signed with the previous secret too for 24 hours.\n")
	return err
}

func showCredentials(out io.Writer, made accounts.Credentials, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(out).Encode(made)
	}
	_, err := fmt.Fprintf(out, "account             %s (%s)\napi key             %s\nsigning secret      %s\ndashboard user      %s\ndashboard password  %s\n\nThis is shown once. Keep it.\n",
		made.AccountID, made.Environment, made.APIKey, made.SigningSecret, made.DashboardUser, made.DashboardPassword)
	return err
}

type initCommand struct {
	Data          string `help:"Data folder." default:"./data" type:"path"`
	options.NATS  `embed:""`
	Replicas      int    `name:"nats-replicas" help:"With --nats-url: the number of servers that hold every stream, 3 or 5." default:"3"`
	SystemCreds   string `name:"nats-system-creds" help:"With --nats-url: credentials file of a system user, if the ledger's NATS account does not see how the servers are configured." type:"path"`
	Environment   string `help:"sandbox or production." enum:"sandbox,production" default:"sandbox"`
	Shards        int    `help:"Number of shard streams." placeholder:"N"`
	MasterKey     string `help:"Key of the stream of secrets, 64 hexadecimal digits." placeholder:"HEX"`
	MasterKeyFile string `help:"File that holds the master key." type:"path"`
	JSON          bool   `name:"json" help:"Print the credentials as JSON."`
}

// check reads the master key, and returns every fault of the flags before anything is written.
func (c *initCommand) check(args options.Arguments) error {
	o := options.Options{Environment: c.Environment, MasterKey: c.MasterKey, MasterKeyFile: c.MasterKeyFile}.WithFiles()
	faults := o.KeyFaults()
	if c.NatsURL != "" { // the new master key is printed, and not kept beside the data
		faults = o.WrittenFaults()
	}
	faults = append(faults, c.NATS.Faults()...)
	if c.Replicas != 3 && c.Replicas != 5 {
		faults = append(faults, fmt.Sprintf("--nats-replicas is %d: it must be 3 or 5", c.Replicas))
	}
	if c.NatsURL == "" && (args.Has("--nats-replicas") || c.SystemCreds != "") {
		faults = append(faults, "--nats-replicas and --nats-system-creds are for --nats-url, which is missing")
	}
	if !o.Sandbox() {
		faults = append(faults, args.Faults()...)
	}
	if c.MasterKey = o.MasterKey; len(faults) > 0 {
		return options.Usage(errors.New(strings.Join(faults, "; ")))
	}
	return nil
}

// Run creates the account and prints its credentials once. It refuses a folder that has an account.
func (c *initCommand) Run(ctx context.Context, std terminal.Streams, args options.Arguments) (err error) {
	if err := c.check(args); err != nil {
		return err
	}
	if c.NatsURL != "" {
		return c.makeCluster(ctx, std)
	}
	if err := os.MkdirAll(c.Data, 0o700); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	l, err := ledger.Open(ctx, options.Options{Data: c.Data, Shards: c.Shards, MasterKey: c.MasterKey}, ledger.Create, eventstore.Config{Logger: zerolog.Nop()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	made, err := accounts.Initialize(ctx, l.Store, l.Secrets, rand.Reader, c.Environment, "cli:init")
	if errors.Is(err, accounts.ErrInitialized) {
		return fmt.Errorf("%s holds a ledger already; its credentials were shown when it was made", c.Data)
	}
	if err != nil {
		return err
	}
	return showCredentials(std.Out, made, c.JSON)
}

// makeCluster makes a ledger on an external NATS cluster.
func (c *initCommand) makeCluster(ctx context.Context, std terminal.Streams) error {
	cluster := ledger.Cluster{
		NATS: c.NATS, SystemCreds: c.SystemCreds, Replicas: c.Replicas, Shards: c.Shards, Environment: c.Environment, MasterKey: c.MasterKey,
	}
	shown := false
	err := cluster.Make(ctx, func(made ledger.Made) error {
		shown = true
		if c.JSON {
			return printed(json.NewEncoder(std.Out).Encode(made))
		}
		_, err := fmt.Fprintf(std.Out, "master key          %s\n", made.MasterKey)
		return printed(errors.Join(err, showCredentials(std.Out, made.Credentials, false)))
	})
	if err != nil && shown {
		return fmt.Errorf("%w; run init again: what was printed is valid only if it then refuses because the cluster holds a ledger", err)
	}
	return err
}
