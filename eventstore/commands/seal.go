package commands

import (
	"context"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/eventstore/secrets"
)

// SealText seals a text under the key of a payment's personal data, so that an erasure covers it;
// nil if there is no key any more.
func (b *Base) SealText(ctx context.Context, paid payment.State, text string) (*domain.Sealed, error) {
	if personal := paid.Details().Personal; personal != nil {
		opened, err := b.Secrets.Open(ctx, personal)
		if err != nil || opened.Empty() { // erased
			return nil, err
		}
		return b.Secrets.SealText(ctx, personal.Key, personal.KeyNumber, text)
	}
	return b.Secrets.SealText(ctx, secrets.PersonalKeyName(paid.Account, paid.CustomerID, paid.Session), paid.KeyNumber, text)
}
