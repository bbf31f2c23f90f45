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

// VaultInput is a merchant's request to keep a token for a customer (D5).
type VaultInput struct {
	Token      domain.Token
	CustomerID string
	Verify     bool // ask a processor about the card first
}

// VaultInstrument keeps a token for its customer; again, it gives the one that is there (D5).
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

// vault records that the token is kept, then copies the card: a crash in between leaves a card that the janitor finds
// needed, and has copied (CardNeeded). What asks for the vaulting began while the token was good.
func (s *Service) vault(ctx context.Context, by Caller, inst instrument.State, began time.Time, command instrument.Vault) (instrument.State, error) {
	if _, err := s.Vault.Card(ctx, cardRef(inst), began); err != nil {
		return inst, domain.Unavailable(err) // nothing to keep
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
// when it is already.
func (s *Service) personalOfCustomer(ctx context.Context, inst instrument.State, customer string) (*domain.Sealed, error) {
	key := secrets.PersonalKeyName(inst.Account, customer, inst.Session)
	if inst.Personal == nil || inst.Personal.Key == key {
		return nil, nil
	}
	plain, err := s.Vault.Open(ctx, inst.Personal)
	if err != nil {
		return nil, domain.Unavailable(err)
	}
	sealed, err := s.Vault.Seal(ctx, key, plain)
	if err != nil {
		return nil, domain.Unavailable(err)
	}
	return sealed, nil
}

// keep copies the card of a vaulted token, without its CVV, to where vaulted cards stand; a token whose card is gone ends
// with it.
func (s *Service) keep(ctx context.Context, inst instrument.State) error {
	err := s.Vault.KeepCard(ctx, cardRef(inst))
	if errors.Is(err, secrets.ErrGone) {
		return s.lose(ctx, inst)
	}
	if err != nil {
		return domain.OutcomeUnknown(err)
	}
	return nil
}

// keepVaulted is keep for a token that was vaulted just now: the card as it was entered ends with the outcome that its
// CVV was for, the verification's.
func (s *Service) keepVaulted(ctx context.Context, inst instrument.State) error {
	err := s.keep(ctx, inst)
	if err == nil && inst.Verified {
		s.discard(cardRef(inst))
	}
	return err
}

// lose records that a vaulted token has no card: it does not look like one that can pay. A token that was deleted
// meanwhile has none either.
func (s *Service) lose(ctx context.Context, inst instrument.State) error {
	by := Caller{Account: inst.Account, Actor: "process:vault", RequestID: inst.AnalyticsID}
	if _, err := s.changeInstrument(ctx, by, inst.Token, instrument.DecideLose); err != nil {
		return domain.OutcomeUnknown(err)
	}
	return errLost
}

// errLost is what is told of a vaulted token that has no card.
var errLost = domain.Refuse(domain.KindInvalid, domain.ReasonInstrumentToken, "The payment method token is expired.")

// vaultOrDestroyCard does what a payment's outcome asks for: the card is vaulted where that was agreed (D5), and as it was
// entered it is destroyed. What fails here is left to the janitor.
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

// vaultPaid vaults the token of a payment whose success asks for it.
func (s *Service) vaultPaid(ctx context.Context, p payment.State) error {
	tip, err := s.log.Instruments.Load(ctx, p.Account, p.Method.Token, eventstore.Latest)
	if err != nil {
		return err
	}
	by := Caller{Account: p.Account, Actor: "process:vault", RequestID: string(p.ID)}
	_, err = s.vault(ctx, by, tip.State, p.CreatedAt, instrument.Vault{CustomerID: p.CustomerID, Payment: p.ID})
	return err
}

// slowest is how much longer than its customer's action the outcome of a payment may take before its card is given up.
const slowest = 48 * time.Hour

// CardNeeded tells until when the card behind a token is needed as it was entered: a token that was not used, until it
// expires; one that pays for an operation that is open, until its outcome is known, however long ago the token expired,
// but not for ever. Before it says that the card is not needed, it does what a crash has left of a vaulting (D5). An
// answer from a log that lags behind errs on the side of needed.
func (s *Service) CardNeeded(ctx context.Context, account domain.AccountID, token domain.Token, expires time.Time) (time.Time, error) {
	none := time.Time{}
	tip, err := s.log.Instruments.Load(ctx, account, token, eventstore.AllowStale)
	inst := tip.State
	switch {
	case err != nil || !inst.Exists():
		return expires, err // it is being tokenized
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
	case err != nil || !paid.Exists(): // claimed, and the first event still to come
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

// lastUse bounds the life of a card that has begun to pay.
func (s *Service) lastUse(expires, began time.Time) time.Time {
	last := began.Add(s.ActionTimeout + slowest)
	if last.Before(expires) {
		return expires
	}
	return last
}

// unkept says that a card that could not be vaulted now is needed until it can be; one that is gone, or whose token
// cannot be vaulted, is not.
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

// DeleteInstrument takes a token out of the vault, and its card with it (D5).
func (s *Service) DeleteInstrument(ctx context.Context, by Caller, token domain.Token) (instrument.State, error) {
	after, err := s.changeInstrument(ctx, by, token, instrument.DecideDelete)
	if err != nil {
		return after, err
	}
	s.discard(cardRef(after))
	if err := s.Vault.DestroyKept(context.WithoutCancel(ctx), cardRef(after)); err != nil {
		return after, domain.OutcomeUnknown(err) // recorded; a repeat, or the next start, destroys it
	}
	return after, nil
}

// MakeDefault makes a token its customer's default (D5).
func (s *Service) MakeDefault(ctx context.Context, by Caller, token domain.Token) (instrument.State, error) {
	return s.changeInstrument(ctx, by, token, instrument.DecideMakeDefault)
}
