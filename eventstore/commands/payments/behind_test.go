package payments_test

import (
	"sync/atomic"
	"testing"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore/commands"
	"payledger/eventstore/commands/commandstest"
	"payledger/eventstore/commands/service"
)

// TestCapturedBehindTheEnd checks that an amount that was captured out of band is known before a
// success that releases the rest of the authorization ends the payment, and can be refunded (§6.3,
// D7).
func TestCapturedBehindTheEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.Service(nil)
	there := func(kind processor.Kind, amount domain.Amount) func(domain.PaymentID) error {
		return func(id domain.PaymentID) error {
			_, err := r.Sim.Act(background, kind, id, commandstest.Amount(amount))
			return err
		}
	}
	capture := func(amount domain.Amount, final bool) func(domain.PaymentID) error {
		return func(id domain.PaymentID) error {
			_, err := s.Capture(background, r.By, id, payment.Capture{Amount: commandstest.Amount(amount), Final: final})
			return err
		}
	}
	cancel := func(id domain.PaymentID) error {
		_, err := s.Cancel(background, r.By, id, payment.Cancel{})
		return err
	}
	for name, c := range map[string]struct {
		steps              []func(domain.PaymentID) error
		captured, refunded domain.Amount
	}{
		"cancel":                               {[]func(domain.PaymentID) error{there(processor.Capture, 300), cancel}, 300, 0},
		"cancel after a capture here":          {[]func(domain.PaymentID) error{there(processor.Capture, 300), capture(200, false), cancel}, 500, 0},
		"cancel after a refund there":          {[]func(domain.PaymentID) error{there(processor.Capture, 300), there(processor.Refund, 100), cancel}, 300, 100},
		"last capture of a part":               {[]func(domain.PaymentID) error{there(processor.Capture, 300), capture(500, true)}, 800, 0},
		"last capture, and captured in parts":  {[]func(domain.PaymentID) error{capture(400, false), there(processor.Capture, 300), there(processor.Capture, 200), capture(500, true)}, 1400, 0},
		"last capture of what is left, refund": {[]func(domain.PaymentID) error{capture(400, false), there(processor.Refund, 100), capture(2100, true), cancel}, 2500, 100},
	} {
		t.Run(name, func(t *testing.T) {
			r := r.with(t)
			id := r.Pay(s, commandstest.ApprovedCard).ID
			for _, step := range c.steps {
				if err := step(id); err != nil && domain.ReasonOf(err) != domain.ReasonInvalidPaymentStatus {
					t.Fatal(err)
				}
			}
			p := r.Payment(id)
			if p.Status() != payment.StatusSettled || p.Captured() != c.captured || p.Refunded() != c.refunded {
				t.Errorf("%s, %d captured, %d refunded", p.Status(), p.Captured(), p.Refunded())
			}
			r.Audit(id)
			if p, err := s.Refund(background, r.By, id, payment.Refund{}); err != nil || p.Refunded() != c.captured {
				t.Errorf("%d of %d refunded: %v", p.Refunded(), c.captured, err)
			}
			r.Audit(id)
		})
	}
}

// hidden is a payment that was cancelled while the processor's books did not show a capture of 3.00
// EUR there. They show it from now on.
func (r *rig) hidden() (*service.Service, payment.State) {
	r.T.Helper()
	known, hide := &atomic.Bool{}, &atomic.Bool{}
	known.Store(true)
	hide.Store(true)
	s := r.InboxService(known, func(c *commands.Config) {
		c.Processors = oddBooks{r.Sim, func(all []processor.Record) ([]processor.Record, error) {
			if hide.Load() {
				return nil, nil
			}
			return all, nil
		}}
	})
	p := r.Pay(s, commandstest.ApprovedCard)
	if _, err := r.Sim.Act(background, processor.Capture, p.ID, commandstest.Amount(300)); err != nil {
		r.T.Fatal(err)
	}
	p, err := s.Cancel(background, r.By, p.ID, payment.Cancel{})
	commandstest.HasStatus(r.T, p, err, payment.StatusCancelled)
	hide.Store(false)
	return s, p
}

// TestCaptureAppearsLate checks that a capture that appears in the processor's books after the
// payment was cancelled is recorded before a refund is refused (D7).
func TestCaptureAppearsLate(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s, p := r.hidden()
	p, err := s.Refund(background, r.By, p.ID, payment.Refund{Amount: commandstest.Amount(200)})
	commandstest.HasStatus(t, p, err, payment.StatusSettled)
	if p.Captured() != 300 || p.Refunded() != 200 {
		t.Errorf("%d captured, %d refunded", p.Captured(), p.Refunded())
	}
	r.Audit(p.ID)
	p, err = s.Cancel(background, r.By, r.Pay(s, commandstest.ApprovedCard).ID, payment.Cancel{})
	commandstest.HasStatus(t, p, err, payment.StatusCancelled)
	_, err = s.Refund(background, r.By, p.ID, payment.Refund{})
	commandstest.Refused(t, err, domain.ReasonInvalidPaymentStatus)
}
