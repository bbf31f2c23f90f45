package notifier

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/processor"
	"payledger/domain/webhook"
	"payledger/eventstore"
	"payledger/notifier/delivery"
	"payledger/notifier/message"
	"payledger/notifier/signature"
)

// changeAccount appends one event to the account.
func (r *rig) changeAccount(decide func(eventstore.Meta, account.State) (account.Event, error)) {
	r.t.Helper()
	execute(r, eventstore.Accounts, eventstore.Accounts.Key(merchantID, string(merchantID)), decide)
}

// enable switches an endpoint on or off.
func (r *rig) enable(id domain.EndpointID, on bool) {
	r.t.Helper()
	r.change(account.ChangeEndpoint{ID: id, Enabled: &on})
}

// until waits for a delivery's record to be so.
func (r *rig) until(what string, is func(delivery.Delivery) bool) delivery.Delivery {
	r.t.Helper()
	var found delivery.Delivery
	poll(r.t, func() bool {
		for _, d := range r.records() {
			if is(d) {
				found = d
				return true
			}
		}
		return false
	}, func() string { return "no delivery is " + what })
	return found
}

// code answers with a status that the test sets.
func code(status *atomic.Int64) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(int(status.Load())) }
}

// Resend is ResendOnce for a request without an idempotency key.
func (n *Notifier) Resend(ctx context.Context, owner domain.AccountID, name string) error {
	return n.ResendOnce(ctx, owner, name, "", noRecord)
}

// TestResend: a manual attempt is made at once and recorded, and is none of the six: a failure
// leaves the delivery as it was, a success ends it, and nothing comes of itself after that (D18).
func TestResend(t *testing.T) {
	t.Parallel()
	var answer atomic.Int64
	answer.Store(503)
	inbox := newReceiver(t, map[string]http.HandlerFunc{"/": code(&answer)})
	r := newRig(t)
	r.config.RetryDelays = []time.Duration{time.Hour, 10 * time.Millisecond}
	r.start()
	endpoint := r.endpoint(inbox.url + "/")
	r.pay(processor.Succeeded)
	ctx := context.Background()
	before := r.until("waiting", func(d delivery.Delivery) bool { return d.Status == delivery.Failed })
	inbox.waitFor(1)
	foreign := errors.New("another node has the work")
	if err := r.notifier.ResendUntil(ctx, ctx, merchantID, before.Name(), func() error { return foreign }); !errors.Is(err, foreign) {
		t.Errorf("without the work: %v", err) // and the next attempt is the second one
	}
	r.must(r.notifier.Resend(ctx, merchantID, before.Name()))
	inbox.waitFor(1)
	d := r.until("tried by hand", func(d delivery.Delivery) bool { return len(d.Attempts) == 2 })
	if d.Status != delivery.Failed || !d.NextAt.Equal(before.NextAt) || !d.Attempts[1].Manual || d.Attempts[0].Manual || d.AutomaticAttempts() != 1 {
		t.Errorf("%+v", d)
	}
	r.enable(endpoint, false)
	if err := r.notifier.Resend(ctx, merchantID, d.Name()); !errors.Is(err, message.ErrDisabled) {
		t.Errorf("to a disabled endpoint: %v", err)
	}
	r.enable(endpoint, true)
	answer.Store(204)
	r.must(r.notifier.Resend(ctx, merchantID, d.Name()))
	inbox.waitFor(1)
	answer.Store(500)
	r.must(r.notifier.Resend(ctx, merchantID, d.Name()))
	inbox.waitFor(1)
	d = r.records()[d.Name()]
	if d.Status != delivery.Succeeded || len(d.Attempts) != 4 || !d.NextAt.IsZero() {
		t.Errorf("%+v", d)
	}
	if _, open := r.notifier.lanes.of(d.Lane()).first(); open {
		t.Error("its lane waits for more")
	}
	for _, name := range []string{"", "x", "acct1.a.b.c", "acct2" + d.Name()[len("acct1"):]} {
		if err := r.notifier.Resend(ctx, merchantID, name); !errors.Is(err, eventstore.ErrNotFound) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if err := r.notifier.Resend(ctx, "acct2", d.Name()); !errors.Is(err, eventstore.ErrNotFound) {
		t.Errorf("of another account: %v", err)
	}
	r.stop()
	inbox.none()
}

// TestResendAfterHangUp: the client hangs up while its request is recorded. The attempt is made and
// recorded, and a repeat with the key makes no other one. A client that has hung up before gets
// none (D18).
func TestResendAfterHangUp(t *testing.T) {
	t.Parallel()
	inbox := newReceiver(t, nil)
	r := newRig(t)
	r.start()
	r.endpoint(inbox.url)
	r.pay(processor.Succeeded)
	inbox.waitFor(1)
	name := r.until("over", func(d delivery.Delivery) bool { return d.Status == delivery.Succeeded }).Name()
	ctx, hangUp := context.WithCancel(context.Background())
	r.must(r.notifier.ResendOnce(ctx, merchantID, name, "key", func(ctx context.Context) error {
		hangUp()
		return ctx.Err() // the record is written as a whole
	}))
	inbox.waitFor(1)
	r.must(r.notifier.ResendOnce(context.Background(), merchantID, name, "key", func(context.Context) error {
		t.Error("a repeat is recorded")
		return nil
	}))
	if err := r.notifier.ResendOnce(ctx, merchantID, name, "late", noRecord); !errors.Is(err, context.Canceled) {
		t.Errorf("for a client that has gone: %v", err)
	}
	if d := r.records()[name]; len(d.Attempts) != 2 || !d.Attempts[1].Manual || d.Attempts[1].Request != delivery.RequestOf("key") {
		t.Errorf("%+v", d)
	}
	r.stop()
	inbox.none()
}

// TestResendAfterACrash: the process ends between the record of a request and its attempt. A repeat
// with the key makes the attempt, once.
func TestResendAfterACrash(t *testing.T) {
	t.Parallel()
	inbox := newReceiver(t, nil)
	r := newRig(t)
	r.start()
	r.endpoint(inbox.url)
	r.pay(processor.Succeeded)
	inbox.waitFor(1)
	name := r.until("over", func(d delivery.Delivery) bool { return d.Status == delivery.Succeeded }).Name()
	recorded := 0
	record := func(context.Context) error { recorded++; return nil }
	crashed := func(ctx context.Context) error { return errors.Join(record(ctx), errCrashed) }
	if err := r.notifier.ResendOnce(context.Background(), merchantID, name, "key", crashed); !errors.Is(err, errCrashed) {
		t.Fatal(err)
	}
	r.stop()
	r.start()
	inbox.none()
	for range 2 {
		r.must(r.notifier.ResendOnce(context.Background(), merchantID, name, "key", record))
	}
	inbox.waitFor(1)
	if d := r.records()[name]; len(d.Attempts) != 2 || recorded != 2 {
		t.Errorf("requested %d times, and tried as %+v", recorded, d.Attempts)
	}
	r.stop()
	inbox.none()
}

// TestResendWhileWaiting: a manual attempt in the middle of the schedule takes nothing from it.
func TestResendWhileWaiting(t *testing.T) {
	t.Parallel()
	inbox := newReceiver(t, map[string]http.HandlerFunc{"/": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }})
	r := newRig(t)
	r.config.RetryDelays = slices.Repeat([]time.Duration{300 * time.Millisecond}, 5)
	r.start()
	r.endpoint(inbox.url + "/")
	r.pay(processor.Succeeded)
	d := r.until("waiting", func(d delivery.Delivery) bool { return d.Status == delivery.Failed })
	for range 3 {
		r.must(r.notifier.Resend(context.Background(), merchantID, d.Name()))
	}
	d = r.until("exhausted", func(d delivery.Delivery) bool { return d.Status == delivery.Exhausted && len(d.Attempts) >= 9 })
	if d.AutomaticAttempts() != 6 || len(d.Attempts) != 9 {
		t.Errorf("%d attempts, %d of them automatic", len(d.Attempts), d.AutomaticAttempts())
	}
	inbox.waitFor(9)
	r.stop()
	inbox.none()
}

