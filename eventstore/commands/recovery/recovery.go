package recovery

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/processor"
	"payledger/eventstore/commands/pending"
	"payledger/eventstore/secrets"
)

const (
	// every is the interval of the search for inboxes and attempts that another process left.
	// ActionTimeout/10 counts if it is shorter.
	every = 30 * time.Second
	// grace is added to the payment timeout before another process's operation is continued.
	grace = 10 * time.Second
	// pageSize is how many ended instruments, or erased persons, are in memory at once.
	pageSize = 256
	// settling is how long an erasure is repeated: requests that began before the erasure have
	// ended by then.
	settling = 5 * time.Minute
)

// Commands carry out the work.
type Commands interface {
	pending.Commands
	SweepDisputesAt(ctx context.Context, name processor.Name) error
	CardNeeded(ctx context.Context, account domain.AccountID, token domain.Token, expires time.Time) (time.Time, error)
	DestroyLeft(ctx context.Context) (int, error)
	NextLookup(key domain.OperationKey) (time.Time, bool)
	FinishErasure(ctx context.Context, account domain.AccountID, id domain.PersonID) error
}

// Views list the unfinished work.
type Views interface {
	pending.Views
	Account(id domain.AccountID) (account.State, bool)
}

// Config is what a Recoverer needs.
type Config struct {
	Commands Commands
	Views    Views
	Secrets  *secrets.Store
	// EndedCards returns the cards of at most limit deleted or invalidated tokens, in the order of
	// the tokens, after the given one.
	EndedCards func(ctx context.Context, after domain.Token, limit int) ([]secrets.CardRef, error)
	// ErasedPersons returns at most limit persons with ids above after, in the order of ids, that
	// have an unfinished erasure or one since the given time.
	ErasedPersons func(ctx context.Context, since time.Time, after domain.PersonID, limit int) ([]Erased, error)
	// Lost counts the losses of other nodes. LeftPayment and LeftAttempt report whether a lost node
	// wrote the last event.
	Lost                     func() uint64
	LeftPayment, LeftAttempt func(context.Context, pending.Item) bool

	Connected      func(processor.Name) bool // reports whether a processor has an address; nil: all have
	PaymentTimeout time.Duration
	ActionTimeout  time.Duration
	DisputeLookup  time.Duration // interval of the sweeps for lost dispute notifications
	Now            func() time.Time
	// Over returns a time of day that is over here and at the NATS servers of a cluster, or false
	// while it is unknown. Secrets that end at a time of day are destroyed by it. nil: Now.
	Over   func() (time.Time, bool)
	Logger zerolog.Logger
}

// Recoverer runs the background work.
type Recoverer struct {
	Config
	running sync.WaitGroup
	stop    context.CancelFunc
	mu      sync.Mutex // held by RunOnce
	ended   int        // how often RunOnce has destroyed the cards of ended tokens since lost
	lost    uint64     // Lost at the last run
	erased  bool       // RunOnce has repeated all erasures
}

// Erased is a person with an erasure.
type Erased struct {
	ID      domain.PersonID
	Account domain.AccountID
}

// New returns a Recoverer. Run starts it.
func New(c Config) *Recoverer { return &Recoverer{Config: c, stop: func() {}} }

// Patience returns the age at which this process takes over another's operation. It does so earlier
// at a start and after a node's loss.
func (r *Recoverer) Patience() time.Duration { return r.PaymentTimeout + grace }

// Run starts the loops and returns. They end with Close.
func (r *Recoverer) Run(ctx context.Context) {
	ctx, r.stop = context.WithCancel(context.WithoutCancel(ctx))
	scanner := &pending.Scanner{
		Views: r.Views, Commands: r.Commands, Patience: r.Patience(), Actions: r.ActionTimeout, Now: r.Now, Logger: r.Logger,
		Lost: r.Lost, LeftPayment: r.LeftPayment, LeftAttempt: r.LeftAttempt,
		Every: max(100*time.Millisecond, min(every, r.ActionTimeout/10)),
	}
	r.running.Go(func() { scanner.Run(ctx) })
	r.running.Go(func() {
		repeat(ctx, secrets.CleanInterval, func() {
			if over, known := r.over(); known {
				r.RunOnce(ctx, over)
			}
		})
	})
	for _, name := range processor.Names {
		if r.Connected != nil && !r.Connected(name) {
			continue // after it has an address again, the search goes on where it ended
		}
		r.running.Go(func() { repeat(ctx, r.DisputeLookup, func() { r.sweepDisputes(ctx, name) }) })
	}
}

