package service

import (
	"payledger/eventstore/commands"
	"payledger/eventstore/commands/accounts"
	"payledger/eventstore/commands/approvals"
	"payledger/eventstore/commands/erasures"
	"payledger/eventstore/commands/instruments"
	"payledger/eventstore/commands/notifications"
	"payledger/eventstore/commands/payments"
	"payledger/eventstore/commands/sessions"
)

// Service has all services. It is safe for concurrent use.
type Service struct {
	*commands.Base
	*accounts.Accounts
	*sessions.Sessions
	*instruments.Instruments
	*payments.Payments
	*approvals.Approvals
	*notifications.Notifications
	*erasures.Erasures
}

// New returns running services. Close ends them.
func New(c commands.Config) *Service {
	s := &Service{Base: commands.NewBase(c)}
	s.Accounts = &accounts.Accounts{Base: s.Base}
	s.Sessions = &sessions.Sessions{Base: s.Base}
	s.Instruments = instruments.New(s.Base, s.Sessions)
	s.Payments = payments.New(s.Base, s.Sessions, s.Instruments)
	s.Approvals = &approvals.Approvals{Base: s.Base, Sessions: s.Sessions, Instruments: s.Instruments, Payments: s.Payments}
	s.Notifications = notifications.New(s.Base, s.Payments)
	s.Erasures = &erasures.Erasures{Base: s.Base, Instruments: s.Instruments}
	s.Payments.Start(s.Notifications.ApplyWaiting)
	return s
}
