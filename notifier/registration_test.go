package notifier

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/deliverylog"
	"payledger/eventstore/position"
	"payledger/notifier/delivery"
	"payledger/projections/deliveries"
)

// change records a change of an endpoint.
func (r *rig) change(c account.ChangeEndpoint) {
	r.t.Helper()
	c.EndpointsAfter = r.ends()
	r.changeAccount(func(m eventstore.Meta, s account.State) (account.Event, error) {
		c.At = m.At
		return account.DecideChangeEndpoint(s, c)
	})
}

func (r *rig) deleteEndpoint(id domain.EndpointID) {
	r.t.Helper()
	ends := r.ends()
	r.changeAccount(func(m eventstore.Meta, s account.State) (account.Event, error) {
		return account.DecideDeleteEndpoint(s, account.DeleteEndpoint{At: m.At, ID: id, EndpointsAfter: ends})
	})
}

// plannedAll waits until the planner has planned all events.
func (r *rig) plannedAll() {
	r.t.Helper()
	ends := r.ends()
	poll(r.t, func() bool { return !behind(r.notifier.position.At(), ends) }, func() string {
		return fmt.Sprintf("planned up to %v of %v", r.notifier.position.At(), ends)
	})
}

// planned returns the payments whose deliveries to an endpoint were planned, sorted. The planner
// has planned all events.
func (r *rig) planned(id domain.EndpointID) []string {
	r.t.Helper()
	r.plannedAll()
	var found []string
	for _, d := range r.records() {
		if d.Endpoint == id {
			e, err := r.store.Read(context.Background(), d.Shard, d.Seq)
			r.must(err)
			found = append(found, e.ID)
		}
	}
	slices.Sort(found)
	return found
}

func idsOf(payments ...payment.State) []string {
	var all []string
	for _, p := range payments {
		all = append(all, string(p.ID))
	}
	slices.Sort(all)
	return all
}

func (r *rig) isPlanned(id domain.EndpointID, payments ...payment.State) {
	r.t.Helper()
	if got, want := r.planned(id), idsOf(payments...); !slices.Equal(got, want) {
		r.t.Errorf("endpoint %s gets the payments %q, want %q", id, got, want)
	}
}

// TestRegistration checks that a planner that reads events late gives each event to the endpoints
// that the account had at that event: those that were registered before it, enabled, and subscribed
// to its kind at that time. Later changes make no difference.
func TestRegistration(t *testing.T) {
	t.Parallel()
	inbox := newReceiver(t, nil)
	r := newRig(t)
	r.hold = make(chan struct{})
	r.start()
	off, on := false, true
	none, all := []string{"DISPUTE.OPENED"}, []string{}
	pay := func() payment.State { return r.pay(processor.Succeeded) }
	pay()
	changed := r.endpoint(inbox.url + "/changed")
	first := pay()
	kept := r.endpoint(inbox.url + "/kept")
	second := pay()
	r.change(account.ChangeEndpoint{ID: changed, Enabled: &off})
	third := pay()
	r.change(account.ChangeEndpoint{ID: changed, Enabled: &on})
	fourth := pay()
	r.change(account.ChangeEndpoint{ID: changed, EventTypes: &none})
	fifth := pay()
	r.change(account.ChangeEndpoint{ID: changed, EventTypes: &all})
	sixth := pay()
	deleted := r.endpoint(inbox.url + "/deleted")
	seventh := pay()
	r.deleteEndpoint(deleted)
	eighth := pay()
	close(r.hold)

	hooks := inbox.waitFor(13)
	r.isPlanned(changed, first, second, fourth, sixth, seventh, eighth)
	r.isPlanned(kept, second, third, fourth, fifth, sixth, seventh, eighth)
	r.isPlanned(deleted, seventh)
	r.until("cancelled", func(d delivery.Delivery) bool { return d.Endpoint == deleted && d.Status == delivery.Cancelled })
	for _, h := range hooks {
		if h.path == "/deleted" {
			t.Errorf("the deleted endpoint gets %s", h.body)
		}
	}
	inbox.none()
}

// TestRegistrationMeanwhile checks that an endpoint gets an event that is appended while its
// registration is being recorded, also if the planner planned the event before the registration: in
// the same process, and before a restart.
func TestRegistrationMeanwhile(t *testing.T) {
	t.Parallel()
	for name, restart := range map[string]bool{"running": false, "restarted": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inbox := newReceiver(t, map[string]http.HandlerFunc{})
			r := newRig(t)
			r.start()
			old := r.endpoint(inbox.url + "/old")
			before := r.pay(processor.Succeeded)
			ends := r.ends()
			var meanwhile []payment.State
			for range 8 { // in both shards
				meanwhile = append(meanwhile, r.pay(processor.Succeeded))
			}
			r.isPlanned(old, append(meanwhile, before)...)
			if restart {
				r.stop()
				r.hold = make(chan struct{})
				r.start()
			}
			id := r.endpointAfter(ends, inbox.url+"/new")
			if restart {
				close(r.hold)
			}
			after := r.pay(processor.Succeeded)
			r.isPlanned(id, append(meanwhile, after)...)
			r.isPlanned(old, append(meanwhile, before, after)...)
			inbox.waitFor(9 + 1 + 8 + 1)
			inbox.none()
		})
	}
}

