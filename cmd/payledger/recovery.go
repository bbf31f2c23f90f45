package main

import (
	"context"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/eventstore/pending"
	"payledger/eventstore/secrets"
)

const (
	// recoverEvery is how often inboxes and attempts are looked for that another process left; more often when actions
	// expire soon.
	recoverEvery = 30 * time.Second
	// recoverGrace is added to the payment timeout before another process's operation is taken up.
	recoverGrace = 10 * time.Second
	// endedPage is how many ended instruments are in memory at once.
	endedPage = 256
)

// patience is how old an operation is when this process takes it up from another one.
func (a *App) patience() time.Duration { return a.options.PaymentTimeout + recoverGrace }

// lookAfter starts the loops that recover what a crash or another process has left unfinished. The start does not wait for them.
// Loops that wait for a processor run once per processor.
func (a *App) lookAfter(ctx context.Context) error {
	a.workflows.Act()
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	before := a.stopAPI
	a.stopAPI = func() { stop(); before() }
	keeper := pending.New(pending.Config{
		Views: a.views, Commands: a.commands, Patience: a.patience(), Actions: a.options.ActionTimeout, Now: a.clock, Logger: a.log,
		Every: max(100*time.Millisecond, min(recoverEvery, a.options.ActionTimeout/10)),
	})
	a.loops.Go(func() { keeper.Run(background) })
	a.loops.Go(func() { a.destroySecrets(background) })
	for _, name := range processor.Names {
		a.loops.Go(func() { a.lookForDisputes(background, name) })
	}
	return nil
}

// lookForDisputes asks a processor now and then what it told about disputes: a notification can be lost (D14).
func (a *App) lookForDisputes(ctx context.Context, name processor.Name) {
	a.again(ctx, a.options.DisputeLookup, func() {
		if err := a.commands.SweepDisputesAt(ctx, name); err != nil && ctx.Err() == nil {
			a.log.Warn().Err(err).Msg("disputes not looked for everywhere; trying again")
		}
	})
}

// destroySecrets destroys secrets that nobody needs, without waiting for any processor.
func (a *App) destroySecrets(ctx context.Context) {
	ended := false
	a.again(ctx, secrets.JanitorInterval, func() {
		a.cleanSecrets(ctx, a.clock())
		if !ended {
			err := a.forgetEnded(ctx)
			if ended = err == nil; err != nil && ctx.Err() == nil {
				a.log.Warn().Err(err).Str("what", "ended cards").Msg("secrets not destroyed; trying again")
			}
		}
	})
}

// again does something at once, and then every so often until ctx ends.
func (a *App) again(ctx context.Context, every time.Duration, do func()) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for ctx.Err() == nil {
		do()
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// askNext returns the time of the next question to the processor about an operation without an outcome (D8). The time comes
// from memory if this process has a question planned, and otherwise from the schedule of package pending.
func (a *App) askNext(key domain.OperationKey, requested time.Time) (time.Time, bool) {
	if next, soon := a.commands.AskNext(key); soon || requested.IsZero() {
		return next, soon
	}
	return pending.Next(requested, a.patience(), a.clock()), true
}

// cleanSecrets destroys what nobody needs any more at now: cards whose outcome is known, and signing secrets that
// were rotated away and are not valid any longer (§5.2 rule 3).
func (a *App) cleanSecrets(ctx context.Context, now time.Time) {
	a.destroyed(ctx, "cards", func() (int, error) { return a.ledger.Vault.Clean(ctx, now, a.commands.CardNeeded) })
	a.destroyed(ctx, "signing secrets", func() (int, error) { return a.ledger.Vault.CleanSigning(ctx, now, a.views.Account) })
}

// forgetEnded destroys the cards of tokens that were deleted or made invalid, in case a crash came in between.
func (a *App) forgetEnded(ctx context.Context) error {
	for after := domain.Token(""); ; {
		page, err := a.views.EndedInstruments(ctx, after, endedPage)
		if err != nil {
			return err
		}
		for _, tool := range page {
			ref := secrets.CardRef{Account: tool.Account, Token: tool.Token, TokenizedAt: tool.CreatedAt}
			if err := a.ledger.Vault.DestroyKept(ctx, ref); err != nil {
				return err
			}
		}
		if len(page) < endedPage {
			return nil
		}
		after = page[len(page)-1].Token
	}
}

// destroyed tells what a run of clean has come to; what is left is for the next run.
func (a *App) destroyed(ctx context.Context, what string, clean func() (int, error)) {
	n, err := clean()
	if err != nil && ctx.Err() == nil {
		a.log.Warn().Err(err).Str("what", what).Msg("secrets not destroyed; trying again")
	}
	if n > 0 {
		a.log.Debug().Int("count", n).Str("what", what).Msg("destroyed secrets that nobody needs")
	}
}
