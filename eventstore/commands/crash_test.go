package commands_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/instrument"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/commands"
)

// errCrash is where the process of a test ends.
var errCrash = errors.New("the process ended here")

// broken is a way to the processors that ends the process at a stated point: before the operation leaves,
// or after it was performed and before its answer is back. What it does until then is real.
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

// TestCrash ends the process between any two steps of a payment that have an effect; the next process, or
// a repeat of the request, brings it to one outcome with one operation (D8, D9).
func TestCrash(t *testing.T) {
	in := func(token domain.Token) commands.PaymentInput {
		return commands.PaymentInput{Token: token, IdempotencyKey: "key-1"}
	}
	t.Run("after the token was claimed", func(t *testing.T) {
		r := newRig(t)
		s := r.service(nil)
		token := r.token(s)
		id := domain.PaymentIDForKey(r.by.Account, "key-1")
		r.claim(token, id)
		paid, err := s.CreatePayment(context.Background(), r.by, in(token)) // the repeat completes the claim
		if err != nil || paid.ID != id || paid.Status() != payment.StatusAuthorized || r.operations(id) != 1 {
			t.Fatalf("%+v %v", paid, err)
		}
	})
	for name, after := range map[string]bool{"before the processor was called": false, "before the answer was recorded": true} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			port := &broken{Port: r.sim, after: after, hit: make(chan struct{})}
			dying := r.service(port)
			token := r.token(dying)
			id := domain.PaymentIDForKey(r.by.Account, "key-1")
			gone := make(chan struct{})
			go func() {
				defer close(gone)
				dying.CreatePayment(context.Background(), r.by, in(token)) // nobody is there to hear it
			}()
			<-port.hit
			dying.Close()
			<-gone
			if p := r.payment(id); p.Status() != payment.StatusPending {
				t.Fatalf("the dead process left %s", p.Status())
			}
			next := r.service(nil)
			if err := next.Recover(context.Background(), r.by.Account, id); err != nil {
				t.Fatal(err)
			}
			if p := r.settled(id); p.Status() != payment.StatusAuthorized || r.operations(id) != 1 {
				t.Fatalf("recovered to %s with %d operations", p.Status(), r.operations(id))
			}
			r.refusesRepeat(next, in(token), id)
		})
	}
}

// claim records that the payment uses the token, as the first step of its creation does.
func (r *rig) claim(token domain.Token, id domain.PaymentID) {
	r.t.Helper()
	meta, err := r.store.NewMeta("test", "request")
	if err != nil {
		r.t.Fatal(err)
	}
	_, err = eventstore.Execute(context.Background(), r.store, eventstore.Instruments, eventstore.Instruments.Key(r.by.Account, string(token)), meta,
		func(s instrument.State) (instrument.Event, error) {
			return instrument.DecideUse(s, instrument.Use{At: meta.At, Payment: id})
		})
	if err != nil || r.instrument(token).UsedBy != id {
		r.t.Fatal("not claimed", err)
	}
}

// refusesRepeat: the key is used, and the answer names the payment (D9).
func (r *rig) refusesRepeat(s *commands.Service, in commands.PaymentInput, id domain.PaymentID) {
	r.t.Helper()
	_, err := s.CreatePayment(context.Background(), r.by, in)
	var refused *domain.Error
	if !errors.As(err, &refused) || refused.Reason != domain.ReasonIdempotencyKeyExists || refused.Payment != id || refused.Status == "" {
		r.t.Fatalf("the repeat got %v", err)
	}
}

// TestNeverSeenInTime: an operation that never reached the processor, found when the payment timeout is
// over, is fenced and recorded as failed; a late arrival is refused (D8).
func TestNeverSeenInTime(t *testing.T) {
	r := newRig(t)
	port := &broken{Port: r.sim, hit: make(chan struct{})}
	dying := r.service(port)
	token := r.token(dying)
	id := domain.PaymentIDForKey(r.by.Account, "key-1")
	go dying.CreatePayment(context.Background(), r.by, commands.PaymentInput{Token: token, IdempotencyKey: "key-1"}) // it dies
	<-port.hit
	dying.Close()
	r.ahead.Store(int64(2 * paymentTimeout))
	next := r.service(nil)
	if err := next.Recover(context.Background(), r.by.Account, id); err != nil {
		t.Fatal(err)
	}
	p := r.settled(id)
	if p.Status() != payment.StatusFailed || p.StatusReason().Type != domain.GatewayTimeout || r.operations(id) != 0 {
		t.Fatalf("ended as %s %+v with %d operations", p.Status(), p.StatusReason(), r.operations(id))
	}
	late, err := r.sim.Send(context.Background(), processor.Operation{
		Kind: processor.Authorize, Key: p.OperationKey(1), Processor: processor.Adyen, MerchantID: p.Route[0].MerchantID,
		Reference: id, Amount: p.Amount, Currency: p.Currency,
		Card: &processor.Card{Number: "4111111111111111", CVV: "737", ExpirationMonth: "03", ExpirationYear: "2099"},
	})
	if err != nil || late.State != processor.Failed {
		t.Fatalf("the late arrival got %+v %v", late, err)
	}
}

// TestCardIsDestroyed: a card is unreadable soon after the outcome is known, and one that is still needed
// is not.
func TestCardIsDestroyed(t *testing.T) {
	r := newRig(t)
	s := r.service(nil)
	spent, waiting := r.token(s), r.token(s)
	if _, err := s.CreatePayment(context.Background(), r.by, commands.PaymentInput{Token: spent}); err != nil {
		t.Fatal(err)
	}
	r.ahead.Store(int64(3 * time.Minute))
	needed := func(_ context.Context, _ domain.AccountID, token domain.Token) (bool, error) {
		return token == waiting, nil
	}
	if n, err := r.vault.Clean(context.Background(), r.store.Now(), needed); err != nil || n != 1 {
		t.Fatalf("%d cards destroyed: %v", n, err)
	}
	paid, err := s.CreatePayment(context.Background(), r.by, commands.PaymentInput{Token: waiting})
	if err != nil || paid.Status() != payment.StatusAuthorized {
		t.Fatalf("the waiting card paid %s: %v", paid.Status(), err)
	}
	if n, err := r.vault.Clean(context.Background(), r.store.Now().Add(3*time.Minute), func(context.Context, domain.AccountID, domain.Token) (bool, error) { return false, nil }); err != nil || n > 1 {
		t.Fatalf("%d cards destroyed: %v", n, err)
	}
}
