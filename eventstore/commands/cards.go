package commands

import (
	"payledger/domain/instrument"
	"payledger/domain/payment"
	"payledger/eventstore/secrets"
)

// spentQueue is how many cards may wait to be destroyed. The janitor destroys the others.
const spentQueue = 8192

// cardOf returns the reference of the card that pays.
func cardOf(p payment.State) secrets.CardRef {
	return secrets.CardRef{Account: p.Account, Token: p.Method.Token, TokenizedAt: p.Method.TokenizedAt}
}

// cardRef returns the reference of a token's card.
func cardRef(inst instrument.State) secrets.CardRef {
	return secrets.CardRef{Account: inst.Account, Token: inst.Token, TokenizedAt: inst.CreatedAt}
}

// discard queues a card that is no longer needed for destruction.
func (s *Service) discard(ref secrets.CardRef) {
	select {
	case s.spent <- ref:
	default:
	}
}

// destroyCards destroys queued cards outside the payments' calls. The janitor destroys those that a crash leaves.
func (s *Service) destroyCards() {
	for {
		select {
		case ref := <-s.spent:
			if err := s.Secrets.DestroyCard(s.ctx, ref, s.Store.Now(), s.CardNeeded); err != nil && s.ctx.Err() == nil {
				s.Logger.Warn().Err(err).Msg("card not destroyed; the janitor will")
			}
		case <-s.ctx.Done():
			return
		}
	}
}
