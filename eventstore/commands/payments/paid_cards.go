package payments

import (
	"context"
	"errors"
	"time"

	"payledger/domain"
	"payledger/domain/instrument"
	"payledger/domain/payment"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/commands/instruments"
	"payledger/eventstore/secrets"
)

func cardOf(p payment.State) secrets.CardRef {
	return secrets.CardRef{Account: p.Account, Token: p.Method.Token, TokenizedAt: p.Method.TokenizedAt}
}

// destroyCards destroys queued cards. The cleaner destroys those that a crash leaves.
func (s *Payments) destroyCards() {
	for {
		select {
		case ref := <-s.instruments.Discarded():
			if err := s.Secrets.DestroyCard(s.Life, ref, s.Store.Now(), s.CardNeeded); err != nil && s.Life.Err() == nil {
				s.Logger.Warn().Err(err).Msg("card not destroyed; the cleaner tries again")
			}
		case <-s.Life.Done():
			return
		}
	}
}

// vaultOrDestroyCard vaults the card of a paid payment (D5.5), or destroys it (D5.13). The cleaner
// repeats what fails here.
func (s *Payments) vaultOrDestroyCard(ctx context.Context, p payment.State) {
	if p.Vaults() && !p.Method.Vaulted {
		if err := s.vaultPaid(ctx, p); err != nil {
			s.Logger.Warn().Err(err).Str("payment", string(p.ID)).Msg("card not vaulted yet; trying again")
			return
		}
	}
	if !p.Method.TokenizedAt.IsZero() {
		s.instruments.Discard(cardOf(p))
	}
}

// vaultPaid vaults the token of a payment that succeeded, unless the customer was erased after its
// creation: the key that was the customer's then is erased. Times of two nodes do not show that.
func (s *Payments) vaultPaid(ctx context.Context, p payment.State) error {
	customer := domain.PersonIDFor(secrets.PersonalKeyName(p.Account, p.CustomerID, p.Session))
	if of, err := s.Log.Persons.Load(ctx, p.Account, customer, eventstore.Latest); err != nil || of.State.HasErased(max(1, p.KeyNumber)) {
		return err
	}
	tip, err := s.Log.Instruments.Load(ctx, p.Account, p.Method.Token, eventstore.Latest)
	if err != nil {
		return err
	}
	by := commands.Caller{Account: p.Account, Actor: "process:vault", RequestID: string(p.ID)}
	_, err = s.instruments.Vault(ctx, by, tip.State, p.CreatedAt, instrument.Vault{CustomerID: p.CustomerID, Payment: p.ID})
	return err
}

// slowest, after the time for the customer's action, limits how long a payment without an outcome
// keeps its card (D5.13).
const slowest = 48 * time.Hour

// CardNeeded returns the time until which a token's card is needed as it was entered (D5.13): an
// unused token's until it expires, a paying token's until the outcome is known, with a limit.
// Before it returns that a card is not needed, it completes a vaulting that a crash interrupted
// (D5.5). On a lagging log it may return a later time. Of an expired token it reads the Latest
// state: a use or a vaulting that this node has not applied may need the card.
func (s *Payments) CardNeeded(ctx context.Context, account domain.AccountID, token domain.Token, expires time.Time) (time.Time, error) {
	none := time.Time{}
	consistency := eventstore.Applied
	if !expires.After(s.Store.Now()) {
		consistency = eventstore.Latest
	}
	tip, err := s.Log.Instruments.Load(ctx, account, token, consistency)
	inst := tip.State
	switch {
	case err != nil || !inst.Exists():
		return expires, err // tokenization is under way
	case !inst.Good():
		return none, nil
	case inst.Vaulted():
		if err := s.keepSaved(ctx, inst); err != nil {
			return s.unkept(inst, s.lastUse(expires, inst.UpdatedAt), err), nil
		}
	}
	if inst.UsedBy == "" && inst.Verified {
		return none, nil
	}
	if inst.UsedBy == "" {
		return expires, nil
	}
	used, err := s.Log.Payments.Load(ctx, account, inst.UsedBy, consistency)
	paid := used.State
	switch {
	case err != nil || !paid.Exists(): // claimed, and not created yet
		return expires, err
	case paid.Method.Token != token: // made with another token of the same idempotency key
		return expires, nil
	case paid.Status() == payment.StatusPending:
		return s.lastUse(expires, paid.CreatedAt), nil
	case paid.Vaults() && !inst.Vaulted():
		if err := s.vaultPaid(ctx, paid); err != nil {
			return s.unkept(inst, s.lastUse(expires, paid.CreatedAt), err), nil
		}
	}
	return none, nil
}

// keepSaved copies the card of a vaulted token, and then deletes the token if it is above a limit
// of saved cards: the node that saved it may have ended before. Once the copy stands, no other
// error is returned: the CVV of a card that has paid does not wait for a count, nor for the log of
// the token. The cleaner repeats the count while the card is unused.
func (s *Payments) keepSaved(ctx context.Context, inst instrument.State) error {
	err := s.instruments.Keep(ctx, inst)
	if err == nil {
		by := commands.Caller{Account: inst.Account, Actor: "process:vault", RequestID: inst.AnalyticsID}
		err = s.instruments.EndAboveLimit(ctx, by, inst, true)
	}
	if err == nil || unvaultable(err) {
		return err
	}
	if kept, keptErr := s.Secrets.Kept(ctx, instruments.CardRef(inst)); keptErr != nil || !kept {
		return err
	}
	s.Logger.Warn().Err(err).Str("analyticsId", inst.AnalyticsID).Msg("saved card not counted yet; trying again while the card is unused")
	return nil
}

func (s *Payments) lastUse(expires, began time.Time) time.Time {
	last := began.Add(s.ActionTimeout + slowest)
	if last.Before(expires) {
		return expires
	}
	return last
}

// unkept returns the time until which a card that could not be vaulted now is needed: none if it is
// gone or cannot be vaulted.
func (s *Payments) unkept(inst instrument.State, until time.Time, err error) time.Time {
	s.Logger.Warn().Err(err).Str("analyticsId", inst.AnalyticsID).Msg("card not vaulted yet; trying again")
	if unvaultable(err) {
		return time.Time{}
	}
	return until
}

// unvaultable reports whether a card is gone, was refused, or is above a limit: it will never be
// vaulted.
func unvaultable(err error) bool {
	switch domain.ReasonOf(err) {
	case domain.ReasonInstrumentToken, domain.ReasonRateLimitExceeded, domain.ReasonRequestValidation:
		return true
	default:
		return errors.Is(err, secrets.ErrGone)
	}
}
