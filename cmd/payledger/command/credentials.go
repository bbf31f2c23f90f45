package command

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

	"payledger/cmd/payledger/app"
	"payledger/cmd/payledger/control"
	"payledger/cmd/payledger/ledger"
	"payledger/cmd/payledger/options"
	"payledger/cmd/payledger/terminal"
	"payledger/domain"
	"payledger/eventstore/commands/accounts"
	"payledger/eventstore/folder"
	"payledger/eventstore/proof"
	"payledger/eventstore/secrets"
)

type credentialsCommand struct {
	Reset resetCommand `cmd:"" help:"Make new credentials for an account of a running service, or of a stopped server's folder, and print them once."`
}

type resetCommand struct {
	Data          string `help:"Data folder, of a running service or a stopped one." default:"./data" type:"path"`
	Account       string `help:"The merchant account; the first one of the ledger by default." placeholder:"ID"`
	MasterKey     string `help:"Key of the stream of secrets, 64 hexadecimal digits, if the server is stopped." placeholder:"HEX"`
	MasterKeyFile string `help:"File that holds the master key, if the server is stopped." type:"path"`
	JSON          bool   `name:"json" help:"Print the credentials as JSON."`
}

func (c *resetCommand) Run(ctx context.Context, std terminal.Streams, args options.Arguments) error {
	if err := args.Refused(); err != nil {
		return err
	}
	var made accounts.Credentials
	service, err := control.Find(ctx, c.Data)
	switch {
	case errors.Is(err, control.ErrNoService):
		made, err = c.inFolder(ctx)
	case err == nil:
		err = service.Call(ctx, "credentials-reset", app.ResetRequest{Account: domain.AccountID(c.Account)}, nil, &made)
	}
	if err != nil {
		return err
	}
	if err := showCredentials(std.Out, made, c.JSON); err != nil || c.JSON {
		return err
	}
	text := "API keys that were there still work: revoke a lost one with DELETE /management/api-keys/{id}.\nWebhooks are signed with the secret before this one too for 24 hours.\n"
	for _, warning := range made.Warnings {
		text += warning + "\n"
	}
	_, err = fmt.Fprint(std.Out, text)
	return err
}

