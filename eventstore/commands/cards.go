package commands

import (
	"payledger/domain/instrument"
	"payledger/eventstore/secrets"
)

// spentQueue is how many cards may wait to be destroyed. The janitor destroys the others.
const spentQueue = 8192

// CardRef returns the reference of a token's card.
func CardRef(inst instrument.State) secrets.CardRef {
	return secrets.CardRef{Account: inst.Account, Token: inst.Token, TokenizedAt: inst.CreatedAt}
}

// Discard queues a card that is no longer needed for destruction.
func (s *Service) Discard(ref secrets.CardRef) {
	select {
	case s.spent <- ref:
	default:
	}
}

// Discarded returns the queue of Discard.
func (s *Service) Discarded() <-chan secrets.CardRef { return s.spent }
