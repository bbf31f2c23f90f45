package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"payledger/cmd/payledger/control"
	"payledger/cmd/payledger/ledger"
	"payledger/cmd/payledger/limits"
	"payledger/cmd/payledger/metrics"
	"payledger/cmd/payledger/options"
	"payledger/cmd/payledger/starting"
	"payledger/cmd/payledger/web"
	"payledger/domain"
	"payledger/eventstore"
	"payledger/eventstore/checkpointlog"
	"payledger/eventstore/commands"
	"payledger/eventstore/commands/accounts"
	"payledger/eventstore/commands/recovery"
	"payledger/eventstore/commands/service"
	"payledger/eventstore/commands/users"
	"payledger/eventstore/commands/workflows"
	"payledger/eventstore/eventstream"
	"payledger/eventstore/nodes"
	"payledger/eventstore/prover"
	"payledger/httpapi"
	"payledger/httpapi/intake"
	"payledger/httpapi/keyuse"
	"payledger/notifier"
	"payledger/notifier/listener"
	"payledger/processorsim/router"
	"payledger/processorsim/simulator"
	"payledger/projections"
	"payledger/projections/deliveries"
	"payledger/projections/eventfeed"
)

// App is the whole service as a value. Start starts its parts in order, Stop stops them in reverse
// order.
type App struct {
	Options options.Options
	log     zerolog.Logger
	clock   func() time.Time
	// leaseClock is the clock of leases; nil: the machine's.
	leaseClock func() time.Duration

	Ledger      *ledger.Ledger
	Nodes       *nodes.Registry // nil without --nats-url
	simulator   *simulator.Simulator
	Processors  *router.Router
	fanout      *eventstore.Fanout
	Views       *projections.Projections
	checkpoints *checkpointlog.Writer
	proofs      *prover.Prover
	notifier    *notifier.Notifier
	sending     atomic.Pointer[notifier.Notifier] // notifier, when it is open
	Listeners   *listener.Hub
	index       *deliveries.Index
	webhooks    *notifier.AttemptLog
	Commands    *service.Service
	Users       *users.Users
	Recoverer   *recovery.Recoverer
	KeyUses     *keyuse.Uses
	workflows   *workflows.Engine
	analysts    *eventstream.Server // nil without --nats-listen
	analystsMu  sync.Mutex          // of changes of its users
	Feed        *eventfeed.Feed

	API, Admin, Sim *web.Server
	control         *control.Server       // of commands on the data folder
	answers         func() map[int]uint64 // of the API, by status
	durations       *metrics.Durations
	Intake          httpapi.Intake
	caps            intake.Caps
	watch           *ViewsWatch
	endCalls        func(context.Context) // of nodes without views; nil: there are none
	viewNodes       nodes.Choice
	apiDoor         *web.Door // of api, admin and sim, until the service is ready
	adminDoor       *web.Door
	simDoor         *web.Door
	progress        *starting.Progress
	Credentials     *accounts.Credentials // of an account that this start created
	creating        sync.Mutex            // held while an account is made
	show            func(*accounts.Credentials) error

	leaving   atomic.Bool   // /readyz answers 503, and every answer closes its connection
	closing   chan struct{} // closed when the stop begins
	closeOnce sync.Once
	stopAPI   func() // ends the loops that read the log
	loops     sync.WaitGroup
	Failed    chan error // errors after which the process must end
}

// Ready is the line that serve prints when it accepts requests (I1).
type Ready struct {
	Ready     bool   `json:"ready"`
	API       string `json:"api"`
	Admin     string `json:"admin"`
	Simulator string `json:"simulator"`
	NATS      string `json:"nats"`
}

// Start opens the ledger, initializes an empty sandbox and starts every part. It does not wait for
// the recovery of operations.
func Start(ctx context.Context, o options.Options, log zerolog.Logger) (*App, error) {
	return StartOn(ctx, o, log, time.Now, nil, func(*accounts.Credentials) error { return nil })
}

