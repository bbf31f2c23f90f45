package commandstest

import (
	"context"
	"payledger/domain"
	"payledger/domain/attempt"
	"payledger/domain/session"
	"payledger/eventstore"
	"payledger/eventstore/commands/approvals"
	"payledger/eventstore/commands/instruments"
	"payledger/eventstore/commands/service"
)

// Impossible makes a recorded approval whose token belongs to another customer afterwards.
func (r *Rig) Impossible(s *service.Service) attempt.State {
	r.T.Helper()
	a := r.Asked(s)
	if _, err := s.VaultInstrument(context.Background(), r.By, instruments.VaultInput{Token: a.Token, CustomerID: "customer-9"}); err != nil {
		r.T.Fatal(err)
	}
	meta, err := r.Store.NewMeta("test", "request")
	if err != nil {
		r.T.Fatal(err)
	}
	tip, err := eventstore.NewRepositories(r.Store).Attempts.Execute(context.Background(), r.By.Account, a.ID, meta,
		func(state attempt.State) (attempt.Event, error) {
			return attempt.DecideApprove(state, attempt.Approve{At: meta.At, Payment: domain.PaymentIDForAttempt(r.By.Account, a.ID), Terms: 2})
		})
	if err != nil {
		r.T.Fatal(err)
	}
	return tip.State
}

// Manual opens a MANUAL session for 25.00 EUR.
func (r *Rig) Manual(s *service.Service) session.State {
	r.T.Helper()
	return r.Opened(s, session.Fields{ApprovalMode: session.ApprovalManual})
}

// Asked makes a waiting attempt.
func (r *Rig) Asked(s *service.Service) attempt.State {
	r.T.Helper()
	from := r.Manual(s)
	made, err := s.StartAttempt(context.Background(), r.By, approvals.AttemptInput{Session: from.ID, Token: r.TokenIn(s, from, ApprovedCard)})
	if err != nil {
		r.T.Fatal(err)
	}
	return made
}
