package commands

import (
	"context"
	"errors"
	"time"

	"payledger/domain"
	"payledger/domain/instrument"
	"payledger/domain/payment"
	"payledger/eventstore"
	"payledger/eventstore/secrets"
)

// VaultInput is a request to vault a token for a customer (D5.10).
type VaultInput struct {
	Token      domain.Token
	CustomerID string
	Verify     bool // ask a processor about the card first
}

// VaultInstrument vaults a token for its customer. If it is vaulted already, it returns the vaulted instrument (D5.10).
func (s *Service) VaultInstrument(ctx context.Context, by Caller, in VaultInput) (instrument.State, error) {
	tip, err := s.log.Instruments.Load(ctx, by.Account, in.Token, eventstore.Latest)
	if err != nil {
		return tip.State, err
	}
	command := instrument.Vault{At: s.Store.Now(), CustomerID: in.CustomerID}
	if _, err := instrument.DecideVault(tip.State, command); err != nil {
		return tip.State, err
	}
	ctx = context.WithoutCancel(ctx)
	began := command.At
	if in.Verify && !tip.State.Vaulted() {
		if command.Verified, err = s.verify(ctx, by, tip.State, in.CustomerID); err != nil {
			return tip.State, err
		}
	}
	return s.vault(ctx, by, tip.State, began, command)
}

// vault records the vaulting and then copies the card. After a crash in between, the janitor finds that the card is
// needed and copies it (CardNeeded). At began the token was still valid.
func (s *Service) vault(ctx context.Context, by Caller, inst instrument.State, began time.Time, command instrument.Vault) (instrument.State, error) {
	if _, err := s.Secrets.Card(ctx, cardRef(inst), began); err != nil {
		return inst, domain.Unavailable(err) // no card to keep
	}
	personal, err := s.personalOfCustomer(ctx, inst, command.CustomerID)
	if err != nil {
		return inst, err
	}
	meta, err := s.Store.NewMeta(by.Actor, by.RequestID)
	if err != nil {
		return inst, err
	}
	command.At, command.Personal = meta.At, personal
	tip, err := s.log.Instruments.Execute(ctx, by.Account, inst.Token, meta,
		func(state instrument.State) (instrument.Event, error) { return instrument.DecideVault(state, command) })
	if err != nil {
		return tip.State, err
	}
	return tip.State, s.keepVaulted(ctx, tip.State)
}

// personalOfCustomer seals the cardholder's name under the customer's key, so that it is erased with the customer; nil
// if it is sealed under that key already.
func (s *Service) personalOfCustomer(ctx context.Context, inst instrument.State, customer string) (*domain.Sealed, error) {
	key := secrets.PersonalKeyName(inst.Account, customer, inst.Session)
	if inst.Personal == nil || inst.Personal.Key == key {
		return nil, nil
	}
	plain, err := s.Secrets.Open(ctx, inst.Personal)
	if err != nil {
		return nil, domain.Unavailable(err)
	}
	sealed, err := s.Secrets.Seal(ctx, key, plain)
	if err != nil {
		return nil, domain.Unavailable(err)
	}
	return sealed, nil
}

// keep copies the card of a vaulted token, without its CVV, to the vaulted cards. A token whose card is gone is ended.
func (s *Service) keep(ctx context.Context, inst instrument.State) error {
	err := s.Secrets.KeepCard(ctx, cardRef(inst))
	if errors.Is(err, secrets.ErrGone) {
		return s.lose(ctx, inst)
	}
	if err != nil {
		return domain.OutcomeUnknown(err)
	}
	return nil
}

// keepVaulted is keep for a token that was just vaulted. A verified card, as it was entered, is then destroyed.
func (s *Service) keepVaulted(ctx context.Context, inst instrument.State) error {
	err := s.keep(ctx, inst)
	if err == nil && inst.Verified {
		s.discard(cardRef(inst))
	}
	return err
}

// lose records that a vaulted token has no card and cannot pay. A deleted token stays deleted.
func (s *Service) lose(ctx context.Context, inst instrument.State) error {
	by := Caller{Account: inst.Account, Actor: "process:vault", RequestID: inst.AnalyticsID}
	if _, err := s.changeInstrument(ctx, by, inst.Token, instrument.DecideLose); err != nil {
		return domain.OutcomeUnknown(err)
	}
	return errLost
}

// errLost refuses a vaulted token that has no card.
var errLost = domain.Refuse(domain.KindInvalid, domain.ReasonInstrumentToken, "The payment method token is expired.")

