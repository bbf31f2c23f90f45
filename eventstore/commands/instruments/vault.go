package instruments

import (
	"context"
	"errors"
	"time"

	"payledger/domain"
	"payledger/domain/instrument"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/secrets"
)

// VaultInput is a request to vault a token for a customer (D5.10).
type VaultInput struct {
	Token      domain.Token
	CustomerID string
	Verify     bool // ask a processor about the card first
}

// VaultInstrument vaults a token for its customer. If it is vaulted already, it returns the vaulted
// instrument (D5.10).
func (s *Instruments) VaultInstrument(ctx context.Context, by commands.Caller, in VaultInput) (instrument.State, error) {
	tip, err := s.Log.Instruments.Load(ctx, by.Account, in.Token, eventstore.Latest)
	if err != nil {
		return tip.State, err
	}
	command := instrument.Vault{At: s.Store.Now(), CustomerID: in.CustomerID}
	if _, err := instrument.DecideVault(tip.State, command); err != nil {
		return tip.State, err
	}
	ctx = context.WithoutCancel(ctx)
	validAt := command.At
	var approved approval
	if in.Verify && !tip.State.Vaulted() {
		if approved, err = s.verify(ctx, by, tip.State, in.CustomerID); err != nil {
			return tip.State, err
		}
		command.Verified = approved.request
	}
	vaulted, err := s.Vault(ctx, by, tip.State, validAt, command)
	if err == nil && approved.token.Token != "" {
		if err := s.KeepToken(ctx, vaulted, approved.token); err != nil {
			s.Logger.Warn().Err(err).Str("analyticsId", vaulted.AnalyticsID).Msg("the processor's token of the card was not kept; the first payment sends the card itself")
		}
	}
	return vaulted, err
}

// Vault records the vaulting and then copies the card; after a crash in between, the cleaner does
// (CardNeeded). The token was valid at validAt.
func (s *Instruments) Vault(ctx context.Context, by commands.Caller, inst instrument.State, validAt time.Time, command instrument.Vault) (instrument.State, error) {
	if _, err := s.Secrets.Card(ctx, CardRef(inst), validAt); err != nil {
		return inst, domain.Unavailable(err) // no card to keep
	}
	personal, err := s.personalOfCustomer(ctx, inst, command.CustomerID)
	if err != nil {
		return inst, err
	}
	command.Personal = personal
	tip, err := commands.Follow(ctx, s.Base, by, s.Log.Instruments.Execute, inst.Token, func(state instrument.State, at time.Time) (instrument.Event, error) {
		command.At = at
		return instrument.DecideVault(state, command)
	})
	if err != nil {
		return tip.State, err
	}
	return tip.State, s.KeepVaulted(ctx, tip.State)
}

// personalOfCustomer seals the cardholder's name under the customer's key, to be erased with the
// customer; nil if it is so already.
func (s *Instruments) personalOfCustomer(ctx context.Context, inst instrument.State, customer string) (*domain.Sealed, error) {
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

// Keep copies the card of a vaulted token, without its CVV, to the vaulted cards. A token whose
// card is gone is ended.
func (s *Instruments) Keep(ctx context.Context, inst instrument.State) error {
	err := s.Secrets.KeepCard(ctx, CardRef(inst), secrets.PersonalKeyName(inst.Account, inst.CustomerID, inst.Session))
	if errors.Is(err, secrets.ErrGone) {
		return s.lose(ctx, inst)
	}
	if err != nil {
		return domain.OutcomeUnknown(err)
	}
	// An erasure or deletion that ended the token before the copy has not found the card.
	tip, err := s.Log.Instruments.Load(ctx, inst.Account, inst.Token, eventstore.Latest)
	if err != nil {
		return domain.OutcomeUnknown(err)
	}
	if tip.State.Good() {
		return nil
	}
	if err := s.DestroySaved(ctx, CardRef(inst)); err != nil {
		return domain.OutcomeUnknown(err)
	}
	return s.lose(ctx, tip.State)
}

// KeepToken stores a processor's token of a vaulted card. A token that was deleted or erased
// meanwhile loses it again.
func (s *Instruments) KeepToken(ctx context.Context, inst instrument.State, token secrets.CardToken) error {
	if err := s.Secrets.KeepCardToken(ctx, CardRef(inst), secrets.PersonalKeyName(inst.Account, inst.CustomerID, inst.Session), token); err != nil {
		return err
	}
	tip, err := s.Log.Instruments.Load(ctx, inst.Account, inst.Token, eventstore.Latest)
	if err == nil && !tip.State.Good() {
		err = s.DestroySaved(ctx, CardRef(inst))
	}
	return err
}

// KeepVaulted is Keep for a token that was just vaulted. A verified card, as it was entered, is
// then destroyed.
func (s *Instruments) KeepVaulted(ctx context.Context, inst instrument.State) error {
	err := s.Keep(ctx, inst)
	if err == nil && inst.Verified {
		s.Discard(CardRef(inst))
	}
	return err
}

// lose records that a vaulted token has no card and cannot pay. A deleted token stays deleted.
func (s *Instruments) lose(ctx context.Context, inst instrument.State) error {
	by := commands.Caller{Account: inst.Account, Actor: "process:vault", RequestID: inst.AnalyticsID}
	if _, err := s.changeInstrument(ctx, by, inst.Token, instrument.DecideLose); err != nil {
		return domain.OutcomeUnknown(err)
	}
	return domain.Refuse(domain.KindInvalid, domain.ReasonInstrumentToken, "The payment method token has expired.")
}

// DeleteInstrument deletes a token from the vault, with its card (D5.13).
func (s *Instruments) DeleteInstrument(ctx context.Context, by commands.Caller, token domain.Token) (instrument.State, error) {
	after, err := s.EndInstrument(ctx, by, token)
	if err != nil {
		return after, err
	}
	if err := s.DestroySaved(ctx, CardRef(after)); err != nil {
		return after, domain.OutcomeUnknown(err) // a repeat, or the recovery, destroys the card
	}
	return after, s.deletedEverywhere(context.WithoutCancel(ctx), after)
}

// deletedEverywhere returns when no node takes a payment with a deleted token: each decides by what
// it has applied. A repeat of the deletion waits, too: the first call may have failed here.
func (s *Instruments) deletedEverywhere(ctx context.Context, after instrument.State) error {
	tip, err := s.Log.Instruments.Load(ctx, after.Account, after.Token, eventstore.Applied)
	if err != nil {
		return err
	}
	return s.AppliedEverywhere(ctx, tip.Recorded)
}

// EndInstrument records that a token is deleted. The caller destroys its card.
func (s *Instruments) EndInstrument(ctx context.Context, by commands.Caller, token domain.Token) (instrument.State, error) {
	after, err := s.changeInstrument(ctx, by, token, instrument.DecideDelete)
	if err == nil {
		s.Discard(CardRef(after))
	}
	return after, err
}

// MakeDefault makes a token its customer's default (D5.12).
func (s *Instruments) MakeDefault(ctx context.Context, by commands.Caller, token domain.Token) (instrument.State, error) {
	return s.changeInstrument(ctx, by, token, instrument.DecideMakeDefault)
}

func (s *Instruments) changeInstrument(ctx context.Context, by commands.Caller, token domain.Token, decide func(instrument.State, time.Time) (instrument.Event, error)) (instrument.State, error) {
	tip, err := commands.Request(ctx, s.Base, by, s.Log.Instruments.Execute, token, decide)
	return tip.State, err
}
