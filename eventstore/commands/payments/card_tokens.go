package payments

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

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

// approved reports whether an answer approved a card, and was recorded: only such an answer gives a
// token of the card.
func approved(p payment.State, revision uint64, answer processor.Answer) bool {
	op, _ := p.Operation(revision)
	return (op.Kind == processor.Authorize || op.Kind == processor.Complete) &&
		answer.State == processor.Succeeded && op.State == payment.StateSucceeded
}

// refusesToken reports whether the processor does not know the token of the card, or no longer.
func refusesToken(answer processor.Answer) bool {
	return answer.State == processor.Failed && answer.Code == processor.CodeNoToken
}

// withoutCardToken removes the token with which the payment was authorized from the texts of an
// answer, which are stored. The adapter knows only the token of the request that it sends; an
// answer may also come from a look-up, a list or a notification. Without the token that may stand
// there, the texts are not stored.
func (s *Payments) withoutCardToken(ctx context.Context, p payment.State, answer processor.Answer) processor.Answer {
	if !p.Method.Vaulted && p.Method.Processor == "" || answer.Message == "" && answer.RawAnswer == nil {
		return answer
	}
	token, err := s.paidToken(ctx, p)
	switch {
	case token != "":
		return withoutSecret(answer, token)
	case err != nil && !errors.Is(err, secrets.ErrGone), refusesToken(answer):
		answer.Message, answer.RawAnswer = "", nil
	}
	return answer
}

// paidToken returns the token with which the newest authorization was requested, if it is still
// known. The processor's token comes before the token of the customer's form.
func (s *Payments) paidToken(ctx context.Context, p payment.State) (string, error) {
	target := p.Authorization().Target
	token, err := s.Secrets.CardToken(ctx, cardOf(p), target.Processor, target.MerchantID)
	if token != "" || p.Method.Processor == "" {
		return token, err
	}
	card, err := s.Secrets.Card(ctx, cardOf(p), p.CreatedAt)
	return card.Token, err
}

// forgetCardToken destroys a token that its processor does not know, or no longer.
func (s *Payments) forgetCardToken(ctx context.Context, p payment.State, revision uint64) {
	op, _ := p.Operation(revision)
	owner := secrets.PersonalKeyName(p.Account, p.CustomerID, p.Session)
	err := s.Secrets.ForgetCardToken(context.WithoutCancel(ctx), cardOf(p), owner, op.Target.Processor, op.Target.MerchantID)
	s.Logger.Info().AnErr("error", err).Str("payment", string(p.ID)).Str("processor", string(op.Target.Processor)).
		Msg("the processor does not know its token of the card; the next payment sends the card's number")
}

// removedText stands in the place of a secret.
const removedText = "(removed)"

// withoutSecret returns the answer without a secret in its texts for people and in its body.
func withoutSecret(a processor.Answer, secret string) processor.Answer {
	quoted, _ := json.Marshal(secret) // a text always encodes
	escaped := string(quoted[1 : len(quoted)-1])
	clean := func(text string) string { return without(without(text, secret), escaped) }
	a.Message = without(a.Message, secret)
	if raw := a.RawAnswer; raw != nil {
		body, additional := clean(raw.Body), clean(raw.Additional)
		if body != raw.Body || additional != raw.Additional {
			a.RawAnswer = &processor.RawAnswer{Body: body, Additional: additional, Sealed: raw.Sealed, Redacted: true, Cut: raw.Cut}
		}
	}
	return a
}

// shortestBeginning is the length of the shortest beginning of a secret that is removed.
const shortestBeginning = 6

// without removes a secret from a text, also its beginning at the end of the text, which may be cut
// there.
func without(text, secret string) string {
	text = strings.ReplaceAll(text, secret, removedText)
	for n := min(len(secret)-1, len(text)); n >= shortestBeginning; n-- {
		if strings.HasSuffix(text, secret[:n]) {
			return text[:len(text)-n] + removedText
		}
	}
	return text
}
