package payments_test

import (
	"context"
	"sync/atomic"
	"testing"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore/commands/commandstest"
	"payledger/processorsim/adapter"
)

// swapping is a processor whose look-ups and list name another transaction for operations that have
// an outcome.
type swapping struct {
	*adapter.Adapter
	on *atomic.Bool
}

func (s swapping) swap(a *processor.Answer) {
	if s.on.Load() && a != nil && a.State == processor.Succeeded {
		a.ProcessorTransactionID = "adyen_other"
	}
}

func (s swapping) Lookup(ctx context.Context, name processor.Name, key domain.OperationKey) (processor.Lookup, error) {
	l, err := s.Adapter.Lookup(ctx, name, key)
	s.swap(l.Answer)
	return l, err
}

func (s swapping) ByReference(ctx context.Context, name processor.Name, reference domain.PaymentID) ([]processor.Record, error) {
	records, err := s.Adapter.ByReference(ctx, name, reference)
	for i := range records {
		s.swap(&records[i].Answer)
	}
	return records, err
}

// TestOtherTransaction: a look-up, or the list of the payment, that names another transaction for a
// pending operation has no outcome of it: the next operation would affect the other transaction.
func TestOtherTransaction(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		card, event string
		begin       func(*testing.T, *restored, payment.State) payment.State
	}{
		"capture": {cardConfirmsLater, "the capture", func(t *testing.T, r *restored, p payment.State) payment.State {
			p, err := r.Capture(background, r.By, p.ID, payment.Capture{Amount: commandstest.Amount(1000)})
			commandstest.HasStatus(t, p, err, payment.StatusSettling)
			return p
		}},
		"authorization": {"4000000000003220", "the authorization", func(_ *testing.T, _ *restored, p payment.State) payment.State { return p }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			on := &atomic.Bool{}
			r := newRestored(t, func(a *adapter.Adapter) processor.Port { return swapping{a, on} })
			p := c.begin(t, r, r.Pay(r.Service, c.card))
			op := p.NewestRequest()
			if op.State != payment.StatePending {
				t.Fatalf("the %s is %s", op.Kind, op.State)
			}
			on.Store(true)
			r.Settle()
			key := string(p.OperationKey(op.Revision))
			r.Eventually("nobody learns of it", func() bool { return r.told.Has("ADYEN: ", key, "another transaction") })
			if op.Kind == processor.Capture { // the list is read before a void's success
				_, _ = r.Cancel(background, r.By, p.ID, payment.Cancel{})
			}
			if now, _ := r.Payment(p.ID).Operation(op.Revision); now.State != payment.StatePending || now.TransactionID != op.TransactionID {
				t.Errorf("the %s is %s, transaction %s", op.Kind, now.State, now.TransactionID)
			}
			on.Store(false)
			r.Until(p.ID, c.event, func(p payment.State) bool {
				now, _ := p.Operation(op.Revision)
				return now.State == payment.StateSucceeded && now.TransactionID == op.TransactionID
			})
		})
	}
}
