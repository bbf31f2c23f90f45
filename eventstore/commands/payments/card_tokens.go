package payments

import (
	"context"

	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/secrets"
)

// Processors' tokens of vaulted cards (§2.1). A token is stored after the event of the answer that
// gave it, and after the card was vaulted. After a crash in between it is lost, and the next
// payment sends the card's number. So a token changes only what travels, never an outcome.

// cardFor returns the card of an authorization: the processor's token of a vaulted card, or else
// the card itself. A card as it was entered has a CVV, which is worth more than the token. A repeat
// under the same key may have the other one of the two: to the processor it is the same card. kept
// reports that it is a token which the processor gave.
func (s *Payments) cardFor(ctx context.Context, p payment.State, op processor.Operation) (card processor.Card, kept bool, err error) {
	if p.Method.Vaulted && p.Method.TokenizedAt.IsZero() {
		token, err := s.Secrets.CardToken(ctx, cardOf(p), op.Processor, op.MerchantID)
		if err != nil {
			s.Logger.Warn().Err(err).Str("payment", string(p.ID)).Msg("the processor's token of the card cannot be read; the card itself is sent")
		}
		if token != "" {
			return processor.Card{Token: token}, true, nil
		}
	}
	card, err = s.Secrets.Card(ctx, cardOf(p), p.CreatedAt)
	return card, false, err
}

// keepCardToken stores the token of a card that is vaulted. Without it, the next payment sends the
// number: a failure is no failure of the payment.
func (s *Payments) keepCardToken(ctx context.Context, p payment.State, revision uint64, token string) {
	if !p.Stores() {
		return
	}
	op, _ := p.Operation(revision)
	ctx = context.WithoutCancel(ctx)
	tip, err := s.Log.Instruments.Load(ctx, p.Account, p.Method.Token, eventstore.Latest)
	if err == nil && tip.State.Vaulted() && tip.State.Good() && tip.State.CustomerID == p.CustomerID {
		err = s.instruments.KeepToken(ctx, tip.State, secrets.CardToken{Processor: op.Target.Processor, MerchantID: op.Target.MerchantID, Token: token})
	}
	if err != nil {
		s.Logger.Warn().Err(err).Str("payment", string(p.ID)).Msg("the processor's token of the card was not kept; the next payment sends the card's number")
	}
}

// forgetCardToken destroys a token that its processor does not know, or no longer.
func (s *Payments) forgetCardToken(ctx context.Context, p payment.State, revision uint64) {
	op, _ := p.Operation(revision)
	owner := secrets.PersonalKeyName(p.Account, p.CustomerID, p.Session)
	err := s.Secrets.ForgetCardToken(context.WithoutCancel(ctx), cardOf(p), owner, op.Target.Processor, op.Target.MerchantID)
	s.Logger.Info().AnErr("error", err).Str("payment", string(p.ID)).Str("processor", string(op.Target.Processor)).
		Msg("the processor does not know its token of the card; the next payment sends the card's number")
}
