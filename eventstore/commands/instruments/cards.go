package instruments

import (
	"payledger/domain/instrument"
	"payledger/eventstore/commands"
	"payledger/eventstore/commands/sessions"
	"payledger/eventstore/secrets"
)

// queueLength is how many cards may wait to be destroyed. The cleaner destroys the others.
const queueLength = 8192

// Instruments carries out the commands of tokens and vaulted cards.
type Instruments struct {
	*commands.Base
	sessions  *sessions.Sessions
	locks     locks // of saving
	discarded chan secrets.CardRef
	left      leftCards
}

// New returns the commands of instruments.
func New(b *commands.Base, s *sessions.Sessions) *Instruments {
	return &Instruments{Base: b, sessions: s, discarded: make(chan secrets.CardRef, queueLength)}
}

// CardRef returns the reference of a token's card.
func CardRef(inst instrument.State) secrets.CardRef {
	return secrets.CardRef{Account: inst.Account, Token: inst.Token, TokenizedAt: inst.CreatedAt}
}

// Discard queues a card that is no longer needed for destruction.
func (s *Instruments) Discard(ref secrets.CardRef) {
	select {
	case s.discarded <- ref:
	default:
	}
}

// Discarded returns the queue of Discard.
func (s *Instruments) Discarded() <-chan secrets.CardRef { return s.discarded }