func (r *Recoverer) over() (time.Time, bool) {
	if r.Over == nil {
		return r.Now(), true
	}
	return r.Over()
}

// Close ends the loops and waits for them.
func (r *Recoverer) Close() {
	r.stop()
	r.running.Wait()
}

// NextLookup returns the time of the next look-up of an operation without an outcome (D8): the time
// that this process has planned, else the next slot of the operation in package pending. requested
// is zero for an operation with an outcome.
func (r *Recoverer) NextLookup(key domain.OperationKey, requested time.Time) (time.Time, bool) {
	if next, planned := r.Commands.NextLookup(key); planned || requested.IsZero() {
		return next, planned
	}
	return pending.Next(requested, r.Patience(), r.Now()), true
}

// RunOnce destroys the secrets that are not needed at now: cards whose outcome is known, rotated
// signing secrets that are no longer valid (§5.2 rule 3), replaced secrets of dashboard users, and
// the keys of erased persons. Failures are logged; the next run repeats them.
func (r *Recoverer) RunOnce(ctx context.Context, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.destroy(ctx, "cards", func() (int, error) { return r.Secrets.Clean(ctx, now, r.Commands.CardNeeded) })
	r.destroy(ctx, "signing secrets", func() (int, error) { return r.Secrets.CleanSigning(ctx, now, r.Views.Account) })
	r.destroy(ctx, "secrets of users", func() (int, error) { return r.Secrets.CleanUsers(ctx, r.Views.Account) })
	r.destroy(ctx, "keys of erased persons", func() (int, error) {
		since := now.Add(-settling)
		if !r.erased {
			since = time.Time{}
		}
		err := r.finishErasures(ctx, since)
		r.erased = r.erased || err == nil
		return 0, err
	})
	r.destroy(ctx, "deleted cards", func() (int, error) { return r.Commands.DestroyLeft(ctx) })
	r.destroyAllEnded(ctx)
}

// destroyAllEnded destroys the cards of all ended tokens, at the start and after each loss of a
// node, which may have left some. It does so twice: the views may lag behind the lost node's last
// events.
func (r *Recoverer) destroyAllEnded(ctx context.Context) {
	if r.Lost != nil {
		if lost := r.Lost(); lost != r.lost {
			r.lost, r.ended = lost, 0
		}
	}
	if r.ended < 2 {
		r.destroy(ctx, "ended cards", func() (int, error) {
			err := r.destroyEnded(ctx)
			if err == nil {
				r.ended++
			}
			return 0, err
		})
	}
}

func (r *Recoverer) destroy(ctx context.Context, what string, clean func() (int, error)) {
	n, err := clean()
	if err != nil && ctx.Err() == nil {
		r.Logger.Warn().Err(err).Str("what", what).Msg("secrets not destroyed; trying again")
	}
	if n > 0 {
		r.Logger.Debug().Int("count", n).Str("what", what).Msg("destroyed secrets that nobody needs")
	}
}

// destroyEnded destroys the cards of tokens that were deleted or invalidated: a crash may have
// prevented that.
func (r *Recoverer) destroyEnded(ctx context.Context) error {
	for after := domain.Token(""); ; {
		page, err := r.EndedCards(ctx, after, pageSize)
		if err != nil || len(page) == 0 {
			return err
		}
		if err := r.Secrets.DestroyKept(ctx, page...); err != nil {
			return err
		}
		if len(page) < pageSize {
			return nil
		}
		after = page[len(page)-1].Token
	}
}

// finishErasures continues unfinished erasures, and repeats those since a time. A failing one does
// not hold up the others.
func (r *Recoverer) finishErasures(ctx context.Context, since time.Time) (failed error) {
	for after := domain.PersonID(""); ctx.Err() == nil; {
		page, err := r.ErasedPersons(ctx, since, after, pageSize)
		if err != nil {
			return err
		}
		for _, person := range page {
			if err := r.Commands.FinishErasure(ctx, person.Account, person.ID); err != nil && failed == nil {
				failed = fmt.Errorf("person %s: %w", person.ID, err)
			}
		}
		if len(page) < pageSize {
			return failed
		}
		after = page[len(page)-1].ID
	}
	return ctx.Err()
}

func (r *Recoverer) sweepDisputes(ctx context.Context, name processor.Name) {
	if err := r.Commands.SweepDisputesAt(ctx, name); err != nil && ctx.Err() == nil {
		r.Logger.Warn().Err(err).Msg("search for disputes failed; trying again")
	}
}

// repeat calls the function do at once, and then at every interval until ctx ends.
func repeat(ctx context.Context, interval time.Duration, do func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for ctx.Err() == nil {
		do()
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}