// TestPlan: a later endpoint gets the webhooks of an earlier event once, and only the requested
// kinds.
func TestPlan(t *testing.T) {
	t.Parallel()
	old, late := newReceiver(t, nil), newReceiver(t, nil)
	r := newRig(t)
	r.start()
	first := r.endpoint(old.url)
	s := r.pay(processor.Succeeded)
	old.waitFor(1)
	id := r.endpoint(late.url)
	ctx := context.Background()
	e, err := r.store.Load(ctx, eventstore.Payments.Key(merchantID, string(s.ID)), eventstore.Applied)
	r.must(err)
	for i, want := range []int{1, 0} {
		created, err := r.notifier.Plan(ctx, e, id, nil)
		if err != nil || len(created) != want {
			t.Fatalf("time %d: %v %v", i+1, created, err)
		}
	}
	if h := late.waitFor(1)[0]; h.EventID != e.EventID || h.NotificationConfig.ID != id {
		t.Errorf("came %s", h.body)
	}
	for _, c := range []struct {
		endpoint domain.EndpointID
		kinds    []webhook.Kind
		err      error
	}{{id, []webhook.Kind{webhook.PaymentRefund}, nil}, {first, nil, nil}, {"unknown", nil, message.ErrNoEndpoint}} {
		if created, err := r.notifier.Plan(ctx, e, c.endpoint, c.kinds); len(created) > 0 || !errors.Is(err, c.err) {
			t.Errorf("%+v: %v %v", c, created, err)
		}
	}
	r.enable(id, false)
	if _, err := r.notifier.Plan(ctx, e, id, nil); !errors.Is(err, message.ErrDisabled) {
		t.Error(err)
	}
	r.stop()
	old.none()
	late.none()
	r.start()
	if got := statuses(r.records()); got != "planned 0, succeeded 2, failed 0" {
		t.Error(got)
	}
}