// ErrStopped means that ctx ended before the service was ready, and that it stopped in order.
var ErrStopped = errors.New("stopped before it was ready")

// StartOn starts the service. It calls show with the credentials of a new account as soon as the
// account exists: a later failure of the start must not lose them, because nothing shows them
// again. leaseClock is the clock of leases; nil: the machine's.
func StartOn(ctx context.Context, o options.Options, log zerolog.Logger, clock func() time.Time, leaseClock func() time.Duration, show func(*accounts.Credentials) error) (*App, error) {
	o = o.WithFiles()
	if err := o.Check(); err != nil {
		return nil, err
	}
	for _, warning := range o.Warnings() {
		log.Warn().Msg(warning + " (refused in production)")
	}
	limits.TuneRuntime()
	bounds := limits.Of(o.Memory)
	bounds.Apply()
	log.Info().Int64("limitBytes", bounds.Limit).Int64("cacheBytes", bounds.Caches).Msg("memory")
	a := &App{
		durations: metrics.NewDurations(),
		Options:   o, log: log, clock: clock, Failed: make(chan error, 8), stopAPI: func() {}, progress: starting.New(log),
		show: show, leaseClock: leaseClock, closing: make(chan struct{}),
	}
	a.intakeOf(bounds)
	steps := []func(context.Context) error{
		a.listen, a.openLedger, a.initialize, a.openProcessors, a.openViews, a.joinNodes, a.openNotifier, a.openCommands, a.openWorkflows,
		a.openAnalytics, a.run, a.admitAnalysts, a.enterService, a.openDoors, a.openControl, a.recover,
	}
	for _, step := range steps {
		err := step(ctx)
		if err == nil {
			continue
		}
		ended := a.Stop()
		if ctx.Err() != nil && ended == nil && errors.Is(err, ctx.Err()) && !errors.Is(err, eventstore.ErrUnhealthy) && !errors.Is(err, eventstore.ErrUnknown) {
			return nil, ErrStopped
		}
		return nil, errors.Join(err, ended)
	}
	return a, nil
}

// EmbeddedReadTimeout bounds one read from an embedded server; 0 takes the usual time (tests on a
// busy machine take more).
var EmbeddedReadTimeout time.Duration

func (a *App) openLedger(ctx context.Context) (err error) {
	timeout := a.Options.ReadTimeout
	if a.Options.NatsURL == "" {
		timeout = cmp.Or(timeout, EmbeddedReadTimeout)
	}
	if err := os.MkdirAll(a.Options.Data, 0o700); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	if faults := options.FolderFaults(a.Options.Data); len(faults) > 0 && !a.Options.Sandbox() { // a volume may give a new folder to another user
		return options.UsageOf(faults)
	}
	a.Ledger, err = ledger.Open(ctx, a.Options, ledger.Create, ledger.Config{
		Now: a.clock, Logger: a.log, ReadTimeout: timeout, MajorityReads: a.Options.Reads == options.MajorityReads, Timed: a.durations, Progress: func(done, of uint64) { a.progress.At(starting.Tips, done, of) },
	})
	return err
}

// initialize creates the first account of an empty sandbox (I1), and checks the environment of the
// ledger.
func (a *App) initialize(ctx context.Context) error {
	state, err := eventstore.Initialized(ctx, a.Ledger.Store)
	if errors.Is(err, eventstore.ErrNotFound) {
		if !a.Options.Sandbox() || a.Options.NatsURL != "" {
			return errors.New("the ledger has no account yet; run `payledger init` first")
		}
		made, err := accounts.Initialize(ctx, a.Ledger.Store, a.Ledger.Secrets, rand.Reader, a.Options.Environment, "cli:serve", nil)
		if err != nil {
			return err
		}
		a.Credentials = &made
		return a.show(&made)
	}
	if err == nil && state.Environment != a.Options.Environment {
		return fmt.Errorf("the ledger was made for %s; start it with --environment %s", state.Environment, state.Environment)
	}
	return err
}

