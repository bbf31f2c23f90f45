package payments_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore/commands"
	"payledger/eventstore/commands/commandstest"
)

// unfit is a processor that states another amount for captures than was requested.
type unfit struct {
	*counted
	wrong atomic.Bool
}

func (u *unfit) state(a *processor.Answer) {
	if u.wrong.Load() && a != nil && a.State != processor.Failed {
		a.Amount, a.Currency = new(domain.Amount(2501)), "EUR"
	}
}

func (u *unfit) Send(ctx context.Context, op processor.Operation) (processor.Answer, error) {
	a, err := u.counted.Send(ctx, op)
	if op.Kind == processor.Capture {
		u.state(&a)
	}
	return a, err
}

func (u *unfit) Lookup(ctx context.Context, name processor.Name, key domain.OperationKey) (processor.Lookup, error) {
	l, err := u.counted.Lookup(ctx, name, key)
	u.state(l.Answer)
	return l, err
}

// TestUnfitAnswer: an answer about another amount never becomes money, whether it is the first or a
// look-up's: the outcome stays unknown, and a look-up that fits ends that.
func TestUnfitAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	log := &commandstest.Logbook{}
	port := &unfit{counted: count(r.Sim)}
	known := &atomic.Bool{}
	known.Store(true)
	var told atomic.Int64
	s := r.InboxService(known, func(c *commands.Config) {
		c.Processors, c.Logger = port, zerolog.New(log)
		c.Unfit = func(name processor.Name, why string) {
			if told.Add(1); name != processor.Adyen || !strings.HasSuffix(why, ".3: it is about another amount") {
				t.Errorf("%s: %s", name, why)
			}
		}
	})
	p := r.Pay(s, commandstest.ApprovedCard)
	port.wrong.Store(true)
	answered := make(chan error, 1)
	go func() {
		_, err := s.Capture(background, r.By, p.ID, payment.Capture{Final: true})
		answered <- err
	}()
	capture := func() (op payment.Operation) {
		for _, op = range r.Payment(p.ID).Operations {
			if op.Kind == processor.Capture {
				return op
			}
		}
		return payment.Operation{}
	}
	r.Eventually("the processor is not asked again", func() bool {
		op := capture()
		return op.Revision > 0 && port.lookups(p.OperationKey(op.Revision)) >= 2
	})
	if op := capture(); !op.State.Open() || r.Payment(p.ID).Captured() != 0 {
		t.Errorf("the capture is %s, and %d are captured", op.State, r.Payment(p.ID).Captured())
	}
	if told.Load() < 2 || !log.Has(`"level":"error"`, string(p.ID), "another amount") {
		t.Error("nobody learns of it")
	}
	port.wrong.Store(false)
	r.Until(p.ID, "the capture", func(p payment.State) bool { return p.Captured() == 2500 })
	if err := <-answered; err != nil {
		t.Error(err)
	}
	if sent, keys := port.operations(); sent != 2 || keys != 2 {
		t.Errorf("%d operations under %d keys", sent, keys)
	}
	r.Audit(p.ID)
}
