package main

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/secrets"
	"payledger/eventstore/workflows"
	"payledger/httpapi"
	"payledger/notifier"
	"payledger/processorsim"
	"payledger/processorsim/client"
	"payledger/projections"
	"payledger/projections/deliveries"
)

// App is the whole service as a value: Start brings it up in order, Stop takes it down in the reverse.
type App struct {
	options Options
	log     zerolog.Logger
	clock   func() time.Time

	ledger      *ledger
	simulator   *processorsim.Simulator
	processors  *client.Client
	fanout      *eventstore.Fanout
	views       *projections.Projections
	checkpoints *eventstore.Checkpointer
	notifier    *notifier.Notifier
	index       *deliveries.Index
	webhooks    *notifier.Log
	commands    *commands.Service
	workflows   *workflows.Engine

	api, admin, sim *webServer
	credentials     *commands.Credentials // of an account that this start made

	stopAPI func() // ends the loops that feed on the log
	loops   sync.WaitGroup
	failed  chan error // a loop without which the process is of no use
}

// Ready is the line that serve prints when it takes requests (I1).
type Ready struct {
	Ready     bool   `json:"ready"`
	API       string `json:"api"`
	Admin     string `json:"admin"`
	Simulator string `json:"simulator"`
	NATS      string `json:"nats"`
}

// folders below the data folder.
const (
	eventsFolder    = "events"    // the log and the secrets: JetStream
	viewsFolder     = "views"     // read models: disposable
	simulatorFolder = "simulator" // the simulated processors' books
)

// Start opens the ledger, initializes an empty sandbox, starts every part and recovers what was under way.
func Start(ctx context.Context, o Options, log zerolog.Logger) (*App, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	tuneRuntime()
	bounds := memoryOf(o.Memory)
	bounds.limitMemory()
	log.Info().Int64("limitBytes", bounds.Limit).Int64("cacheBytes", bounds.Caches).Msg("memory")
	a := &App{options: o, log: log, clock: time.Now, failed: make(chan error, 8), stopAPI: func() {}}
	steps := []func(context.Context) error{
		a.openLedger, a.initialize, a.openProcessors, a.openViews, a.openNotifier, a.openCommands, a.openWorkflows,
		a.run, a.listen, a.recoverOpen,
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return nil, errors.Join(err, a.Stop())
		}
	}
	return a, nil
}

func (a *App) openLedger(ctx context.Context) error {
	if err := os.MkdirAll(a.options.Data, 0o700); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	var err error
	a.ledger, err = openLedger(ctx, a.options, a.log, false)
	return err
}

// initialize makes the first account of an empty sandbox (I1), and checks that the ledger is for this
// environment.
func (a *App) initialize(ctx context.Context) error {
	state, err := a.ledger.store.Initialized(ctx)
	if errors.Is(err, eventstore.ErrNotFound) {
		if !a.options.sandbox() || a.options.NatsURL != "" {
			return errors.New("the ledger has no account yet; run `payledger init` first")
		}
		made, err := commands.Initialize(ctx, a.ledger.store, a.ledger.vault, rand.Reader, a.options.Environment, "cli:serve")
		if err != nil {
			return err
		}
		a.credentials = &made
		return nil
	}
	if err == nil && state.Environment != a.options.Environment {
		return fmt.Errorf("the ledger was made for %s; start it with --environment %s", state.Environment, state.Environment)
	}
	return err
}

// openProcessors finds the processors: outside, or the simulator in this process.
func (a *App) openProcessors(ctx context.Context) error {
	url := a.options.ProcessorURL
	if url == "" {
		dir := filepath.Join(a.options.Data, simulatorFolder)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("simulator: %w", err)
		}
		var err error
		if a.simulator, err = processorsim.New(processorsim.Config{Dir: dir, Secret: a.processorSecret(), Log: a.log}); err != nil {
			return err
		}
		if a.sim, err = serveWeb(ctx, a.options.SimListen, a.simulator.Handler(), nil); err != nil {
			return fmt.Errorf("simulator: %w", err)
		}
		url = a.sim.url
	}
	var err error
	a.processors, err = client.New(url, nil)
	return err
}

