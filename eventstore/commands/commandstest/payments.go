package commandstest

import (
	"context"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/session"
	"payledger/eventstore"
	"payledger/eventstore/commands/payments"
	"payledger/eventstore/commands/service"
)

// Settle completes the pending operations at the processors.
func (r *Rig) Settle() {
	r.T.Helper()
	if _, err := r.Sim.Settle(context.Background()); err != nil {
		r.T.Fatal(err)
	}
}

// Pay makes a payment of 25.00 EUR with a card.
func (r *Rig) Pay(s *service.Service, number string) payment.State {
	r.T.Helper()
	made, err := s.CreatePayment(context.Background(), r.By, payments.PaymentInput{
		Token: r.TokenOf(s, number), Method: session.Method{AuthorizationType: "ESTIMATED"},
	})
	if err != nil {
		r.T.Fatal(err)
	}
	return made
}

// Payment reads a payment at the log.
func (r *Rig) Payment(id domain.PaymentID) payment.State {
	r.T.Helper()
	tip, err := eventstore.NewRepositories(r.Store).Payments.Load(context.Background(), r.By.Account, id, eventstore.Latest)
	if err != nil {
		r.T.Fatal(err)
	}
	return tip.State
}

// PayAgain pays with a vaulted token.
func (r *Rig) PayAgain(s *service.Service, token domain.Token) (payment.State, error) {
	return s.CreatePayment(context.Background(), r.By, payments.PaymentInput{
		Token: token, OrderID: "order-2", CustomerID: "customer-1", Currency: "EUR", Amount: Amount(700),
	})
}
