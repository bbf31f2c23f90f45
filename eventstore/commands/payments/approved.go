package payments

import (
	"context"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/process"
	"payledger/domain/session"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/due"
)

// Approval is the approval of a payment attempt. Later changes of session and token do not count.
type Approval struct {
	Payment domain.PaymentID // derived from the attempt
	Token   domain.Token
	Shown   *domain.Price // the price that the customer saw; nil: unknown
	At      time.Time
	Session session.State
}

func (a Approval) creation() *creation {
	return &creation{PaymentInput: PaymentInput{Token: a.Token, Session: a.Session.ID, Shown: a.Shown}, id: a.Payment, approval: &a}
}

// CheckToken refuses an approval whose token cannot pay in its session.
func (s *Payments) CheckToken(ctx context.Context, account domain.AccountID, a Approval) error {
	c := a.creation()
	_, _, err := s.payWith(ctx, account, c)
	return s.addEarlierPayment(ctx, account, c, err)
}

// CheckApproved refuses an approval whose payment could not be created now. It records nothing.
func (s *Payments) CheckApproved(ctx context.Context, by commands.Caller, a Approval) error {
	c := a.creation()
	_, err := s.assemble(ctx, by, c)
	return s.addEarlierPayment(ctx, by.Account, c, err)
}

// CreateApproved creates the payment of an approval. If another call created it, CreateApproved
// returns it.
func (s *Payments) CreateApproved(ctx context.Context, by commands.Caller, a Approval) (eventstore.Tip[payment.State], error) {
	return s.createRecord(ctx, by, a.creation())
}

// Continue starts or joins the open operations of a payment. await waits for their answers, at most
// until the deadline.
func (s *Payments) Continue(tip eventstore.Tip[payment.State]) (await func(ctx context.Context, deadline due.Time)) {
	var operations []*operationInFlight
	for _, op := range process.Open(tip.State) {
		operations = append(operations, s.launch(tip, op.Revision, tip.Appended && op.State == payment.StateRequested))
	}
	return func(ctx context.Context, deadline due.Time) {
		for _, f := range operations {
			s.await(ctx, f, deadline)
		}
	}
}
