package workflows

import (
	"context"
	"errors"
	"fmt"
	"time"

	"payledger/domain/process"
	"payledger/eventstore"
	"payledger/eventstore/due"
	"payledger/eventstore/format"
)

// unreadable is the time after which the planner gives up an event that cannot be evaluated while
// the log can be read.
const unreadable = time.Minute

var errUnreadable = errors.New("workflows: the event cannot be read")

// persist repeats a call until it succeeds, fails for good, or ctx ends. Meanwhile health has the
// error.
func (e *Engine) persist(ctx context.Context, do func() error) error {
	return e.repeat(ctx, do, func(error) error { return nil })
}

// persistOn is persist for one event. If the call fails for e.patience although the log has the
// event, it returns errUnreadable.
func (e *Engine) persistOn(ctx context.Context, r *eventstore.Recorded, do func() error) error {
	since := time.Now()
	return e.repeat(ctx, do, func(cause error) error {
		if _, err := e.Store.Read(ctx, r.Shard, r.Seq); err != nil {
			since = time.Now() // a problem of the log
		} else if time.Since(since) >= e.patience {
			return fmt.Errorf("%w: %w", errUnreadable, cause)
		}
		return nil
	})
}

// repeat repeats a call until it succeeds, fails for good, ends returns an error, or ctx ends.
func (e *Engine) repeat(ctx context.Context, do func() error, ends func(error) error) error {
	for tried := 0; ; tried++ {
		err := do()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			e.health.set(nil)
			return nil
		case errors.Is(err, format.ErrNewerSchema), errors.Is(err, format.ErrUnknownEvent): // no repeat can succeed
			return err
		}
		if end := ends(err); end != nil {
			e.health.set(nil)
			return end
		}
		if e.health.set(errors.Join(errTrouble, err)) {
			e.Logger.Error().Err(err).Msg("workflow runs cannot be started; trying again")
		}
		if err := due.Rest(ctx, min(process.NextInterval(tried), retryMost), nil); err != nil {
			return err
		}
	}
}
