package ledger

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"payledger/cmd/payledger/options"
	"payledger/eventstore"
	"payledger/eventstore/commands/accounts"
	"payledger/eventstore/external"
	"payledger/eventstore/secrets"
)

// Cluster is a ledger that is about to be made on an external NATS cluster.
type Cluster struct {
	options.NATS
	SystemCreds string
	Replicas    int // of every stream
	Shards      int // 0: the default
	Environment string
	MasterKey   string // "": a new one
}

// Made is what the maker of a cluster's ledger must keep: nothing shows it again.
type Made struct {
	accounts.Credentials
	MasterKey string `json:"masterKey"`
}

// Make makes the ledger, with all streams and the first account. It completes an earlier Make that was cut short, and refuses a
// cluster that holds a ledger. It calls show before its last step: what was shown is valid only if Make returns nil.
func (c Cluster) Make(ctx context.Context, show func(Made) error) (err error) {
	key, err := c.key()
	if err != nil {
		return err
	}
	plan := external.Plan{
		Access: c.Access(), SystemCreds: c.SystemCreds, Replicas: c.Replicas, Streams: eventstore.StreamsOf(cmp.Or(c.Shards, eventstore.DefaultShards)),
	}
	if err := external.Inspect(ctx, plan); err != nil {
		return err
	}
	store, err := eventstore.Open(ctx, eventstore.Config{
		External: plan.Access, Shards: c.Shards, Replicas: c.Replicas, Now: time.Now, Random: rand.Reader, Logger: zerolog.Nop(),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if _, err := store.Initialized(ctx); err == nil {
		return c.errMade()
	} else if !errors.Is(err, eventstore.ErrNotFound) {
		return err
	}
	vault, err := secrets.Open(ctx, store, key, rand.Reader)
	if err != nil {
		return err
	}
	_, err = accounts.InitializeShown(ctx, store, vault, rand.Reader, c.Environment, "cli:init", func(made accounts.Credentials) error {
		return show(Made{made, key.Text()})
	})
	if errors.Is(err, accounts.ErrInitialized) {
		return c.errMade()
	}
	return err
}

func (c Cluster) errMade() error {
	return fmt.Errorf("the NATS cluster %s holds a ledger already; its credentials and its master key were shown when it was made", c.Access().Servers())
}

func (c Cluster) key() (secrets.Key, error) {
	if c.MasterKey != "" {
		return secrets.ParseKey(c.MasterKey)
	}
	return secrets.NewKey(rand.Reader)
}
