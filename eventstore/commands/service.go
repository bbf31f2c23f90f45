package commands

import (
	"payledger/domain"
	"payledger/eventstore/secrets"
)

// Service carries out commands. It is safe for concurrent use.
type Service struct {
	*Base
	inFlight       inFlightOperations
	turns          *turns               // to change a payment
	spent          chan secrets.CardRef // cards to destroy
	pendingInboxes pendingInboxes       // notifications that wait
	sweeps         sweeps
	changed        func(domain.PaymentID)
}

// New returns a running Service. Close ends it.
func New(c Config) *Service {
	s := &Service{Base: NewBase(c), inFlight: newInFlightOperations(), turns: newTurns(), spent: make(chan secrets.CardRef, spentQueue)}
	s.changed = s.applyPendingOf
	s.Go(s.destroyCards)
	s.Go(s.keepAgenda)
	return s
}
