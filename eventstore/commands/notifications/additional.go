package notifications

import (
	"context"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/eventstore"
)

// sealAdditional seals the fields of a notification that the protocol does not name. It returns
// nil, and the fields are not kept, if the payment is unknown, the person has no key or was erased,
// or sealing fails (D14.9).
func (s *Notifications) sealAdditional(ctx context.Context, payload processor.SignedNotification) *domain.Sealed {
	sealed, err := s.sealForPayment(ctx, payload.Reference, payload.Additional)
	if err != nil {
		s.Logger.Warn().Err(err).Str("processor", string(payload.Processor)).Str("notification", payload.ID).Str("payment", string(payload.Reference)).
			Msg("additional fields of a notification could not be sealed and are not kept")
	}
	return sealed
}

func (s *Notifications) sealForPayment(ctx context.Context, reference domain.PaymentID, text string) (*domain.Sealed, error) {
	account, known, err := s.PaymentAccount(ctx, reference)
	if err != nil || !known {
		return nil, err
	}
	tip, err := s.Log.Payments.Load(ctx, account, reference, eventstore.Applied)
	if err != nil || !tip.State.Exists() {
		return nil, err
	}
	return s.SealText(ctx, tip.State, text)
}
