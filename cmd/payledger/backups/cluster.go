package backups

import (
	"context"
	"fmt"
	"io"
	"time"

	"payledger/cmd/payledger/audit"
	"payledger/cmd/payledger/options"
	"payledger/cmd/payledger/terminal"
	"payledger/eventstore/archive"
	"payledger/eventstore/backup/restore"
	"payledger/eventstore/external"
	"payledger/eventstore/secretlog"
	"payledger/eventstore/secrets"
	"payledger/eventstore/streams"
)

func (c *Restore) misused(args options.Arguments) error {
	faults := append(c.NATS.Faults(), c.NewCluster.Faults(c.NatsURL, args)...)
	switch {
	case c.NatsURL == "" && c.Data == "":
		faults = append(faults, "name the new data folder with --data, or the new cluster with --nats-url")
	case c.NatsURL != "" && c.Data != "":
		faults = append(faults, "--data makes a folder, and --nats-url makes the ledger of a cluster: leave one out")
	}
	return options.UsageOf(faults)
}

// cluster restores the ledger of a cluster, with the checks of init.
func (c *Restore) cluster(ctx context.Context, std terminal.Streams) error {
	if err := apart(folderFlag{"--from", c.From}, folderFlag{"--keys", c.Keys}); err != nil {
		return options.Usage(err)
	}
	b, err := restore.Open(c.From, c.Keys)
	if err != nil {
		return err
	}
	text, err := c.checkedKey(b)
	if err != nil {
		return err
	}
	if c.PreviousKey, err = c.checkedPrevious(); err != nil {
		return err
	}
	keys, err := c.masterKeys(text)
	if err != nil {
		return options.Usage(err)
	}
	access := c.Access()
	if err := restore.Unused(ctx, access); err != nil {
		return err
	}
	plan := external.Plan{Access: access, SystemCreds: c.SystemCreds, Replicas: c.Replicas, Placement: c.Placement(), Streams: max(streams.Needed(b.Shards), len(b.Streams)+b.Shards+4)}
	if err := external.Inspect(ctx, plan); err != nil {
		return err
	}
	presence, err := external.Announce(access)
	if err != nil {
		return err
	}
	defer presence.Close()
	if err := presence.Alone(ctx); err != nil {
		return err
	}
	bar, sentence := terminal.NewBar(std.Err), ""
	err = b.Cluster(ctx, restore.Target{
		Access: access, Replicas: c.Replicas, Placement: c.Placement().Config(), Progress: bar.Events,
		Verify: func(ctx context.Context, files *archive.Archive, stored secretlog.Reader) error {
			bar.Clear()
			var err error
			if sentence, err = audit.VerifyCluster(ctx, files, stored, keys, bar); err != nil {
				err = fmt.Errorf("the restored ledger is not whole: %w", err)
			}
			return err
		},
	})
	bar.Clear()
	if err != nil {
		return fmt.Errorf("%w; no node serves an incomplete ledger; repeat the command to begin again", err)
	}
	_ = external.Spread(ctx, access) // the ledger is complete: without it the servers share the load less evenly
	_, err = io.WriteString(std.Out, c.size(b, access.Servers())+fmt.Sprintf("Before you start nodes: stop every node of the old ledger for good, and repeat the erasures since %s. "+
		"Give the nodes the master key of the old ledger (PAYLEDGER_MASTER_KEY).\n", b.Time.Format(time.RFC3339))+sentence)
	return err
}

// masterKeys returns the master key, and the one before if a rotation of the key was not complete.
func (c *Restore) masterKeys(text string) (keys []secrets.Key, err error) {
	for _, text := range []string{text, c.MasterKeyPrevious} {
		if err != nil || text == "" {
			continue
		}
		var key secrets.Key
		key, err = secrets.ParseKey(text)
		keys = append(keys, key)
	}
	return keys, err
}
