package commandstest

import (
	"context"
	"time"

	"payledger/domain"
	"payledger/domain/instrument"
	"payledger/domain/processor"
	"payledger/domain/session"
	"payledger/eventstore"
	"payledger/eventstore/commands/instruments"
	"payledger/eventstore/commands/service"
	"payledger/eventstore/commands/sessions"
	"payledger/eventstore/eventstoretest"
)

// Cards of the simulator's table (D13).
const (
	ApprovedCard  = "4111111111111111" // every processor approves it
	ChallengeCard = "4916994064252017" // it requires an action of the customer
	FallbackCard  = "4000000000005266" // the first processor fails, the second one approves it
)

// Opened opens a session for 25.00 EUR with more fields.
func (r *Rig) Opened(s *service.Service, fields session.Fields) session.State {
	r.T.Helper()
	fields.OrderID, fields.Currency, fields.Amount = "order-1", "EUR", Amount(2500)
	id, err := eventstore.NewUUID(s.Random)
	if err != nil {
		r.T.Fatal(err)
	}
	opened, err := s.CreateSession(context.Background(), r.By, domain.SessionID(id), sessions.SessionInput{Fields: fields})
	if err != nil {
		r.T.Fatal(err)
	}
	return opened
}

// TokenIn enters a card in a session.
func (r *Rig) TokenIn(s *service.Service, from session.State, number string) domain.Token {
	r.T.Helper()
	return r.EnteredIn(s, from, number, false)
}

// EnteredIn enters a card in a session, to be vaulted at once or not.
func (r *Rig) EnteredIn(s *service.Service, from session.State, number string, vault bool) domain.Token {
	r.T.Helper()
	made, err := s.Tokenize(context.Background(), r.By, instruments.TokenizeInput{Session: from.ID, Vault: vault, Card: processor.Card{
		Number: number, CVV: "737", ExpirationMonth: "03", ExpirationYear: "2099", CardholderName: "Ada Lovelace",
	}})
	if err != nil {
		r.T.Fatal(err)
	}
	r.Customers.Add(made.Token)
	return made.Token
}

// Claims records that the payment uses the token, as the first step of its creation does.
func (r *Rig) Claims(token domain.Token, id domain.PaymentID) {
	r.T.Helper()
	meta, err := r.Store.NewMeta("test", "request")
	if err != nil {
		r.T.Fatal(err)
	}
	_, err = eventstore.NewRepositories(r.Store).Instruments.Execute(context.Background(), r.By.Account, token, meta,
		func(s instrument.State) (instrument.Event, error) {
			return instrument.DecideUse(s, instrument.Use{At: meta.At, Payment: id})
		})
	if err != nil || r.Instrument(token).UsedBy != id {
		r.T.Fatal("not claimed", err)
	}
}

// Token opens a session and tokenizes an approved card in it.
func (r *Rig) Token(s *service.Service) domain.Token { return r.TokenOf(s, ApprovedCard) }

// TokenOf opens a session for 25.00 EUR and tokenizes a card in it.
func (r *Rig) TokenOf(s *service.Service, number string) domain.Token {
	r.T.Helper()
	amount := domain.Amount(2500)
	id, err := eventstore.NewUUID(s.Random)
	if err != nil {
		r.T.Fatal(err)
	}
	opened, err := s.CreateSession(context.Background(), r.By, domain.SessionID(id), sessions.SessionInput{
		Fields: session.Fields{OrderID: "order-1", Currency: "EUR", Amount: &amount},
	})
	if err != nil {
		r.T.Fatal(err)
	}
	made, err := s.Tokenize(context.Background(), r.By, instruments.TokenizeInput{Session: opened.ID, Card: processor.Card{
		Number: number, CVV: "737", ExpirationMonth: "03", ExpirationYear: "2099", CardholderName: "Ada Lovelace",
	}})
	if err != nil {
		r.T.Fatal(err)
	}
	return made.Token
}

// Instrument reads a token as this process knows it.
func (r *Rig) Instrument(token domain.Token) instrument.State {
	r.T.Helper()
	tip, err := eventstore.NewRepositories(r.Store).Instruments.Load(context.Background(), r.By.Account, token, eventstore.Applied)
	if err != nil {
		r.T.Fatal(err)
	}
	return tip.State
}

// Cleaned runs the cleaner late enough for every card of now.
func (r *Rig) Cleaned(s *service.Service) {
	r.T.Helper()
	for shard := range s.Store.Shards() { // a node that is behind completes no vaulting
		if _, err := s.Store.LastSeq(context.Background(), shard); err != nil {
			r.T.Fatal(err)
		}
	}
	_, err := eventstoretest.CleanCards(context.Background(), r.Vault, r.Store.Now().Add(3*time.Minute), s.CardNeeded)
	if err != nil {
		r.T.Fatal(err)
	}
}
