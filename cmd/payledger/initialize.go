package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/rs/zerolog"

	"payledger/eventstore/commands"
)

// initCommand makes the account of a new data folder.
type initCommand struct {
	Data          string `help:"Data folder." default:"./data" type:"path"`
	Environment   string `help:"sandbox or production." enum:"sandbox,production" default:"sandbox"`
	Shards        int    `help:"Number of shard streams." placeholder:"N"`
	MasterKey     string `help:"Key of the stream of secrets, 64 hexadecimal digits." placeholder:"HEX"`
	MasterKeyFile string `help:"File that holds the master key." type:"path"`
	JSON          bool   `name:"json" help:"Print the credentials as JSON."`
}

// check reads the master key, and names everything that is wrong before anything is written.
func (c *initCommand) check(args arguments) error {
	o := Options{Environment: c.Environment, MasterKey: c.MasterKey, MasterKeyFile: c.MasterKeyFile}.withFiles()
	faults := o.keyFaults()
	if !o.sandbox() {
		faults = append(faults, args.argumentFaults()...)
	}
	if c.MasterKey = o.MasterKey; len(faults) > 0 {
		return usageError{errors.New(strings.Join(faults, "; "))}
	}
	return nil
}

// Run creates the account and prints its credentials, once. A folder that has one is refused.
func (c *initCommand) Run(ctx context.Context, std streams, args arguments) (err error) {
	if err := c.check(args); err != nil {
		return err
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
