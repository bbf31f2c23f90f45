package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"payledger/cmd/payledger/ledger"
	"payledger/cmd/payledger/options"
	"payledger/cmd/payledger/terminal"
	"payledger/eventstore/folder"
	"payledger/eventstore/secrets"
)

// rotateCommand seals all secrets of a ledger with a new master key (I1, decision 11).
type rotateCommand struct {
	Data             string `help:"Data folder of a stopped service; with --nats-url, of a stopped node." default:"./data" type:"path"`
	options.NATS     `embed:""`
	MasterKey        string `help:"The present master key, 64 hexadecimal digits. A sandbox keeps it in its data folder." placeholder:"HEX"`
	MasterKeyFile    string `help:"File that holds the present master key." type:"path"`
	NewMasterKeyFile string `help:"File that holds the new master key, 64 hexadecimal digits. Default: a random key, which is printed once, or replaces the file in the data folder." type:"path"`
	JSON             bool   `name:"json" help:"Print the new key as JSON."`
}

// Help is the end of the command's help.
func (rotateCommand) Help() string {
	return "Stop the service, or every node of a cluster, before. Back-ups from before the rotation are restored with the old master key: keep it as long as you keep them. " +
		"Make a back-up right after the rotation. If the command is interrupted, run it again. It then completes the rotation, or does it from the beginning."
}

// Run rotates the master key.
func (c *rotateCommand) Run(ctx context.Context, std terminal.Streams, args options.Arguments) error {
	rotation, err := c.rotation(args)
	if err != nil {
		return err
	}
	shown := false
	rotation.Show = func(key string) error {
		shown = true
		if c.JSON {
			return printed(json.NewEncoder(std.Out).Encode(map[string]string{"masterKey": key}))
		}
		_, err := fmt.Fprintf(std.Out, "new master key      %s\n\nThis is shown once. Keep it. It is the key of the ledger if this command exits with 0.\n", key)
		return printed(err)
	}
	done, err := rotation.Run(ctx)
	switch {
	case errors.Is(err, folder.ErrInUse):
		return fmt.Errorf("a service runs on %s: stop it, and rotate the master key then; nothing was changed", c.Data)
	case errors.Is(err, secrets.ErrSameKey):
		return errors.New("the new master key is the one that the ledger has already: give another one with --new-master-key-file; nothing was changed")
	case errors.Is(err, secrets.ErrUndecided) && shown:
		return fmt.Errorf("%w: keep the old master key and the new one, and start the service with the one that it takes", err)
	case err != nil:
		return err
	}
	return c.report(std, done)
}

// rotation returns the rotation that the flags describe.
func (c *rotateCommand) rotation(args options.Arguments) (r ledger.Rotation, err error) {
	if err := args.Refused(); err != nil {
		return r, err
	}
	faults := c.NATS.Faults()
	if r.MasterKey, err = options.ReadSecret("--master-key", c.MasterKey, c.MasterKeyFile); err != nil {
		faults = append(faults, err.Error())
	}
	if r.Next, err = options.ReadSecret("--new-master-key", "", c.NewMasterKeyFile); err != nil {
		faults = append(faults, err.Error())
	} else if r.Next != "" {
		if _, err := secrets.ParseKey(r.Next); err != nil {
			faults = append(faults, "--new-master-key-file: a key is 64 hexadecimal digits")
		}
	}
	if c.NatsURL != "" && r.MasterKey == "" && len(faults) == 0 {
		faults = append(faults, "a cluster has no key file: set PAYLEDGER_MASTER_KEY or --master-key-file to its present master key")
	}
	if len(faults) > 0 {
		return r, options.Usage(errors.New(strings.Join(faults, "; ")))
	}
	if _, err := os.Stat(filepath.Join(c.Data, ledger.EventsFolder)); err != nil && c.NatsURL == "" {
		return r, fmt.Errorf("%s holds no ledger: name its folder with --data", c.Data)
	}
	r.Data, r.NATS = c.Data, c.NATS
	return r, nil
}

// report prints the result, without the key.
func (c *rotateCommand) report(std terminal.Streams, done ledger.Rotated) error {
	out := std.Out
	if c.JSON {
		out = std.Err
	}
	text := fmt.Sprintf("The master key is rotated: %d values are sealed with the new key, and the old ones are removed.\n", done.Values)
	if done.Completed {
		text = "An earlier rotation of the master key was interrupted. It is complete now: its new key is the key of the ledger.\n"
	}
	if done.File != "" {
		text += fmt.Sprintf("The new key is in %s.\n", done.File)
	}
	text += "Back-ups from before are restored with the old key: keep it as long as you keep them, and make a new back-up now.\n"
	_, err := fmt.Fprint(out, text)
	return err
}
