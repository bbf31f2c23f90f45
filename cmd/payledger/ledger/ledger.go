package ledger

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/rs/zerolog"

	"payledger/cmd/payledger/limits"
	"payledger/cmd/payledger/options"
	"payledger/eventstore"
	"payledger/eventstore/embedded"
	"payledger/eventstore/engine"
	"payledger/eventstore/external"
	"payledger/eventstore/folder"
	"payledger/eventstore/secrets"
)

// The folders below the data folder.
const (
	EventsFolder    = options.EventsFolder // the log and the secrets: JetStream
	ViewsFolder     = "views"              // read models: disposable
	SimulatorFolder = "simulator"          // the simulated processors' books
	AnalyticsFolder = "analytics"          // the stream EVENTS: derived from the log
)

// ProofFile has the stored hashes for proofs, which are derived from the log.
var ProofFile = filepath.Join(ViewsFolder, "proof-hashes")

// Ledger is the log with its secrets, embedded or in an external cluster.
type Ledger struct {
	server    *embedded.Server // nil with an external cluster
	presence  *external.Presence
	Store     *engine.Store
	Secrets   *secrets.Store
	master    secrets.Key
	completed bool // this open completed a rotation of the folder that was interrupted
}

// Mode limits the changes that Open may make to a ledger.
type Mode int

const (
	ReadOnly Mode = iota // changes nothing
	Existing             // opens a ledger that has its master key
	Rotating             // Existing, for a rotation of the master key
	Create               // creates the log and its master key if they do not exist
)

// Config is the configuration of the log.
type Config = engine.Config

// Open opens the log in the data folder, or at --nats-url. It refuses a log of another master key
// before it changes anything. config has the clock (default: time.Now), the logger and the progress
// function.
func Open(ctx context.Context, o options.Options, mode Mode, config engine.Config) (*Ledger, error) {
	l := &Ledger{}
	if config.Now == nil {
		config.Now = time.Now
	}
	config.ReadOnly = mode == ReadOnly
	config.External, config.Shards = o.Access(), o.Shards
	config.Random, config.Memory = rand.Reader, limits.Of(o.Memory).Caches
	key, err := readMasterKey(o)
	if err != nil {
		return nil, err
	}
	if !key.held && mode != Create {
		return nil, key.missing()
	}
	if o.NatsURL == "" {
		if l.server, err = embedded.Start(embedded.Config{Dir: filepath.Join(o.Data, EventsFolder), Name: "payledger", Secret: key.check}); err != nil {
			return nil, writable(o.Data, err)
		}
		config.Server = l.server
	} else if l.presence, err = openExternal(ctx, &config, o, key, mode); err != nil {
		return nil, err
	}
	if l.master, err = key.orNew(); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	l.Store, err = engine.Open(ctx, config)
	if o.NatsURL != "" && errors.Is(err, eventstore.ErrNoLog) {
		err = fmt.Errorf("the NATS cluster %[1]s holds no ledger: make one with `payledger init --nats-url %[1]s`", config.External.Servers())
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	if key.held { // Open calls check, which exchanges the keys if the rotation of a cluster has not begun
		l.master = key.key
	}
	if l.Secrets, err = secrets.Open(ctx, l.Store, l.master, rand.Reader, key.others...); err != nil {
		return nil, errors.Join(incomplete(err, o), l.Close())
	}
	l.Secrets.SetOrigin(o.Origin)
	if l.presence != nil {
		l.presence.Reads(l.Secrets.Settle)
	}
	if l.server != nil {
		if err := l.settle(ctx, key, mode, config.Logger); err != nil {
			return nil, errors.Join(err, l.Close())
		}
	}
	return l, nil
}

// settle takes the master key in force of a folder, and completes a rotation that was interrupted.
func (l *Ledger) settle(ctx context.Context, key *masterKey, mode Mode, logger zerolog.Logger) error {
	inForce, complete, err := l.Secrets.Master()
	if err != nil {
		return err
	}
	if l.master = inForce; key.held && !key.own && inForce != key.given { // the rotation to the given key has not begun
		return key.other()
	}
	if mode == ReadOnly {
		return nil
	}
	if !complete {
		logger.Info().Msg("a rotation of the master key was interrupted: the remaining secrets are sealed with the new key")
		if _, _, err := l.Secrets.Rotate(ctx, secrets.Rotation{Next: inForce}); err != nil {
			return fmt.Errorf("a rotation of the master key was interrupted, and cannot be completed now; nothing is lost, and the next start continues it: %w", err)
		}
	}
	took, err := key.settle(inForce)
	l.completed = took || !complete
	return err
}

// writable explains what a command needs that opens a folder on which nothing can be written, such
// as a mounted snapshot.
func writable(data string, err error) error {
	if !errors.Is(err, folder.ErrReadOnly) {
		return err
	}
	return fmt.Errorf("%s is read-only, and this command needs a data folder that it can write, because it starts the ledger's server there: "+
		"copy the folder to a scratch folder (cp -a %[1]s SCRATCH), and name the copy with --data; verify and backup read %[1]s as it is", data)
}

// openExternal checks the external cluster, and completes the configuration for its log. It shows
// the process as a node of the cluster.
func openExternal(ctx context.Context, config *engine.Config, o options.Options, key *masterKey, mode Mode) (presence *external.Presence, err error) {
	seen, err := external.Ready(ctx, config.External)
	if err != nil {
		return nil, err
	}
	if !seen {
		config.Logger.Warn().Str("service", external.ServerInfo).
			Msg("the NATS account does not import the service, so it is not checked that all NATS servers sync every write")
	}
	if config.Secret = key.check; !config.ReadOnly {
		config.Tips = filepath.Join(o.Data, "tips")
	}
	if mode == ReadOnly || mode == Rotating {
		return nil, nil
	}
	node := external.Node{Address: o.Listen}
	for _, k := range append([]secrets.Key{key.key}, key.others...) {
		node.Keys = append(node.Keys, k.Fingerprint())
	}
	return external.Attend(config.External, node)
}

func (l *Ledger) Close() error {
	var errs []error
	if l.Store != nil {
		errs = append(errs, l.Store.Close())
	}
	if l.server != nil {
		errs = append(errs, l.server.Close())
	}
	if l.presence != nil {
		l.presence.Close()
	}
	return errors.Join(errs...)
}

// Derive returns a key for one purpose, derived from the master key.
func (l *Ledger) Derive(purpose string) []byte {
	h := hmac.New(sha256.New, l.master[:])
	h.Write([]byte(purpose))
	return h.Sum(nil)
}
