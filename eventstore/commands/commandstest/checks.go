package commandstest

import (
	"context"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/processorsim/adapter"
)

// Came waits for a signal, and reports whether it came in two minutes.
func Came(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	case <-time.After(2 * time.Minute):
		return false
	}
}

// CloseOnce closes a channel that one goroutine alone closes, unless it did.
func CloseOnce(c chan struct{}) {
	select {
	case <-c:
	default:
		close(c)
	}
}

// Finished reports whether the payment has no open operation.
func Finished(p payment.State) bool {
	for _, op := range p.Operations {
		if op.State.Open() {
			return false
		}
	}
	return p.Exists()
}

// Eventually waits until is reports true.
func (r *Rig) Eventually(what string, is func() bool) {
	r.T.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(2 * time.Minute); !is(); <-tick.C {
		if time.Now().After(deadline) {
			r.T.Fatal(what)
		}
	}
}

// Amount returns a pointer to an amount.
func Amount(a domain.Amount) *domain.Amount { return &a }

// HasStatus fails the test unless the payment has the status.
func HasStatus(t *testing.T, p payment.State, err error, want payment.Status) {
	t.Helper()
	if err != nil || p.Status() != want {
		t.Fatalf("%s (%+v), want %s: %v", p.Status(), p.StatusReason(), want, err)
	}
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
}

// Refused fails the test unless err has the reason.
func Refused(t *testing.T, err error, want domain.Reason) {
	t.Helper()
	if domain.ReasonOf(err) != want {
		t.Fatalf("%v, want %s", err, want)
	}
}

// Until waits until the payment has reached a state, and returns it.
func (r *Rig) Until(id domain.PaymentID, what string, reached func(payment.State) bool) payment.State {
	r.T.Helper()
	tick := time.NewTicker(20 * time.Millisecond) // each look takes a turn among those who write
	defer tick.Stop()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); <-tick.C {
		if p := r.Payment(id); reached(p) {
			return p
		}
	}
	r.T.Fatalf("payment %s never got to %s", id, what)
	return payment.State{}
}

// Settled waits until the payment has its outcome.
func (r *Rig) Settled(id domain.PaymentID) payment.State {
	r.T.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); <-tick.C {
		if p := r.Payment(id); p.Exists() && p.Status() != payment.StatusPending {
			return p
		}
	}
	r.T.Fatalf("payment %s has no outcome", id)
	return payment.State{}
}

// Operations counts the payment's operations in the processors' books.
func (r *Rig) Operations(id domain.PaymentID) int {
	r.T.Helper()
	lines, err := r.Sim.Books(context.Background(), adapter.Filter{Reference: id})
	if err != nil {
		r.T.Fatal(err)
	}
	return len(lines)
}

// Audit compares a payment with the processors' books.
func (r *Rig) Audit(id domain.PaymentID) {
	r.T.Helper()
	lines, err := r.Sim.Books(context.Background(), adapter.Filter{Reference: id})
	if err == nil {
		err = Audit(r.Payment(id), lines)
	}
	if err != nil {
		r.T.Error(err)
	}
}