// TestSendTest: the test message is its one field, signed by header, and leaves no record (§6.1
// rule 7, D17).
func TestSendTest(t *testing.T) {
	t.Parallel()
	bodies := make(chan string, 1)
	var answer atomic.Int64
	answer.Store(200)
	inbox := newReceiver(t, map[string]http.HandlerFunc{"/": code(&answer)})
	r := newRig(t)
	r.start()
	id := r.endpoint(inbox.url + "/")
	a, err := r.notifier.SendTest(context.Background(), merchantID, id)
	if err != nil || a.StatusCode != 200 || a.Failure != "" || !a.Manual {
		t.Errorf("%+v %v", a, err)
	}
	bodies <- string(inbox.waitFor(1)[0].body)
	var fields map[string]string
	if err := json.Unmarshal([]byte(<-bodies), &fields); err != nil || len(fields) != 1 || fields["message"] == "" {
		t.Errorf("%v %v", fields, err)
	}
	answer.Store(404)
	if a, err = r.notifier.SendTest(context.Background(), merchantID, id); err != nil || a.Failure != delivery.FailureStatus {
		t.Errorf("%+v %v", a, err)
	}
	inbox.waitFor(1)
	if _, err := r.notifier.SendTest(context.Background(), merchantID, "unknown"); !errors.Is(err, message.ErrNoEndpoint) {
		t.Error(err)
	}
	if n := len(r.records()); n != 0 {
		t.Errorf("%d records", n)
	}
}

// TestRotation: after a rotation webhooks carry both signatures, of the new secret first; the
// records name them (§5.2).
func TestRotation(t *testing.T) {
	t.Parallel()
	type seen struct{ primary, secondary string }
	signatures := make(chan seen, 2)
	inbox := newReceiver(t, map[string]http.HandlerFunc{"/": func(_ http.ResponseWriter, r *http.Request) {
		signatures <- seen{r.Header.Get(signature.HeaderPrimary), r.Header.Get(signature.HeaderSecondary)}
	}})
	r := newRig(t)
	r.start()
	r.endpoint(inbox.url + "/")
	r.pay(processor.Succeeded)
	h := inbox.waitFor(1)[0]
	if got := <-signatures; got.primary != signature.Sign(secretText, h.body) || got.secondary != "" {
		t.Errorf("before: %+v", got)
	}
	r.rotate()
	r.pay(processor.Succeeded)
	h = inbox.waitFor(1)[0] // verified by the receiver that knows the first secret only
	if got := <-signatures; got.primary != signature.Sign(secondText, h.body) || got.secondary != signature.Sign(secretText, h.body) {
		t.Errorf("after: %+v", got)
	}
	r.until("signed twice", func(d delivery.Delivery) bool {
		return d.Status == delivery.Succeeded && slices.Equal(d.Attempts[0].Keys, []string{string(secondName), string(secretName)})
	})
}

// TestEndpointGone checks that the open deliveries of a disabled or deleted endpoint end as
// cancelled.
func TestEndpointGone(t *testing.T) {
	t.Parallel()
	for _, gone := range []func(*rig, domain.EndpointID){
		func(r *rig, id domain.EndpointID) { r.enable(id, false) },
		func(r *rig, id domain.EndpointID) {
			r.changeAccount(func(m eventstore.Meta, s account.State) (account.Event, error) {
				return account.DecideDeleteEndpoint(s, account.DeleteEndpoint{At: m.At, ID: id})
			})
		},
	} {
		changed := make(chan struct{})
		inbox := newReceiver(t, map[string]http.HandlerFunc{"/": func(w http.ResponseWriter, _ *http.Request) {
			<-changed
			w.WriteHeader(500)
		}})
		r := newRig(t)
		r.config.RetryDelays = []time.Duration{50 * time.Millisecond}
		var shown message.Views
		r.views = func(v message.Views) message.Views { shown = v; return v }
		r.start()
		id := r.endpoint(inbox.url + "/")
		r.pay(processor.Succeeded)
		inbox.waitFor(1)
		gone(r, id)
		_, newest := r.newestAccount()
		r.must(shown.Shown(context.Background(), newest.Aggregate, newest.Shard, newest.Seq))
		close(changed)
		d := r.until("cancelled", func(d delivery.Delivery) bool { return d.Status == delivery.Cancelled })
		if len(d.Attempts) != 1 || !d.NextAt.IsZero() {
			t.Errorf("%+v", d)
		}
		r.stop()
		inbox.none()
	}
}
