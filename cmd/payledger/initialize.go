package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/rs/zerolog"

	"payledger/eventstore/commands"
)

// initCommand makes the account of a new data folder.
type initCommand struct {
	Data        string `help:"Data folder." default:"./data" type:"path"`
	Environment string `help:"sandbox or production." enum:"sandbox,production" default:"sandbox"`
	Shards      int    `help:"Number of shard streams." placeholder:"N"`
	MasterKey   string `help:"Key of the stream of secrets, 64 hexadecimal digits." placeholder:"HEX"`
	JSON        bool   `name:"json" help:"Print the credentials as JSON."`
}

// Run creates the account and prints its credentials, once. A folder that has one is refused.
func (c *initCommand) Run(ctx context.Context, std streams) (err error) {
	if c.Environment == "production" && c.MasterKey == "" {
		return usageError{errors.New("PAYLEDGER_MASTER_KEY is needed in production: a key beside the data protects nothing")}
	}
	if err := os.MkdirAll(c.Data, 0o700); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	l, err := openLedger(ctx, Options{Data: c.Data, Shards: c.Shards, MasterKey: c.MasterKey}, zerolog.Nop(), false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	made, err := commands.Initialize(ctx, l.store, l.vault, rand.Reader, c.Environment, "cli:init")
	if errors.Is(err, commands.ErrInitialized) {
		return fmt.Errorf("%s holds a ledger already; its credentials were shown when it was made", c.Data)
	}
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(std.out).Encode(made)
	}
	printCredentials(std.out, made)
	return nil
}