// processorSecret is the flag's, or one that both ends in this process derive from the master key.
func (a *App) processorSecret() []byte {
	if a.options.ProcessorSecret != "" {
		return []byte(a.options.ProcessorSecret)
	}
	return []byte(hex.EncodeToString(a.ledger.derive("processor notifications")))
}

func (a *App) openViews(ctx context.Context) error {
	a.fanout = eventstore.NewFanout(a.ledger.store)
	var err error
	a.views, err = projections.Open(ctx, projections.Config{
		Dir: filepath.Join(a.options.Data, viewsFolder), Store: a.ledger.store, Fanout: a.fanout,
		Vault: a.ledger.vault, Logger: a.log, Now: a.clock,
	})
	if err != nil {
		return err
	}
	signer, _, err := a.ledger.vault.CheckpointSigner(ctx)
	if err != nil {
		return err
	}
	a.checkpoints, err = eventstore.NewCheckpointer(ctx, a.ledger.store, a.fanout, signer)
	return err
}

func (a *App) openNotifier(ctx context.Context) error {
	var err error
	if a.notifier, err = notifier.New(ctx, a.notifierConfig()); err != nil {
		return err
	}
	if a.index, err = deliveries.Open(ctx, filepath.Join(a.options.Data, viewsFolder), a.log); err != nil {
		return err
	}
	a.webhooks, err = notifier.OpenLog(ctx, notifier.LogConfig{
		Notifier: a.notifier, Store: a.ledger.store, Index: a.index, Now: a.clock, Random: rand.Reader, Logger: a.log,
		Retention: a.options.DeliveryRetention,
	})
	return err
}

func (a *App) notifierConfig() notifier.Config {
	return notifier.Config{
		Store: a.ledger.store, Fanout: a.fanout, Vault: a.ledger.vault, Views: a.views, Now: a.clock,
		Random: rand.Reader, Logger: a.log, Timeout: a.options.WebhookTimeout, Grace: webhookGrace,
		RetryDelays: a.options.WebhookRetryDelays,
		AllowCIDRs:  a.options.WebhookAllowCIDR, Production: !a.options.sandbox(),
		Shared: a.options.NatsURL != "",
	}
}

func (a *App) openCommands(context.Context) error {
	a.commands = commands.New(commands.Config{
		Store: a.ledger.store, Vault: a.ledger.vault, Processors: a.processors, Account: a.views.Account,
		PaymentAccount: a.views.PaymentAccount, NotifyURL: a.notifyURL, Disputes: a.processors,
		PaymentTimeout: a.options.PaymentTimeout, ActionTimeout: a.options.ActionTimeout, ClientTokenTTL: a.options.ClientTokenTTL,
		Random: rand.Reader, Logger: a.log,
	})
	return nil
}

// run starts the loops that feed on the log, and waits until the views show all of it.
func (a *App) run(ctx context.Context) error {
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	a.stopAPI = stop
	vital := func(name string, run func(context.Context) error) {
		a.loops.Go(func() {
			if err := run(background); err != nil && background.Err() == nil {
				a.failed <- fmt.Errorf("%s: %w", name, err)
			}
		})
	}
	loud := func(name string, run func(context.Context) error) { // readyz goes red, the rest goes on
		a.loops.Go(func() {
			if err := run(background); err != nil && background.Err() == nil {
				a.log.Error().Err(err).Str("loop", name).Msg("stopped")
			}
		})
	}
	loud("projections", a.views.Run)
	loud("notifier", a.notifier.Run)
	loud("webhook log", a.webhooks.Run)
	loud("checkpoints", a.checkpoints.Run)
	loud("workflows", a.workflows.Run)
	vital("log", a.fanout.Run)
	return a.views.CaughtUp(ctx)
}

