package commands

import (
	"context"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/secrets"
)

// sealAdditional seals the fields of a notification that the protocol does not name, under the key of the payment's
// personal data: who erases that erases them. nil: they are not kept. They are not where no payment is known, as no
// key would ever be destroyed for them, where there is no key of the person or it is erased, and where they cannot be
// sealed now.
func (s *Service) sealAdditional(ctx context.Context, payload processor.SignedNotification) *domain.Sealed {
	sealed, err := s.sealForPayment(ctx, payload.Reference, payload.Additional)
	if err != nil {
		s.Logger.Warn().Err(err).Str("processor", string(payload.Processor)).Str("notification", payload.ID).Str("payment", string(payload.Reference)).
			Msg("fields of a notification that the protocol does not name could not be sealed and are not kept")
	}
	return sealed
}

// sealForPayment seals a text under a payment's key; nil when there is none to seal it under.
func (s *Service) sealForPayment(ctx context.Context, reference domain.PaymentID, text string) (*domain.Sealed, error) {
	account, known, err := s.PaymentAccount(ctx, reference)
	if err != nil || !known {
		return nil, err
	}
	tip, err := s.log.Payments.Load(ctx, account, reference, eventstore.AllowStale)
	if err != nil || !tip.State.Exists() {
		return nil, err
	}
	if personal := tip.State.Details().Personal; personal != nil {
		opened, err := s.Vault.Open(ctx, personal)
		if err != nil || opened.Empty() { // the person was erased: no later text about them is kept
			return nil, err
		}
		return s.Vault.SealText(ctx, personal.Key, text)
	}
	return s.Vault.SealText(ctx, secrets.PersonalKeyName(account, tip.State.CustomerID, tip.State.Session), text)
}
