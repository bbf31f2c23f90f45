package payments_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/domain/workflow"
	"payledger/eventstore/commands/commandstest"
	"payledger/eventstore/commands/payments"
	"payledger/eventstore/commands/service"
	"payledger/eventstore/due"
)

// faultyVoid is a way to the processors that answers the first void with a passing fault.
type faultyVoid struct {
	processor.Port
	met atomic.Bool
}

func (f *faultyVoid) Send(ctx context.Context, op processor.Operation) (processor.Answer, error) {
	if op.Kind != processor.Void || f.met.Swap(true) {
		return f.Port.Send(ctx, op)
	}
	return processor.Answer{State: processor.Failed, At: time.Now().UTC(), Code: processor.CodeFault, Retryable: true}, nil
}

// TestWorkflowCancelsAgain: the void of a workflow's cancel meets a fault while the payment is
// pending, whether or not it was intended first. The action has no outcome until the payment has
// one, and then that of the void that followed the approval (D7, D19).
func TestWorkflowCancelsAgain(t *testing.T) {
	t.Parallel()
	const pendingCard = "4000000000003220"
	for name, made := range map[string]func(*rig, *service.Service) domain.PaymentID{
		"requested": func(r *rig, s *service.Service) domain.PaymentID { return r.Pay(s, pendingCard).ID },
		"intended": func(r *rig, s *service.Service) domain.PaymentID {
			return r.leftAs(s, pendingCard, false, processor.Adyen)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			s := r.Service(&faultyVoid{Port: r.Sim})
			id := made(r, s)
			recovered := func() {
				if err := s.Recover(background, r.By.Account, id); err != nil {
					t.Error(err)
				}
			}
			cancel := workflow.Action{Type: workflow.Cancel}
			if first, err := s.RunWorkflowOperation(background, r.By, id, cancel, "key"); err != nil || first.Known {
				t.Errorf("%+v, %v", first, err)
			}
			recovered()
			r.Until(id, "a void that failed", func(p payment.State) bool {
				return p.NewestRequest().Kind == processor.Void && p.NewestRequest().State == payment.StateFailed
			})
			if again, err := s.RunWorkflowOperation(background, r.By, id, cancel, "key"); err != nil || again.Known {
				t.Errorf("while the payment is pending: %+v, %v", again, err)
			}
			r.Settle()
			recovered()
			p := r.Until(id, "cancelled", func(p payment.State) bool { return p.Status() == payment.StatusCancelled })
			want := p.OperationKey(p.NewestRequest().Revision)
			if last, err := s.RunWorkflowOperation(background, r.By, id, cancel, "key"); err != nil || !last.Known || !last.Succeeded || last.Operation != want {
				t.Errorf("%+v, %v, not %s", last, err, want)
			}
		})
	}
}

// calls is a way to the processors that counts the calls.
type calls struct {
	processor.Port
	n atomic.Int32
}

func (c *calls) Send(ctx context.Context, op processor.Operation) (processor.Answer, error) {
	c.n.Add(1)
	return c.Port.Send(ctx, op)
}

func (c *calls) Lookup(ctx context.Context, name processor.Name, key domain.OperationKey) (processor.Lookup, error) {
	c.n.Add(1)
	return c.Port.Lookup(ctx, name, key)
}

// TestWorkflowWaitEnds: a node ends after it has recorded a workflow's cancel. As long as the
// caller has time, the void is looked up and sent; after that the outcome is unknown, without a
// call (D19).
func TestWorkflowWaitEnds(t *testing.T) {
	t.Parallel()
	r := newCluster(t)
	port := &calls{Port: r.Sim}
	s := r.Service(port)
	id := r.Pay(s, commandstest.ApprovedCard).ID
	r.Dies("payment.void_requested", commandstest.CrashAfter, func(n *commandstest.Node) error {
		_, err := n.RunWorkflowOperation(n.Ctx, r.By, id, workflow.Action{Type: workflow.Cancel}, "key")
		return err
	})
	before := port.n.Load()
	none, made, err := payments.OutcomeOfKey(s.Payments, background, r.By, id, "key", due.In(r.Store.Now(), 0))
	if err != nil || !made || none.Known || port.n.Load() != before {
		t.Errorf("without time: %+v, %t, %v, after %d calls", none, made, err, port.n.Load()-before)
	}
	found, made, err := payments.OutcomeOfKey(s.Payments, background, r.By, id, "key", due.In(r.Store.Now(), time.Hour))
	if err != nil || !made || !found.Succeeded || port.n.Load() == before {
		t.Errorf("with time: %+v, %t, %v", found, made, err)
	}
}

// TestWorkflowCancelsApproved: the processor refuses the void of a workflow's cancel before it
// approves, and the ledger learns of that after the approval. The void is sent again, and the run
// has the outcome of that one (D5.8, D7, D19).
func TestWorkflowCancelsApproved(t *testing.T) {
	t.Parallel()
	for _, automatic := range []bool{false, true} {
		r := newCluster(t)
		early := &earlyRefusal{Port: r.Sim}
		s := r.Service(early)
		id := r.leftAs(s, "4000000000003220", automatic, processor.Adyen)
		recovered := func() {
			if err := s.Recover(background, r.By.Account, id); err != nil {
				t.Error(err)
			}
		}
		recovered()
		early.approve = func() {
			r.Settle()
			recovered()
			r.Until(id, "approved", func(p payment.State) bool { return p.Status() == payment.StatusAuthorized })
		}
		got, err := s.RunWorkflowOperation(background, r.By, id, workflow.Action{Type: workflow.Cancel}, "key")
		p := r.Until(id, "its end", commandstest.Finished)
		if want := p.OperationKey(p.NewestRequest().Revision); err != nil || !got.Succeeded || got.Operation != want || p.Status() != payment.StatusCancelled {
			t.Errorf("%s, %+v, %v, not %s", p.Status(), got, err, want)
		}
	}
}

// earlyRefusal is a way to the processors that refuses the first void, and loses the approval until
// approve has recorded it.
type earlyRefusal struct {
	processor.Port
	met     atomic.Bool
	approve func()
}

func (e *earlyRefusal) Send(ctx context.Context, op processor.Operation) (processor.Answer, error) {
	if op.Kind != processor.Void || e.met.Swap(true) {
		return e.Port.Send(ctx, op)
	}
	e.approve()
	return processor.Answer{State: processor.Failed, At: time.Now().UTC(), Code: "not_authorized", Message: "nothing to release yet"}, nil
}