func (a *App) openViews(ctx context.Context) (err error) {
	a.fanout = eventstore.NewFanout(a.Ledger.Store)
	a.Views, err = projections.Open(ctx, projections.Config{
		Dir: filepath.Join(a.Options.Data, ledger.ViewsFolder), Store: a.Ledger.Store, Fanout: a.fanout,
		Secrets: a.Ledger.Secrets, Logger: a.log, Now: a.clock, Cache: limits.Of(a.Options.Memory).Pages, Lagged: a.durations.ViewsLag,
		NoRows: !a.keepsViews(),
	})
	if err != nil || !a.keepsViews() {
		return err
	}
	signer, key, err := a.Ledger.Secrets.CheckpointSigner(ctx)
	if err != nil {
		return err
	}
	if a.checkpoints, err = checkpointlog.NewWriter(ctx, a.Ledger.Store.Checkpoints(), a.fanout.Reader, signer); err != nil {
		return err
	}
	a.proofs = prover.New(prover.Config{
		Store: a.Ledger.Store, Signer: signer, Key: key, File: filepath.Join(a.Options.Data, ledger.ProofFile), Wait: proofWait, Logger: a.log,
	})
	a.checkpoints.Covered = a.proofs.Covered
	return nil
}

func (a *App) openNotifier(ctx context.Context) (err error) {
	a.openListeners()
	if !a.keepsViews() {
		return nil
	}
	if a.notifier, err = notifier.New(ctx, a.NotifierConfig()); err != nil {
		return err
	}
	a.sending.Store(a.notifier)
	if a.index, err = deliveries.Open(ctx, filepath.Join(a.Options.Data, ledger.ViewsFolder), a.log); err != nil {
		return err
	}
	if err := a.index.SizeCache(ctx, limits.Of(a.Options.Memory).Pages); err != nil {
		return err
	}
	a.webhooks, err = notifier.OpenAttemptLog(ctx, notifier.AttemptLogConfig{
		Notifier: a.notifier, Index: a.index, Now: a.clock, Retention: a.Options.DeliveryRetention, Lagged: a.durations.DeliveriesLag,
	})
	return err
}

// NotifierConfig returns the configuration of the notifier.
func (a *App) NotifierConfig() notifier.Config {
	c := notifier.Config{
		Store: a.Ledger.Store, Fanout: a.fanout, Secrets: a.Ledger.Secrets, Views: a.Views, Now: a.clock,
		Random: rand.Reader, Logger: a.log, Timeout: a.Options.WebhookTimeout, Grace: WebhookGrace,
		RetryDelays: a.Options.WebhookRetryDelays, Listeners: a.Listeners, Timed: a.durations.Attempt,
		AllowCIDRs: a.Options.WebhookAllowCIDR, Production: !a.Options.Sandbox(),
	}
	if a.Nodes != nil {
		c.Nodes = a.Nodes
	}
	return c
}

func (a *App) openCommands(ctx context.Context) error {
	a.Commands = service.New(commands.Config{
		Store: a.Ledger.Store, Secrets: a.Ledger.Secrets, Processors: a.Processors, Connected: a.Processors.Connected, Unfit: a.Processors.Unfit,
		Account:        a.Views.Account,
		PaymentAccount: a.Views.PaymentAccount, DisputesBesideRefund: a.reader().DisputesBesideRefund, NotifyURL: a.notifyURL, ReturnURL: a.returnURL, Disputes: a.Processors,
		PaymentTimeout: a.Options.PaymentTimeout, ActionTimeout: a.Options.ActionTimeout, ClientTokenTTL: a.Options.ClientTokenTTL,
		Everywhere: a.everywhere, Customers: a.reader(), Random: rand.Reader, Logger: a.log,
	})
	a.Recoverer = recovery.New(recovery.Config{
		Commands: a.Commands, Views: a.Views, Secrets: a.Ledger.Secrets, EndedCards: a.Views.EndedInstruments, ErasedPersons: a.erasedPersons, Now: a.clock, Over: a.over, Logger: a.log,
		PaymentTimeout: a.Options.PaymentTimeout, ActionTimeout: a.Options.ActionTimeout, DisputeLookup: a.Options.DisputeLookup,
		Connected: a.Processors.Connected, Lost: a.Nodes.Lost, LeftPayment: a.leftBy(eventstore.Payments.Name), LeftAttempt: a.leftBy(eventstore.Attempts.Name),
	})
	return a.openUsers(ctx)
}

