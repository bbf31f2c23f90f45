package payments_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore/commands"
	"payledger/eventstore/commands/commandstest"
	"payledger/eventstore/commands/service"
	"payledger/processorsim/adapter"
)

// unstated is a processor whose answers do not state what they are about.
type unstated struct{ *adapter.Adapter }

func (unstated) strip(a *processor.Answer) {
	if a != nil {
		a.Kind, a.Amount, a.Currency, a.Reference = "", nil, "", ""
	}
}

func (u unstated) Send(ctx context.Context, op processor.Operation) (processor.Answer, error) {
	a, err := u.Adapter.Send(ctx, op)
	u.strip(&a)
	return a, err
}

func (u unstated) Lookup(ctx context.Context, name processor.Name, key domain.OperationKey) (processor.Lookup, error) {
	l, err := u.Adapter.Lookup(ctx, name, key)
	u.strip(l.Answer)
	return l, err
}

func (u unstated) ByReference(ctx context.Context, name processor.Name, reference domain.PaymentID) ([]processor.Record, error) {
	records, err := u.Adapter.ByReference(ctx, name, reference)
	for i := range records {
		u.strip(&records[i].Answer)
	}
	return records, err
}

// restored is a ledger after a restore from a back-up: the processor knows operations that the log
// does not have.
type restored struct {
	*rig
	*service.Service
	log, told commandstest.Logbook
}

// ways are the processors of these tests.
var ways = map[string]func(*adapter.Adapter) processor.Port{
	"answers that state their operation": func(a *adapter.Adapter) processor.Port { return a },
	"answers that state nothing":         func(a *adapter.Adapter) processor.Port { return unstated{a} },
}

func newRestored(t *testing.T, way func(*adapter.Adapter) processor.Port) *restored {
	r := &restored{rig: newRig(t)}
	known := &atomic.Bool{}
	known.Store(true)
	r.Service = r.InboxService(known, func(c *commands.Config) {
		c.Processors, c.Logger = way(r.Sim), zerolog.New(&r.log)
		c.Unfit = func(name processor.Name, why string) { _, _ = r.told.Write([]byte(string(name) + ": " + why + "\n")) }
	})
	return r
}

// lost carries out an operation at the processor whose events the log has lost.
func (r *restored) lost(p payment.State, revision uint64, kind processor.Kind, parent string, amount domain.Amount) processor.Answer {
	r.T.Helper()
	a, err := r.Sim.Send(background, processor.Operation{
		Kind: kind, Key: p.OperationKey(revision), Processor: p.Operations[0].Target.Processor, MerchantID: p.Operations[0].Target.MerchantID,
		Reference: p.ID, ParentID: parent, Amount: amount, Currency: p.Currency,
	})
	if err != nil || a.State != processor.Succeeded {
		r.T.Fatalf("%+v, %v", a, err)
	}
	return a
}

// doubted waits until operators have learned that the outcome of an operation does not fit, and
// checks that it has none.
func (r *restored) doubted(p payment.State, revision uint64, why string) payment.State {
	r.T.Helper()
	key := string(p.OperationKey(revision))
	r.Eventually("nobody learns of it", func() bool { return r.told.Has("ADYEN: ", key, why) && r.log.Has(`"level":"error"`, key, why) })
	if !r.log.Has(`"level":"error"`, key, "key was used for another operation") {
		r.T.Error("the refusal of the key is not shown")
	}
	now := r.Payment(p.ID)
	if op, _ := now.Operation(revision); !op.State.Open() {
		r.T.Errorf("the %s is %s", op.Kind, op.State)
	}
	return now
}

// TestRestoredVoid: the key of a cancellation is that of a capture that the log has lost. The
// capture's outcome is not that of the cancellation; it is recorded as found in the books.
func TestRestoredVoid(t *testing.T) {
	t.Parallel()
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRestored(t, way)
			p := r.Pay(r.Service, commandstest.ApprovedCard)
			r.lost(p, 3, processor.Capture, p.Operations[0].TransactionID, 2500)
			go func() { _, _ = r.Cancel(background, r.By, p.ID, payment.Cancel{}) }()
			r.Until(p.ID, "the lost capture", func(p payment.State) bool { return p.Captured() == 2500 })
			p = r.doubted(p, 3, "another operation")
			if found := slices.ContainsFunc(p.Operations, func(op payment.Operation) bool { return op.Kind == processor.Capture && op.OutOfBandID != "" }); !found {
				t.Errorf("%+v", p.Operations)
			}
		})
	}
}

// TestRestoredRefund: the key of a refund is that of another refund that the log has lost.
func TestRestoredRefund(t *testing.T) {
	t.Parallel()
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRestored(t, way)
			p := r.Pay(r.Service, commandstest.ApprovedCard)
			p, err := r.Capture(background, r.By, p.ID, payment.Capture{Final: true})
			commandstest.HasStatus(t, p, err, payment.StatusSettled)
			r.lost(p, 5, processor.Refund, p.Operations[0].TransactionID, 500)
			part := domain.Amount(200)
			go func() { _, _ = r.Refund(background, r.By, p.ID, payment.Refund{Amount: &part}) }()
			if p = r.doubted(p, 5, "another amount"); p.Refunded() != 0 {
				t.Errorf("%d are refunded", p.Refunded())
			}
		})
	}
}

// TestRestoredRepeat: an operation that the log has lost was found in the books. A later request
// has its key and its contents, so that the processor gives the answer of the lost one: nothing is
// booked twice.
func TestRestoredRepeat(t *testing.T) {
	t.Parallel()
	r := newRestored(t, ways["answers that state their operation"])
	p := r.Pay(r.Service, commandstest.ApprovedCard)
	lost := r.lost(p, 6, processor.Capture, p.Operations[0].TransactionID, 1000)
	part := domain.Amount(2000) // refused there: 15.00 EUR are left
	p, err := r.Capture(background, r.By, p.ID, payment.Capture{Amount: &part})
	if err != nil || p.Captured() != 1000 || p.Revision != 5 {
		t.Fatalf("%d are captured at revision %d, %v", p.Captured(), p.Revision, err)
	}
	part = 1000
	go func() { _, _ = r.Capture(background, r.By, p.ID, payment.Capture{Amount: &part}) }()
	key := string(p.OperationKey(6))
	r.Eventually("nobody learns of it", func() bool { return r.told.Has("ADYEN: ", key, "another transaction") })
	p = r.Payment(p.ID)
	if op, _ := p.Operation(6); !op.State.Open() || p.Captured() != 1000 || op.TransactionID == lost.ProcessorTransactionID {
		t.Errorf("the capture is %s, %d are captured", op.State, p.Captured())
	}
}