func (a *App) listen(ctx context.Context) error {
	listener, err := listen(ctx, a.options.Listen)
	if err != nil {
		return fmt.Errorf("api: %w", err)
	}
	if a.options.PublicURL == "" {
		a.options.PublicURL = a.scheme() + "://" + listener.Addr().String()
	}
	api, err := httpapi.New(a.apiConfig())
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	if a.api, err = serveOn(listener, api, a.tls()); err != nil {
		return fmt.Errorf("api: %w", err)
	}
	if a.admin, err = serveWeb(ctx, a.options.AdminListen, a.adminHandler(), nil); err != nil {
		return fmt.Errorf("admin: %w", err)
	}
	return nil
}

func (a *App) scheme() string {
	if a.options.TLSCert != "" {
		return "https"
	}
	return "http"
}

func (a *App) tls() *tlsFiles {
	if a.options.TLSCert == "" {
		return nil
	}
	return &tlsFiles{a.options.TLSCert, a.options.TLSKey}
}

// healthy is the reason why the service should get no requests, or nil (I1: /readyz).
func (a *App) healthy(ctx context.Context) error {
	if err := a.ledger.store.Healthy(); err != nil {
		return err
	}
	if err := a.ledger.store.Full(); err != nil {
		return err
	}
	if err := a.views.Healthy(); err != nil {
		return err
	}
	if err := a.notifier.Healthy(); err != nil {
		return err
	}
	if err := a.workflows.Healthy(); err != nil {
		return err
	}
	within, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	err := a.views.CaughtUp(within)
	if full := a.ledger.store.Full(); err != nil && full != nil { // then the views wait for room
		return full
	}
	return err
}

// readyWithin is how long readyz waits for the views.
const readyWithin = 2 * time.Second

// ready is the ready line.
func (a *App) ready() Ready {
	r := Ready{Ready: true, API: a.api.url, Admin: a.admin.url, Simulator: a.options.ProcessorURL, NATS: a.options.NatsURL}
	if a.sim != nil {
		r.Simulator = a.sim.url
	}
	return r
}

// Failed gives the error after which the process must end.
func (a *App) Failed() <-chan error { return a.failed }

// derive makes a key for one purpose from the master key.
func (l *ledger) derive(purpose string) []byte {
	h := hmac.New(sha256.New, l.master[:])
	h.Write([]byte(purpose))
	return h.Sum(nil)
}

// ledger is the log with its secrets, however it is reached.
type ledger struct {
	server *eventstore.Server // nil with an external cluster
	store  *eventstore.Store
	vault  *secrets.Vault
	master secrets.Key
}

// openLedger opens the log in the data folder, or at --nats-url. readOnly opens a stopped server's log and
// changes nothing in it.
func openLedger(ctx context.Context, o Options, log zerolog.Logger, readOnly bool) (*ledger, error) {
	l := &ledger{}
	config := eventstore.Config{
		URL: o.NatsURL, Creds: o.NatsCreds, Shards: o.Shards, ReadOnly: readOnly,
		Now: time.Now, Random: rand.Reader, Logger: log, SoleWriter: o.NatsURL == "", Memory: memoryOf(o.Memory).Caches,
	}
	var err error
	if l.master, err = secrets.MasterKey(o.MasterKey, o.Data, rand.Reader, !readOnly); err != nil {
		return nil, err
	}
	if o.NatsURL == "" {
		if l.server, err = eventstore.StartServer(eventstore.ServerConfig{Dir: filepath.Join(o.Data, eventsFolder), Name: "payledger"}); err != nil {
			return nil, err
		}
		config.Server = l.server
	} else if !readOnly {
		config.Tips = filepath.Join(o.Data, "tips")
	}
	if l.store, err = eventstore.Open(ctx, config); err != nil {
		return nil, errors.Join(err, l.close())
	}
	if l.vault, err = secrets.Open(ctx, l.store, l.master, rand.Reader); err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

func (l *ledger) close() error {
	var errs []error
	if l.store != nil {
		errs = append(errs, l.store.Close())
	}
	if l.server != nil {
		errs = append(errs, l.server.Close())
	}
	return errors.Join(errs...)
}

var _ processor.Port = (*client.Client)(nil)
var _ http.Handler = (*httpapi.API)(nil)