// inFolder resets the credentials in the folder of a stopped server.
func (c *resetCommand) inFolder(ctx context.Context) (made accounts.Credentials, err error) {
	if _, err := os.Stat(filepath.Join(c.Data, ledger.EventsFolder)); err != nil {
		return made, fmt.Errorf("%s holds no ledger, and no service runs on it; name its folder with --data (of a cluster, that of a node that runs), or make a ledger with `payledger init`", c.Data)
	}
	if c.MasterKey, err = options.ReadSecret("--master-key", c.MasterKey, c.MasterKeyFile); err != nil {
		return made, options.Usage(err)
	}
	l, err := ledger.Open(ctx, options.Options{Data: c.Data, MasterKey: c.MasterKey}, ledger.Existing, ledger.Config{Logger: zerolog.Nop()})
	if errors.Is(err, folder.ErrInUse) {
		return made, control.Unreachable(c.Data)
	}
	if err != nil {
		return made, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	made, err = accounts.ResetCredentials(ctx, l.Store, l.Secrets, rand.Reader, domain.AccountID(c.Account), app.CredentialsActor)
	switch {
	case errors.Is(err, accounts.ErrNotInitialized):
		err = fmt.Errorf("%s holds a ledger without an account; make one with `payledger init`", c.Data)
	case errors.Is(err, accounts.ErrNoAccount):
		err = app.NoAccount(domain.AccountID(c.Account))
	}
	return made, err
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
	Data               string `help:"Data folder." default:"./data" type:"path"`
	options.NATS       `embed:""`
	options.NewCluster `embed:""`
	Environment        string `help:"sandbox or production." enum:"sandbox,production" default:"sandbox"`
	Shards             int    `help:"Number of shard streams." placeholder:"N"`
	Origin             string `help:"Name of the ledger in its checkpoints, for witnesses, for example ledger.example.com/payments (default: payledger/<id of the log>)." placeholder:"NAME"`
	MasterKey          string `help:"Key of the stream of secrets, 64 hexadecimal digits." placeholder:"HEX"`
	MasterKeyFile      string `help:"File that holds the master key." type:"path"`
	JSON               bool   `name:"json" help:"Print the credentials as JSON."`
}

// Check reads the master key, and returns every fault of the flags before anything is written.
func (c *initCommand) Check(args options.Arguments) error {
	o := options.Options{Environment: c.Environment, MasterKey: c.MasterKey, MasterKeyFile: c.MasterKeyFile}.WithFiles()
	faults := o.KeyFaults()
	if c.NatsURL != "" { // the new master key is printed, and not kept beside the data
		faults = o.WrittenFaults()
	}
	faults = append(append(faults, c.NATS.Faults()...), c.NewCluster.Faults(c.NatsURL, args)...)
	if !o.Sandbox() {
		faults = append(faults, args.Faults()...)
		if c.NatsURL == "" {
			faults = append(faults, options.FolderFaults(c.Data)...) // serve would refuse the ledger
		}
	}
	if c.Origin != "" && !proof.ValidOrigin(c.Origin) {
		faults = append(faults, options.OriginFault(c.Origin))
	}
	if beside := (options.Options{Data: c.Data, NATS: c.NATS}).BesideFault(); beside != "" { // serve would show the new ledger from then on
		faults = append(faults, beside)
	}
	c.MasterKey = o.MasterKey
	return options.UsageOf(faults)
}

func (c *initCommand) Run(ctx context.Context, std terminal.Streams, args options.Arguments) (err error) {
	if err := c.Check(args); err != nil {
		return err
	}
	if c.NatsURL != "" {
		return c.makeCluster(ctx, std)
	}
	if err := os.MkdirAll(c.Data, 0o700); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	l, err := ledger.Open(ctx, options.Options{Data: c.Data, Shards: c.Shards, Origin: c.Origin, MasterKey: c.MasterKey}, ledger.Create, ledger.Config{Logger: zerolog.Nop()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	made, err := accounts.Initialize(ctx, l.Store, l.Secrets, rand.Reader, c.Environment, "cli:init", nil)
	if errors.Is(err, accounts.ErrInitialized) {
		return fmt.Errorf("%s holds a ledger already; its credentials were shown when it was made", c.Data)
	}
	if err == nil {
		err = l.Secrets.Claim(ctx) // with the origin
	}
	if err != nil {
		return err
	}
	return showCredentials(std.Out, made, c.JSON)
}

func (c *initCommand) makeCluster(ctx context.Context, std terminal.Streams) error {
	cluster := ledger.Cluster{
		NATS: c.NATS, SystemCreds: c.SystemCreds, Replicas: c.Replicas, Placement: c.Placement(), Shards: c.Shards, Origin: c.Origin, Environment: c.Environment, MasterKey: c.MasterKey,
	}
	shown, out := false, OnlyCopy{std.Out, (*os.File).Sync}
	err := cluster.Make(ctx, func(made ledger.Made) error {
		shown = true
		return out.Made(made, c.JSON)
	})
	if err != nil && shown {
		return fmt.Errorf("%w; run init again: what was printed is valid only if it then refuses because the cluster holds a ledger", err)
	}
	return err
}

// rotateCommand seals all secrets of a ledger with a new master key (I1).
type rotateCommand struct {
	Data                string `help:"Data folder of a stopped service." default:"./data" type:"path"`
	options.NATS        `embed:""`
	MasterKey           string `help:"The present master key, 64 hexadecimal digits. A sandbox keeps it in its data folder. With --nats-url: the new master key." placeholder:"HEX"`
	MasterKeyFile       string `help:"File that holds this master key." type:"path"`
	options.PreviousKey `embed:""`
	NewMasterKeyFile    string `help:"File that holds the new master key of a data folder, 64 hexadecimal digits. Default: a random key, which is printed once, or replaces the file in the data folder." type:"path"`
	JSON                bool   `name:"json" help:"Print the new key as JSON."`
}

func (rotateCommand) Help() string {
	return "Of a data folder: stop the service before. Of a cluster: restart every node with the new master key, and with the old one as --master-key-previous, " +
		"run this command with the same two keys, and take the old key away from the nodes when it has exited with 0. Back-ups from before the rotation are restored with the old master key: keep it as long as you keep them. " +
		"Make a back-up right after the rotation. If the command is interrupted, run it again: for a data folder with the key that it printed as --new-master-key-file. It then completes the rotation, or does it from the beginning."
}

func (c *rotateCommand) Run(ctx context.Context, std terminal.Streams, args options.Arguments) error {
	if c.NatsURL != "" {
		return c.roll(ctx, std, args)
	}
	rotation, err := c.rotation(args)
	if err != nil {
		return err
	}
	shown, out := false, OnlyCopy{std.Out, (*os.File).Sync}
	rotation.Show = func(key string) error {
		shown = true
		return out.Key(key, c.JSON)
	}
	done, err := rotation.Run(ctx)
	switch {
	case errors.Is(err, folder.ErrInUse):
		return fmt.Errorf("a service runs on %s: stop it, and rotate the master key then; nothing was changed", c.Data)
	case errors.Is(err, secrets.ErrSameKey):
		return errors.New("the ledger has this master key already: give a new key with --new-master-key-file; nothing was changed")
	case err != nil && shown:
		return fmt.Errorf("%w: keep the old master key and the new one, and run the command again with the new one in --new-master-key-file", err)
	case err != nil:
		return err
	}
	return c.report(std, done)
}

func (c *rotateCommand) rotation(args options.Arguments) (r ledger.Rotation, err error) {
	if err := args.Refused(); err != nil {
		return r, err
	}
	faults := c.NATS.Faults()
	if c.PreviousKey != (options.PreviousKey{}) {
		faults = append(faults, "--master-key-previous is for --nats-url: the key of a data folder is replaced by --new-master-key-file, or by a random one")
	}
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
	if err := options.UsageOf(faults); err != nil {
		return r, err
	}
	if _, err := os.Stat(filepath.Join(c.Data, ledger.EventsFolder)); err != nil {
		return r, fmt.Errorf("%s holds no ledger: name its folder with --data", c.Data)
	}
	r.Data, r.NATS = c.Data, c.NATS
	return r, nil
}

func (c *rotateCommand) roll(ctx context.Context, std terminal.Streams, args options.Arguments) error {
	if err := args.Refused(); err != nil {
		return err
	}
	o := options.Options{NATS: c.NATS, MasterKey: c.MasterKey, MasterKeyFile: c.MasterKeyFile, PreviousKey: c.PreviousKey}.WithFiles()
	o.MasterKeyFile = ""
	faults := append(c.NATS.Faults(), o.WrittenFaults()...)
	if len(faults) == 0 && (o.MasterKey == "" || o.MasterKeyPrevious == "") {
		faults = append(faults, "give the new master key in PAYLEDGER_MASTER_KEY or --master-key-file, and the old one in PAYLEDGER_MASTER_KEY_PREVIOUS or --master-key-previous-file, as to the nodes")
	}
	if args.Has("--data") {
		faults = append(faults, "--data names a folder, and --nats-url names a cluster: leave one out")
	}
	if c.NewMasterKeyFile != "" {
		faults = append(faults, "--new-master-key-file is for a data folder: every node of a cluster has the new key already, in --master-key-file")
	}
	if err := options.UsageOf(faults); err != nil {
		return err
	}
	done, err := ledger.ClusterRotation{Options: o}.Run(ctx)
	if errors.Is(err, secrets.ErrSameKey) {
		return errors.New("the ledger has this master key already: give the new key in PAYLEDGER_MASTER_KEY, and the old key in PAYLEDGER_MASTER_KEY_PREVIOUS; nothing was changed")
	}
	if err != nil {
		return err
	}
	return c.report(std, done)
}

func (c *rotateCommand) report(std terminal.Streams, done ledger.Rotated) error {
	out := std.Out
	if c.JSON {
		out = std.Err
	}
	text := fmt.Sprintf("The master key is rotated: %s sealed with the new key, and the old ones are removed.\n", terminal.Count(done.Values, "value is", "values are"))
	if done.Completed {
		text = "An earlier rotation of the master key was interrupted. It is complete now: its new key is the key of the ledger.\n"
	}
	switch {
	case done.Before && c.NatsURL == "":
		text = "Nothing was changed: the new key is the key of the ledger already, and the rotation to it is complete.\n"
	case done.Before:
		text = "Nothing was changed: the key in PAYLEDGER_MASTER_KEY (or --master-key-file) seals the ledger already, and the rotation to it is complete.\n" +
			"For another rotation give the nodes and this command a new key there, and this key as PAYLEDGER_MASTER_KEY_PREVIOUS.\n"
	}
	if done.File != "" {
		text += fmt.Sprintf("The new key is in %s.\n", done.File)
	}
	text += "Back-ups from before are restored with the old key: keep it as long as you keep them, and make a new back-up now.\n"
	_, err := fmt.Fprint(out, text)
	return err
}
