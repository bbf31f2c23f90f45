package notifier

import (
	"bytes"
	"context"
	"crypto/rand"
	"maps"
	"net"
	"slices"
	"sync"
	"testing"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/instrument"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/domain/seedtest"
	"payledger/eventstore"
	"payledger/eventstore/secrets"
	"payledger/notifier/delivery"
)

// hangingNames is a resolver that hangs until the test releases it: a webhook is composed, and its
// first byte is far.
type hangingNames struct {
	asked   chan struct{} // receives a value for each look-up
	release chan struct{}
}

func (h *hangingNames) resolver() *net.Resolver {
	r := rebind([]string{"127.0.0.1"}).resolver()
	answers := r.Dial
	r.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		select {
		case h.asked <- struct{}{}:
		default:
		}
		select {
		case <-h.release:
			return answers(ctx, network, address)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return r
}

var changeCustomer = domain.Personal{Customer: &domain.Customer{Email: "ada@example.com"}}

// payOf makes an authorized payment with personal data.
func (r *rig) payOf(key domain.SecretID, p domain.Personal) {
	r.t.Helper()
	sealed, err := r.vault.Seal(context.Background(), key, p)
	r.must(err)
	var b [16]byte
	_, _ = rand.Read(b[:])
	id, amount := domain.NewPaymentID(b), domain.Amount(2500)
	execute(r, eventstore.Payments, eventstore.Payments.Key(merchantID, string(id)), func(m eventstore.Meta, s payment.State) (payment.Event, error) {
		return payment.DecideCreate(s, payment.Create{
			At: m.At, ID: id, Account: merchantID, OrderID: "order-1", Currency: "EUR", Amount: &amount, Personal: sealed, CustomerID: "c-1",
			Method: payment.Method{Token: "01token", Type: instrument.MethodCard, Card: domain.NewCard("4111111111111111", "12", "2030", true)},
			Route:  []payment.Target{{Processor: processor.Adyen, MerchantID: "north"}},
		})
	})
	execute(r, eventstore.Payments, eventstore.Payments.Key(merchantID, string(id)), func(m eventstore.Meta, s payment.State) (payment.Event, error) {
		return payment.DecideAnswer(s, payment.RecordAnswer{
			At: m.At, EventID: m.EventID, Request: 1, Answer: processor.Answer{State: processor.Succeeded, ProcessorTransactionID: "ptx"},
		})
	})
}

func (r *rig) rotateTo(text string) {
	r.t.Helper()
	name := secrets.SigningSecretName(merchantID, 2)
	r.must(r.vault.Create(context.Background(), name, []byte(text)))
	r.changeAccount(func(m eventstore.Meta, s account.State) (account.Event, error) {
		return account.DecideRotateSigningSecret(s, account.RotateSigningSecret{At: m.At, Replaces: s.Signing.Secret, Secret: name})
	})
}

// answered returns when a change would be answered: this process has applied it, and sends nothing
// that was composed before.
func (r *rig) answered() {
	r.t.Helper()
	ctx := context.Background()
	if r.cluster { // else the log's only writer has its own events at once
		ends, err := eventstore.Ends(ctx, r.store)
		r.must(err)
		r.must(r.notifier.Views.Reach(ctx, ends))
	}
	r.notifier.Settle()
}

// TestChangeWhileConnecting: a webhook is composed, and then the look-up of its host hangs.
// Meanwhile a change is answered. The webhook does not go out as it was composed: not to a deleted
// or disabled endpoint or an old URL, not with the old secret alone, not with erased data.
func TestChangeWhileConnecting(t *testing.T) {
	t.Parallel()
	const newSecret = "plsec_9999999999abcdefghijABCDEFGHIJ"
	off := false
	person := secrets.PersonalKeyName(merchantID, "c-1", "")
	cases := map[string]struct {
		change func(*rig, *receiver, domain.EndpointID)
		sent   bool
	}{
		"deleted": {func(r *rig, _ *receiver, id domain.EndpointID) {
			r.changeAccount(func(m eventstore.Meta, s account.State) (account.Event, error) {
				return account.DecideDeleteEndpoint(s, account.DeleteEndpoint{At: m.At, ID: id})
			})
		}, false},
		"disabled": {func(r *rig, _ *receiver, id domain.EndpointID) {
			r.changeAccount(func(m eventstore.Meta, s account.State) (account.Event, error) {
				return account.DecideChangeEndpoint(s, account.ChangeEndpoint{At: m.At, ID: id, Enabled: &off})
			})
		}, false},
		"rotated": {func(r *rig, inbox *receiver, _ domain.EndpointID) {
			inbox.secrets = []string{newSecret}
			r.rotateTo(newSecret)
		}, true},
		"erased": {func(r *rig, _ *receiver, _ domain.EndpointID) {
			r.must(r.vault.DestroyPersons(context.Background(), []secrets.PersonKeys{{Name: person, Through: 1}}))
		}, true},
		"nothing changed": {func(*rig, *receiver, domain.EndpointID) {}, true},
	}
	for i, name := range slices.Sorted(maps.Keys(cases)) {
		c := cases[name]
		for _, alone := range []bool{true, false} {
			if seedtest.Sampled() && alone != (i%2 == 0) { // each change once, alone and by the views in turn
				continue
			}
			t.Run(name+map[bool]string{true: ", alone", false: ", by the views"}[alone], func(t *testing.T) {
				t.Parallel()
				inbox := newReceiver(t, nil)
				_, port, err := net.SplitHostPort(inbox.url[len("http://"):])
				if err != nil {
					t.Fatal(err)
				}
				names := &hangingNames{asked: make(chan struct{}, 1), release: make(chan struct{})}
				release := sync.OnceFunc(func() { close(names.release) })
				defer release()
				r := newRig(t)
				r.cluster = !alone
				r.config.Resolver = names.resolver()
				r.start()
				id := r.endpoint("http://hooks.example:"+port+"/", "PAYMENT.STATUS")
				r.payOf(person, changeCustomer)
				<-names.asked
				c.change(r, inbox, id)
				r.answered()
				release()
				want := delivery.Succeeded
				if !c.sent {
					want = delivery.Cancelled
				}
				r.until("over", func(d delivery.Delivery) bool { return d.Status == want })
				if !c.sent {
					inbox.none()
					return
				}
				shows := bytes.Contains(inbox.waitFor(1)[0].body, []byte("ada@example.com"))
				if shows == (name == "erased") {
					t.Errorf("the webhook shows the customer: %v", shows)
				}
				inbox.none()
			})
		}
	}
}