// TestRegistrationBesideOthers is TestRegistrationMeanwhile on a node that has determined the
// endpoints of another node's events, and waits for that node to plan them: its position is before
// the events.
func TestRegistrationBesideOthers(t *testing.T) {
	t.Parallel()
	inbox := newReceiver(t, nil)
	r := newRig(t)
	r.base()
	living := newTown()
	living.author = "author" // it plans nothing
	r.config.turn = time.Hour
	other := r.node(1, &citizen{town: living, name: "other"}, asTheyAre)
	r.endpoint(inbox.url + "/old")
	r.pay(processor.Succeeded)
	after := r.ends()
	for range 4 {
		r.pay(processor.Succeeded)
	}
	ends := r.ends()
	poll(t, func() bool { return !behind(other.notifier.planner.registered.evaluated.At(), ends) }, func() string { return "the events are not evaluated" })
	if !behind(other.notifier.position.At(), ends) {
		t.Fatal("the node does not wait for the author")
	}
	r.endpointAfter(after, inbox.url+"/new")
	for _, h := range inbox.waitFor(4) {
		if h.path != "/new" {
			t.Errorf("a webhook to %s", h.path)
		}
	}
	other.stop()
	inbox.none()
}

// TestReplayBeforePlanner checks that a replay covers all events before the call, also those that
// the planner has not read. The planner adds none for an endpoint that was registered after them.
func TestReplayBeforePlanner(t *testing.T) {
	t.Parallel()
	inbox := newReceiver(t, nil)
	r := newLogRig(t)
	r.hold = make(chan struct{})
	r.start()
	r.notifier.plannedTime = time.Millisecond // the planner reads nothing, and each count would wait
	for range 3 {
		r.pay(processor.Succeeded)
	}
	endpoint := r.endpoint(inbox.url + "/")
	failed := all(endpoint)
	failed.OnlyFailed = true
	for _, c := range []struct {
		q     deliveries.ReplayRequest
		count int
	}{{all(endpoint), 3}, {failed, 0}} {
		dry, err := r.log.StartReplay(context.Background(), c.q, true)
		if err != nil || dry.Count != c.count {
			t.Errorf("a replay with onlyFailed %v counts %d, %v", c.q.OnlyFailed, dry.Count, err)
		}
	}
	r.notifier.plannedTime = plannedTime
	close(r.hold)
	r.plannedAll()
	r.isPlanned(endpoint)
	r.isDone(r.replay(all(endpoint), 3), 3)
	inbox.waitFor(3)
	inbox.none()
}

// latest is the stream of deliveries of the rig's store of the moment.
type latest struct{ r *rig }

func (l latest) Put(ctx context.Context, name string, expected uint64, body []byte, open bool) (uint64, error) {
	return l.r.store.Deliveries().Put(ctx, name, expected, body, open)
}

func (l latest) Last(ctx context.Context, name string) (deliverylog.Record, error) {
	return l.r.store.Deliveries().Last(ctx, name)
}

func (l latest) Known(name string) (deliverylog.Record, error) {
	return l.r.store.Deliveries().Known(name)
}

// TestRegistrationBetweenNodes checks that no webhook is lost if all nodes end while one has passed
// an event and not the registration of an endpoint that gets it, and another has passed the
// registration and not the event. Each of them has something left to plan, so no start may begin
// behind both.
func TestRegistrationBetweenNodes(t *testing.T) {
	t.Parallel()
	ctx, inbox := context.Background(), newReceiver(t, nil)
	r := newRig(t)
	r.start()
	other, err := position.Open(ctx, latest{r}, plannerName, r.shards)
	r.must(err)
	home := r.store.ShardOf(eventstore.Accounts.Key(merchantID, string(merchantID)))
	after := r.ends()
	var meanwhile []payment.State
	for len(meanwhile) < 3 { // in the shard without the account
		if p := r.pay(processor.Succeeded); r.store.ShardOf(eventstore.Payments.Key(merchantID, string(p.ID))) != home {
			meanwhile = append(meanwhile, p)
		}
	}
	r.plannedAll()
	r.stop() // this node has passed the events
	r.hold = make(chan struct{})
	r.start()
	id := r.endpointAfter(after, inbox.url+"/new")
	registered := make([]uint64, r.shards)
	registered[home] = r.ends()[home]
	other.Raise(registered) // the other node has passed the registration
	_, err = other.Save(ctx)
	r.must(err)
	r.stop()
	r.hold = nil
	r.start()
	got := r.planned(id)
	for _, p := range idsOf(meanwhile...) {
		if !slices.Contains(got, p) {
			t.Errorf("payment %s has no webhook, only %q", p, got)
		}
	}
}
