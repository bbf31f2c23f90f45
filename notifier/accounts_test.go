package notifier

import (
	"context"
	"slices"
	"sync"
	"testing"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/notifier/delivery"
	"payledger/notifier/message"
	"payledger/projections"
)

// lagging are views that show an old state of an account until a caller waits for its newest event.
type lagging struct {
	message.Views
	was   account.State
	shard int
	seq   uint64

	mu     sync.Mutex
	waited bool
}

func (b *lagging) Reach(ctx context.Context, position []uint64) error {
	b.mu.Lock()
	b.waited = b.waited || b.seq > 0 && position[b.shard] >= b.seq
	b.mu.Unlock()
	return b.Views.Reach(ctx, position)
}

func (b *lagging) Account(id domain.AccountID) (account.State, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waited {
		return b.Views.Account(id)
	}
	return b.was, true
}

// newestAccount returns the account and the place of its newest event in the log.
func (r *rig) newestAccount() (account.State, *eventstore.Recorded) {
	r.t.Helper()
	tip, err := eventstore.Load(context.Background(), r.store, eventstore.Accounts, eventstore.Accounts.Key(merchantID, string(merchantID)), eventstore.Latest)
	r.must(err)
	return tip.State, tip.Recorded
}

// redirect changes the URL of an endpoint.
func (r *rig) redirect(id domain.EndpointID, url string) {
	r.t.Helper()
	r.changeAccount(func(m eventstore.Meta, s account.State) (account.Event, error) {
		return account.DecideChangeEndpoint(s, account.ChangeEndpoint{At: m.At, ID: id, URL: &url})
	})
}

// TestEndpointBehind checks that an endpoint gets its webhook although lagging views show it as
// disabled, or not at all: only the log decides that a webhook is cancelled.
func TestEndpointBehind(t *testing.T) {
	t.Parallel()
	for name, was := range map[string]func(account.State) account.State{
		"disabled": func(s account.State) account.State {
			s.Endpoints = slices.Clone(s.Endpoints) // states are shared
			s.Endpoints[0].Enabled = false
			return s
		},
		"missing": func(s account.State) account.State { s.Endpoints = nil; return s },
	} {
		t.Run(name, func(t *testing.T) {
			inbox := newReceiver(t, nil)
			r := newRig(t)
			views := &lagging{}
			r.views = func(v message.Views) message.Views { views.Views = v; return views }
			r.start()
			r.endpoint(inbox.url)
			now, _ := r.newestAccount()
			views.was = was(now)
			r.pay(processor.Succeeded)
			if d := r.until("over", func(d delivery.Delivery) bool { return !d.Status.Open() }); d.Status != delivery.Succeeded {
				t.Errorf("it is %s", d.Status)
			}
			inbox.waitFor(1)
		})
	}
}

// TestAccountAfterStart checks that the changes of an earlier process apply to the first webhook of
// the next one, however far the views are behind.
func TestAccountAfterStart(t *testing.T) {
	t.Parallel()
	old, inbox := newReceiver(t, nil), newReceiver(t, nil)
	r := newRig(t)
	r.views = func(v message.Views) message.Views { return held{v, true} } // nothing is sent yet
	r.start()
	id := r.endpoint(old.url)
	r.pay(processor.Succeeded)
	r.until("planned", func(d delivery.Delivery) bool { return d.Status == delivery.Planned })
	was, _ := r.newestAccount()
	r.redirect(id, inbox.url)
	_, newest := r.newestAccount()
	r.stop()
	r.views = func(v message.Views) message.Views {
		return &lagging{Views: v, was: was, shard: newest.Shard, seq: newest.Seq}
	}
	r.start()
	inbox.waitFor(1)
	r.stop()
	old.none()
}

// gated are views that show events only once the gate is open.
type gated struct {
	message.Views
	open, asked chan struct{}
}

func (g gated) Shown(ctx context.Context, aggregate string, shard int, seq uint64) error {
	select {
	case g.asked <- struct{}{}:
	default:
	}
	select {
	case <-g.open:
		return g.Views.Shown(ctx, aggregate, shard, seq)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestAccountAfterWait checks that a change that is made while a webhook waits for the views
// applies to the webhook.
func TestAccountAfterWait(t *testing.T) {
	t.Parallel()
	old, inbox := newReceiver(t, nil), newReceiver(t, nil)
	gate := gated{open: make(chan struct{}), asked: make(chan struct{}, 1)}
	r := newRig(t)
	r.views = func(v message.Views) message.Views { gate.Views = v; return gate }
	r.start()
	id := r.endpoint(old.url)
	r.pay(processor.Succeeded)
	<-gate.asked
	r.redirect(id, inbox.url)
	close(gate.open)
	inbox.waitFor(1)
	r.stop()
	old.none()
}

// still are views that show nothing new.
type still struct{ message.Views }

func (still) Reach(ctx context.Context, _ []uint64) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestViewsBehind: a webhook of a payment does not wait for the views, because GET does not (D17).
func TestViewsBehind(t *testing.T) {
	t.Parallel()
	inbox := newReceiver(t, nil)
	r := newRig(t)
	var reader *projections.Projections
	r.views = func(v message.Views) message.Views {
		reader, _ = v.(*projections.Projections)
		return still{v}
	}
	r.start()
	r.endpoint(inbox.url)
	paid := r.pay(processor.Succeeded)
	inbox.waitFor(1)
	shown, err := reader.Payment(context.Background(), merchantID, paid.ID)
	r.must(err)
	if shown.Status() != paid.Status() {
		t.Errorf("GET shows %s, and the webhook was about %s", shown.Status(), paid.Status())
	}
}
