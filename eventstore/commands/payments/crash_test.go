package payments_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore/commands/commandstest"
	"payledger/eventstore/commands/payments"
	"payledger/eventstore/eventstoretest"
)

// errCrash is where the process of a test ends.
var errCrash = errors.New("the process ended here")

// broken is a connection to the processors that ends the process at a stated point: before the
// operation is sent, or after it was performed and before its answer arrives. Until then it is
// real.
type broken struct {
	processor.Port
	after bool
	hit   chan struct{}
	sent  atomic.Int32
}

func (b *broken) Send(ctx context.Context, op processor.Operation) (processor.Answer, error) {
	if b.sent.Add(1) > 1 {
		return processor.Answer{}, errors.Join(processor.ErrUnknown, errCrash)
	}
	if b.after {
		if _, err := b.Port.Send(ctx, op); err != nil {
			return processor.Answer{}, err
		}
	}
	close(b.hit)
	<-ctx.Done() // the process is being killed
	return processor.Answer{}, errors.Join(processor.ErrUnknown, errCrash)
}

func (b *broken) Lookup(context.Context, processor.Name, domain.OperationKey) (processor.Lookup, error) {
	return processor.Lookup{}, errors.Join(processor.ErrUnknown, errCrash)
}

// TestNeverSeenInTime: an operation that never reached the processor, found when the payment
// timeout is over, is fenced and recorded as failed; a late arrival is refused (D8).
func TestNeverSeenInTime(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	port := &broken{Port: r.Sim, hit: make(chan struct{})}
	dying := r.Service(port)
	token := r.Token(dying)
	id := domain.PaymentIDForKey(r.By.Account, "key-1")
	go dying.CreatePayment(context.Background(), r.By, payments.PaymentInput{Token: token, IdempotencyKey: "key-1"}) // it dies
	<-port.hit
	dying.Close()
	r.Ahead.Store(int64(2 * commandstest.PaymentTimeout))
	next := r.Service(nil)
	if err := next.Recover(context.Background(), r.By.Account, id); err != nil {
		t.Fatal(err)
	}
	p := r.Settled(id)
	if p.Status() != payment.StatusFailed || p.StatusReason().Type != domain.GatewayTimeout || r.Operations(id) != 0 {
		t.Fatalf("ended as %s %+v with %d operations", p.Status(), p.StatusReason(), r.Operations(id))
	}
	late, err := r.Sim.Send(context.Background(), processor.Operation{
		Kind: processor.Authorize, Key: p.OperationKey(1), Processor: processor.Adyen, MerchantID: p.Route[0].MerchantID,
		Reference: id, Amount: p.Amount, Currency: p.Currency,
		Card: &processor.Card{Number: "4111111111111111", CVV: "737", ExpirationMonth: "03", ExpirationYear: "2099"},
	})
	if err != nil || late.State != processor.Failed {
		t.Fatalf("the late arrival got %+v %v", late, err)
	}
}

// TestCardIsDestroyed checks that a card is unreadable soon after the outcome is known, and that a
// card that is still needed stays readable, also if the clock is set back meanwhile.
func TestCardIsDestroyed(t *testing.T) {
	t.Parallel()
	for _, later := range []time.Duration{3 * time.Minute, -25 * time.Hour, -72 * time.Hour} {
		t.Run(later.String(), func(t *testing.T) { cardIsDestroyed(t, later) })
	}
}

func cardIsDestroyed(t *testing.T, later time.Duration) {
	t.Parallel()
	r := newRig(t)
	r.Ahead.Store(int64(72 * time.Hour))
	s := r.Service(nil)
	spent, waiting := r.Token(s), r.Token(s)
	if _, err := s.CreatePayment(context.Background(), r.By, payments.PaymentInput{Token: spent}); err != nil {
		t.Fatal(err)
	}
	r.Ahead.Add(int64(later))
	needed := func(_ context.Context, _ domain.AccountID, token domain.Token, expires time.Time) (until time.Time, err error) {
		if token == waiting {
			until = expires
		}
		return until, nil
	}
	if n, err := eventstoretest.CleanCards(context.Background(), r.Vault, r.Store.Now(), needed); err != nil || n != 1 {
		t.Fatalf("%d cards destroyed: %v", n, err)
	}
	paid, err := s.CreatePayment(context.Background(), r.By, payments.PaymentInput{Token: waiting})
	if err != nil || paid.Status() != payment.StatusAuthorized {
		t.Fatalf("the waiting card paid %s: %v", paid.Status(), err)
	}
	if n, err := eventstoretest.CleanCards(context.Background(), r.Vault, r.Store.Now().Add(3*time.Minute), func(context.Context, domain.AccountID, domain.Token, time.Time) (time.Time, error) {
		return time.Time{}, nil
	}); err != nil || n > 1 {
		t.Fatalf("%d cards destroyed: %v", n, err)
	}
}
