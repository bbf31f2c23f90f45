package backups

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"payledger/cmd/payledger/control"
	"payledger/cmd/payledger/ledger"
	"payledger/cmd/payledger/options"
	"payledger/cmd/payledger/terminal"
	"payledger/eventstore"
	"payledger/eventstore/backup"
	"payledger/eventstore/folder"
	"payledger/eventstore/remote"
)

// Backup copies the log, of a running service, of a stopped one or of a cluster, and continues an
// earlier copy (I1).
type Backup struct {
	Out     string `help:"Folder of the back-up: a new one, or the one of the last run, which gets only what is new." type:"path" required:""`
	KeysOut string `help:"Folder of the keys, apart from --out: the sealed secrets, rewritten whole at each run." type:"path" required:""`
	Data    string `help:"Data folder, of a running service or of a stopped one." default:"./data" type:"path"`

	options.NATS `embed:""`
}

// Run makes the back-up, and prints one sentence.
func (c *Backup) Run(ctx context.Context, std terminal.Streams, args options.Arguments) (err error) {
	if err := args.Refused(); err != nil {
		return err
	}
	folders := []folderFlag{{"--out", c.Out}, {"--keys-out", c.KeysOut}}
	if c.NatsURL == "" {
		folders = append([]folderFlag{{"--data", c.Data}}, folders...)
	}
	if err := c.misused(args); err != nil {
		return err
	}
	if err := apart(folders...); err != nil {
		return options.Usage(err)
	}
	source, err := c.source(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	begun, progress := time.Now(), terminal.NewBar(std.Err)
	result, err := backup.Run(ctx, backup.Config{Source: source, Out: c.Out, Keys: c.KeysOut, Now: time.Now, Progress: progress.Events})
	progress.Clear()
	if err != nil {
		return err
	}
	took := time.Since(begun)
	_, err = fmt.Fprintf(std.Out, "run %d is complete: %s (%d bytes), %s in all, up to checkpoint %d; keys %d bytes, in %s (%s, %.0f events/s).\n",
		result.Number, terminal.Count(result.New, "new event"), result.Bytes, terminal.Count(result.Events, "event"), result.Checkpoint, result.KeyBytes, c.KeysOut,
		took.Round(time.Millisecond), float64(result.New)/took.Seconds())
	return err
}

func (c *Backup) misused(args options.Arguments) error {
	faults := c.NATS.Faults()
	if c.NatsURL != "" && args.Has("--data") {
		faults = append(faults, "--data names a folder, and --nats-url names a cluster: leave one out")
	}
	return options.UsageOf(faults)
}

func (c *Backup) cluster(ctx context.Context) (*backup.Source, error) {
	log, err := remote.Open(ctx, c.Access())
	if errors.Is(err, eventstore.ErrNotFound) {
		err = fmt.Errorf("the NATS cluster %s holds no ledger: name its servers with --nats-url", c.Access().Servers())
	}
	if err != nil {
		return nil, err
	}
	return backup.Cluster(log), nil
}

func (c *Backup) source(ctx context.Context) (*backup.Source, error) {
	if c.NatsURL != "" {
		return c.cluster(ctx)
	}
	events := filepath.Join(c.Data, ledger.EventsFolder)
	service, err := control.Find(ctx, c.Data)
	if err == nil {
		return backup.Running(events, func(ctx context.Context) (cut backup.Cut, err error) {
			err = service.Call(ctx, "backup-moment", struct{}{}, nil, &cut)
			return cut, err
		}), nil
	}
	if !errors.Is(err, control.ErrNoService) {
		return nil, err
	}
	source, err := backup.Stopped(ctx, events)
	switch {
	case errors.Is(err, folder.ErrInUse):
		return nil, control.Unreachable(c.Data)
	case errors.Is(err, eventstore.ErrNotFound):
		return nil, fmt.Errorf("%s holds no ledger: name its folder with --data", c.Data)
	}
	return source, err
}