// vaultOrDestroyCard vaults the card of a paid payment where that was agreed (D5.5), and destroys the card as it was
// entered (D5.13). The janitor repeats what fails here.
func (s *Service) vaultOrDestroyCard(ctx context.Context, p payment.State) {
	if p.Vaults() && !p.Method.Vaulted {
		if err := s.vaultPaid(ctx, p); err != nil {
			s.Logger.Warn().Err(err).Str("payment", string(p.ID)).Msg("card not vaulted yet; trying again")
			return
		}
	}
	if !p.Method.TokenizedAt.IsZero() {
		s.discard(cardOf(p))
	}
}

// vaultPaid vaults the token of a payment that succeeded.
func (s *Service) vaultPaid(ctx context.Context, p payment.State) error {
	tip, err := s.log.Instruments.Load(ctx, p.Account, p.Method.Token, eventstore.Latest)
	if err != nil {
		return err
	}
	by := Caller{Account: p.Account, Actor: "process:vault", RequestID: string(p.ID)}
	_, err = s.vault(ctx, by, tip.State, p.CreatedAt, instrument.Vault{CustomerID: p.CustomerID, Payment: p.ID})
	return err
}

// slowest limits, beside the time for the customer's action, how long a card is kept for a payment without an outcome
// (D5.13).
const slowest = 48 * time.Hour

// CardNeeded returns the time until which a token's card is needed as it was entered (D5.13). An unused token needs its
// card until it expires; a token that pays, until the outcome is known, with a limit. Before CardNeeded returns that a
// card is not needed, it completes a vaulting that a crash interrupted (D5.5). On a lagging log it may return a later
// time.
func (s *Service) CardNeeded(ctx context.Context, account domain.AccountID, token domain.Token, expires time.Time) (time.Time, error) {
	none := time.Time{}
	tip, err := s.log.Instruments.Load(ctx, account, token, eventstore.AllowStale)
	inst := tip.State
	switch {
	case err != nil || !inst.Exists():
		return expires, err // tokenization is under way
	case !inst.Good():
		return none, nil
	case inst.Vaulted():
		if err := s.keep(ctx, inst); err != nil {
			return s.unkept(inst, s.lastUse(expires, inst.UpdatedAt), err), nil
		}
	}
	if inst.UsedBy == "" && inst.Verified {
		return none, nil
	}
	if inst.UsedBy == "" {
		return expires, nil
	}
	paid, err := s.newest(ctx, account, inst.UsedBy)
	switch {
	case err != nil || !paid.Exists(): // claimed, and not created yet
		return expires, err
	case paid.Status() == payment.StatusPending:
		return s.lastUse(expires, paid.CreatedAt), nil
	case paid.Vaults() && !inst.Vaulted():
		if err := s.vaultPaid(ctx, paid); err != nil {
			return s.unkept(inst, s.lastUse(expires, paid.CreatedAt), err), nil
		}
	}
	return none, nil
}

// lastUse limits the life of a card that has begun to pay.
func (s *Service) lastUse(expires, began time.Time) time.Time {
	last := began.Add(s.ActionTimeout + slowest)
	if last.Before(expires) {
		return expires
	}
	return last
}

// unkept returns the time until which a card that could not be vaulted now is needed. A card that is gone, or whose
// token cannot be vaulted, is not needed.
func (s *Service) unkept(inst instrument.State, until time.Time, err error) time.Time {
	s.Logger.Warn().Err(err).Str("analyticsId", inst.AnalyticsID).Msg("card not vaulted yet; trying again")
	switch domain.ReasonOf(err) {
	case domain.ReasonInstrumentToken, domain.ReasonRequestValidation:
		return time.Time{}
	}
	if errors.Is(err, secrets.ErrGone) {
		return time.Time{}
	}
	return until
}

// DeleteInstrument deletes a token from the vault, with its card (D5.13).
func (s *Service) DeleteInstrument(ctx context.Context, by Caller, token domain.Token) (instrument.State, error) {
	after, err := s.changeInstrument(ctx, by, token, instrument.DecideDelete)
	if err != nil {
		return after, err
	}
	s.discard(cardRef(after))
	if err := s.Secrets.DestroyKept(context.WithoutCancel(ctx), cardRef(after)); err != nil {
		return after, domain.OutcomeUnknown(err) // a repeat, or the next start, destroys the card
	}
	return after, nil
}

// MakeDefault makes a token its customer's default (D5.12).
func (s *Service) MakeDefault(ctx context.Context, by Caller, token domain.Token) (instrument.State, error) {
	return s.changeInstrument(ctx, by, token, instrument.DecideMakeDefault)
}
