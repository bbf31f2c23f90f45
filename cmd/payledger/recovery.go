package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"payledger/domain/payment"
	"payledger/eventstore/secrets"
)

const (
	// recoverEvery is how often operations are looked for whose process is gone, and actions that were
	// abandoned; more often when actions expire soon.
	recoverEvery = 30 * time.Second
	// recoverGrace is added to the payment timeout before another process's operation is taken up.
	recoverGrace = 10 * time.Second
)

// recoverOpen takes up every operation that has no outcome, destroys secrets that nobody needs, and keeps
// looking for operations that another process left behind.
func (a *App) recoverOpen(ctx context.Context) error {
	if err := a.recoverOlderThan(ctx, 0); err != nil {
		return err
	}
	if err := a.forgetEnded(ctx); err != nil {
		return err
	}
	a.workflows.Act()
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	before := a.stopAPI
	a.stopAPI = func() { stop(); before() }
	a.loops.Go(func() { a.lookAfter(background) })
	a.loops.Go(func() { a.lookForDisputes(background) })
	return nil
}

func (a *App) lookAfter(ctx context.Context) {
	a.cleanSecrets(ctx, a.clock())
	a.applyNotices(ctx)
	every := max(100*time.Millisecond, min(recoverEvery, a.options.ActionTimeout/10))
	orphans, spent := time.NewTicker(every), time.NewTicker(secrets.JanitorInterval)
	defer orphans.Stop()
	defer spent.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-orphans.C:
			if err := a.recoverOlderThan(ctx, a.options.PaymentTimeout+recoverGrace); err != nil && ctx.Err() == nil {
				a.log.Warn().Err(err).Msg("open operations not looked through; trying again")
			}
			a.applyNotices(ctx)
		case <-spent.C:
			a.cleanSecrets(ctx, a.clock())
		}
	}
}

// applyNotices applies what processors told and what could not be applied so far: after a crash, or of a payment that
// this node did not know (D14).
func (a *App) applyNotices(ctx context.Context) {
	waiting, err := a.views.WaitingInboxes(ctx, a.clock())
	for _, reference := range waiting {
		if ctx.Err() != nil {
			return
		}
		if failed := a.commands.ApplyNotices(ctx, reference); failed != nil {
			a.log.Debug().Err(failed).Str("payment", string(reference)).Msg("a notification goes on waiting")
		}
	}
	if err != nil && ctx.Err() == nil {
		a.log.Warn().Err(err).Msg("notifications that wait not looked through; trying again")
	}
}

// lookForDisputes asks the processors now and then what they told about disputes: a notification can be lost (D14).
func (a *App) lookForDisputes(ctx context.Context) {
	tick := time.NewTicker(a.options.DisputeLookup)
	defer tick.Stop()
	for {
		if err := a.commands.SweepDisputes(ctx); err != nil && ctx.Err() == nil {
			a.log.Warn().Err(err).Msg("disputes not looked for everywhere; trying again")
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// recoverOlderThan takes up operations that were requested that long ago, and abandoned actions. A payment that cannot
// be taken up does not hold up the others.
func (a *App) recoverOlderThan(ctx context.Context, age time.Duration) error {
	now := a.clock()
	due, err := a.views.Waiting(ctx, now)
	if err != nil {
		return err
	}
	var failed []error
	for _, w := range due {
		if w.State != payment.StateAction && now.Sub(w.Due) < age {
			continue
		}
		if err := a.commands.Recover(ctx, w.Account, w.Payment); err != nil {
			failed = append(failed, fmt.Errorf("payment %s: %w", w.Payment, err))
		}
	}
	return errors.Join(append(failed, a.recoverAttempts(ctx, now.Add(-age)))...)
}

// recoverAttempts carries out decisions about payment attempts, made before a time, that a crash has left (§3.3). One
// that cannot be carried out now, say because no processor is enabled any more, is tried again later.
func (a *App) recoverAttempts(ctx context.Context, before time.Time) error {
	due, err := a.views.DueAttempts(ctx)
	if err != nil {
		return err
	}
	for _, d := range due {
		if d.DecidedAt.After(before) {
			continue
		}
		if err := a.commands.RecoverAttempt(ctx, d.Account, d.ID); err != nil && ctx.Err() == nil {
			a.log.Warn().Err(err).Str("paymentAttempt", string(d.ID)).Msg("decision not carried out; trying again")
		}
	}
	return nil
}

// cleanSecrets destroys what nobody needs any more at now: cards whose outcome is known, and signing secrets that
// were rotated away and are not valid any longer (§5.2 rule 3).
func (a *App) cleanSecrets(ctx context.Context, now time.Time) {
	a.destroyed(ctx, "cards", func() (int, error) { return a.ledger.vault.Clean(ctx, now, a.commands.CardNeeded) })
	a.destroyed(ctx, "signing secrets", func() (int, error) { return a.ledger.vault.CleanSigning(ctx, now, a.views.Account) })
}

// forgetEnded destroys the cards of tokens that were deleted or made invalid, in case a crash came in between.
func (a *App) forgetEnded(ctx context.Context) error {
	ended, err := a.views.EndedInstruments(ctx)
	if err != nil {
		return err
	}
	for _, tool := range ended {
		ref := secrets.CardRef{Account: tool.Account, Token: tool.Token, TokenizedAt: tool.CreatedAt}
		if err := a.ledger.vault.DestroyKept(ctx, ref); err != nil {
			return err
		}
	}
	return nil
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
