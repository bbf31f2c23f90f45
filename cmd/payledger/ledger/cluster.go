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
	"payledger/eventstore/engine"
	"payledger/eventstore/external"
	"payledger/eventstore/secrets"
	"payledger/eventstore/streams"
)

// Cluster is a ledger that is about to be made on an external NATS cluster.
type Cluster struct {
	options.NATS
	SystemCreds string
	Replicas    int // of every stream
	Placement   external.Placement
	Shards      int    // 0: the default
	Origin      string // of the checkpoints; "": by the log's id
	Environment string
	MasterKey   string // "": a new one
}

// Made is what the maker of a cluster's ledger must keep: nothing shows it again.
type Made struct {
	accounts.Credentials
	MasterKey string `json:"masterKey,omitempty"` // "" if the maker gave it
}

// Make makes the ledger, with all streams and the first account. It completes an earlier Make that
// was cut short, and refuses a cluster that holds a ledger. It calls show before its last step: the
// shown credentials are valid only if Make returns nil.
//
// An earlier Make may have sealed values with a master key that nobody knows. They are destroyed,
// unless that Make is still under way.
func (c Cluster) Make(ctx context.Context, show func(Made) error) (err error) {
	key, err := keyOrNew(c.MasterKey)
	if err != nil {
		return err
	}
	plan := external.Plan{
		Access: c.Access(), SystemCreds: c.SystemCreds, Replicas: c.Replicas, Placement: c.Placement, Streams: streams.Needed(cmp.Or(c.Shards, engine.DefaultClusterShards)),
	}
	if err := c.unused(ctx); err != nil {
		return err
	}
	if err := external.Inspect(ctx, plan); err != nil {
		return err
	}
	presence, err := external.Announce(plan.Access)
	if err != nil {
		return err
	}
	defer presence.Close()
	config := c.config()
	config.Shards, config.Replicas, config.Placement = c.Shards, c.Replicas, c.Placement.Config()
	store, err := engine.Open(ctx, config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	vault, err := secrets.Open(ctx, store, key, rand.Reader)
	if err != nil {
		return err
	}
	vault.SetOrigin(c.Origin)
	if err := c.claim(ctx, store, vault, presence); err != nil {
		return err
	}
	_, err = accounts.Initialize(ctx, store, vault, rand.Reader, c.Environment, "cli:init", func(made accounts.Credentials) error {
		if err := vault.Claim(ctx); err != nil { // another init took this one for dead
			return fmt.Errorf("another init of this cluster has begun: %w", err)
		}
		all := Made{Credentials: made}
		if c.MasterKey == "" {
			all.MasterKey = key.Text()
		}
		return show(all)
	})
	if errors.Is(err, accounts.ErrInitialized) {
		return c.errMade()
	}
	if err == nil {
		_ = external.Spread(ctx, plan.Access) // the ledger is complete: without it the servers share the load less evenly
	}
	return err
}

// unused returns an error if the cluster holds a ledger with an account. It changes nothing.
func (c Cluster) unused(ctx context.Context) error {
	messages, err := external.Messages(ctx, c.Access())
	switch {
	case err != nil || messages == 0:
		return err
	case messages > initMessages:
		return c.errMade()
	}
	config := c.config()
	config.ReadOnly = true
	store, err := engine.Open(ctx, config)
	if err != nil {
		return err
	}
	_, err = eventstore.Initialized(ctx, store)
	switch err = errors.Join(err, store.Close()); {
	case err == nil:
		return c.errMade()
	case errors.Is(err, eventstore.ErrNotFound):
		return nil
	default:
		return err
	}
}

// initMessages is more than the messages of any number of inits that were cut short. A log with
// more of them has an account.
const initMessages = 10_000

func (c Cluster) config() engine.Config {
	return engine.Config{External: c.Access(), Now: time.Now, Random: rand.Reader, Logger: zerolog.Nop()}
}

// claim makes the vault's master key the key of the log. It destroys the values of an init that was
// cut short.
func (c Cluster) claim(ctx context.Context, store *engine.Store, vault *secrets.Store, presence *external.Presence) error {
	err := vault.Claim(ctx)
	if !errors.Is(err, secrets.ErrSealed) {
		return err
	}
	if err := presence.Alone(ctx); err != nil {
		return err
	}
	switch _, err := eventstore.Initialized(ctx, store); { // the other init may have ended just now, with success
	case err == nil:
		return c.errMade()
	case !errors.Is(err, eventstore.ErrNotFound):
		return err
	}
	if err := vault.DestroyForeign(ctx); err != nil {
		return err
	}
	err = vault.Claim(ctx)
	if errors.Is(err, secrets.ErrSealed) {
		return errors.New("another init of this cluster is under way: wait until it ends, and run init again if it fails")
	}
	return err
}

func (c Cluster) errMade() error {
	return fmt.Errorf("the NATS cluster %s holds a ledger already; its credentials were shown when it was made, and its master key was shown or given", c.Access().Servers())
}