func (a *App) erasedPersons(ctx context.Context, since time.Time, after domain.PersonID, limit int) ([]recovery.Erased, error) {
	page, err := a.Views.ErasedPersons(ctx, since, after, limit)
	erased := make([]recovery.Erased, len(page))
	for i, person := range page {
		erased[i] = recovery.Erased(person)
	}
	return erased, err
}

// recover starts the background work, such as the recovery of operations without an outcome. The
// start does not wait for it.
func (a *App) recover(ctx context.Context) error {
	if !a.keepsViews() {
		return nil
	}
	a.workflows.Act()
	a.Recoverer.Run(ctx)
	return nil
}

// run starts the loops that read the log, and waits until the views have all of its events.
func (a *App) run(ctx context.Context) error {
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	a.stopAPI = stop
	a.openKeyUses()
	loud := func(name string, run func(context.Context) error) { // /readyz fails, the other parts continue
		a.loops.Go(func() {
			if err := run(background); err != nil && background.Err() == nil {
				a.log.Error().Err(err).Str("loop", name).Msg("stopped")
			}
		})
	}
	loud("projections", a.Views.Run)
	if a.keepsViews() {
		loud("notifier", a.notifier.Run)
		loud("webhook log", a.webhooks.Run)
		loud("checkpoints", a.checkpoints.Run)
		loud("workflows", a.workflows.Run)
		loud("proofs", a.proofs.Run)
		a.loops.Go(func() { a.sweeper().Run(background) })
	}
	if a.Feed != nil {
		loud("events for analysts", a.Feed.Run)
	}
	a.loops.Go(func() { a.Processors.Run(background, router.ProbeEvery) })
	a.loops.Go(func() { a.KeyUses.Run(background, a.hasKey, a.warnOfUses) })
	a.loops.Go(func() {
		if err := a.fanout.Run(background); err != nil && background.Err() == nil {
			a.Failed <- fmt.Errorf("log: %w", err)
		}
	})
	if err := a.awaitViews(ctx); err != nil {
		return err
	}
	a.watch = &ViewsWatch{KeepUp: a.Views.KeepUp, Progress: a.Views.Progress}
	a.watch.Shown.Store(time.Now().UnixNano())
	a.loops.Go(func() { a.watch.Run(background) })
	return nil
}

// proofWait is the longest wait of a proof for the checkpoint that covers the payment's newest
// event.
const proofWait = 5 * time.Second

// Healthy returns the reason why the service must get no requests, or nil (I1: /readyz).
func (a *App) Healthy() error {
	if a.leaving.Load() {
		return errLeaving
	}
	store := a.Ledger.Store
	checks := []func() error{a.Nodes.Valid, store.Healthy, store.Full, a.Views.Healthy, a.watch.Behind}
	if a.keepsViews() {
		checks = append(checks, a.index.Healthy, a.notifier.Healthy, a.workflows.Healthy)
	}
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// Ready returns the ready line.
func (a *App) Ready() Ready {
	r := Ready{Ready: true, API: a.API.URL, Admin: a.Admin.URL, Simulator: options.WithoutUsers(a.Options.ProcessorURL), NATS: options.WithoutUsers(a.Options.NatsURL)}
	if a.Sim != nil {
		r.Simulator = a.Sim.URL
	}
	if a.analysts != nil {
		r.NATS = a.analysts.URL()
	}
	return r
}
