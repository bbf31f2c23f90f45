package history

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/processor"
	"payledger/domain/webhook"
	"payledger/eventstore"
	"payledger/eventstore/engine"
	"payledger/eventstore/format"
	"payledger/projections/deliveries"
)

// droppedAll is a Deliveries without records.
type droppedAll struct{ may bool }

func (droppedAll) Find(context.Context, *eventstore.Recorded, domain.EndpointID, webhook.Kind) (deliveries.Detail, bool, error) {
	return deliveries.Detail{}, false, nil
}
func (d droppedAll) MayBeDropped(*eventstore.Recorded) bool { return d.may }

func hook(id domain.EndpointID, kinds ...string) account.EndpointCreated {
	return account.EndpointCreated{Endpoint: account.Endpoint{ID: id, Enabled: true, EventTypes: kinds}}
}

// changes appends events of the account, by their seconds in the minute 09:26.
func changes(t *testing.T, store *engine.Store, events map[int]account.Event) {
	t.Helper()
	for _, second := range slices.Sorted(maps.Keys(events)) {
		meta := eventstore.Meta{
			EventID: "22222222-0000-4000-8000-00000000000" + string(rune('0'+second%10)), CommandID: "c", CorrelationID: "r", Actor: "cli:init",
			At: time.Date(2026, 3, 14, 9, 26, second, 0, time.UTC),
		}
		_, err := eventstore.Execute(context.Background(), store, eventstore.Accounts, eventstore.Accounts.Key(owner, string(owner)), meta,
			func(account.State) (account.Event, error) { return events[second], nil })
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestNoEndpoint: an event has the kinds of its webhooks to which no enabled endpoint was
// subscribed at that time. A webhook that waits for its planning is none of them, and neither is
// one that the event did not cause: a second capture does not change the status.
func TestNoEndpoint(t *testing.T) {
	store, vault := ledger(t)
	off := hook("off")
	off.Endpoint.Enabled = false
	changes(t, store, map[int]account.Event{50: account.Created{ID: owner}, 51: off, 52: hook("failures", "PAYMENT.REFUND.FAILED"), 57: hook("late", "PAYMENT.REFUND")})
	lead(t, store, id, create, answer(1, processor.Succeeded), capture(1000), answer(3, processor.Succeeded), refund(300), answer(5, processor.Succeeded),
		capture(100), answer(7, processor.Succeeded))
	for _, may := range []bool{false, true} {
		h := Reader{Store: store, Secrets: vault, Deliveries: droppedAll{may}}
		entries, _, err := h.part(owner, id, Part{Expand: []string{ExpandWebhooks}})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, e := range entries {
			for _, kind := range e.NoEndpoint {
				got += fmt.Sprint(" ", e.Revision, " ", kind)
			}
		}
		if want := " 2 PAYMENT.STATUS 4 PAYMENT.STATUS"; got != want {
			t.Errorf("dropped %t: %s; want %s", may, got, want)
		}
	}
}

// TestDroppedWebhooks: a webhook without a record is shown as dropped if its event caused the
// webhook, an endpoint subscribed to it at that time, and records of that time were dropped.
func TestDroppedWebhooks(t *testing.T) {
	store, vault := ledger(t)
	changes(t, store, map[int]account.Event{
		50: account.Created{ID: owner}, 51: hook("all"), 52: hook("refunds", "PAYMENT.REFUND"), 55: account.EndpointDeleted{ID: "all"}, 56: hook("late"),
	})
	// The authorization is at 54, the capture's answer at 56, the refund's at 58.
	lead(t, store, id, create, answer(1, processor.Succeeded), capture(1250), answer(3, processor.Succeeded), refund(300), answer(5, processor.Succeeded))
	for _, may := range []bool{false, true} {
		h := Reader{Store: store, Secrets: vault, Deliveries: droppedAll{may}}
		entries, _, err := h.part(owner, id, Part{Expand: Expansions})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, e := range entries {
			for _, w := range e.Webhooks {
				if !w.Dropped || w.Attempts != nil {
					t.Errorf("%+v", w)
				}
				got += " " + string(rune('0'+e.Revision)) + " " + string(w.EndpointID) + " " + string(w.EventType)
			}
		}
		want := " 2 all PAYMENT.STATUS 4 late PAYMENT.STATUS 6 refunds PAYMENT.REFUND 6 late PAYMENT.REFUND"
		if !may {
			want = ""
		}
		if got != want {
			t.Errorf("dropped: %s; want %s", got, want)
		}
	}
}

// lagging is the store of a node that has not applied the newest events of the account yet.
type lagging struct {
	*engine.Store
	account eventstore.Tip[any]
}

func (l lagging) LoadUntyped(ctx context.Context, a *format.Core, key eventstore.Key, consistency eventstore.Consistency) (eventstore.Tip[any], error) {
	if a == eventstore.Accounts.Core && consistency == eventstore.Applied {
		return l.account, nil
	}
	return l.Store.LoadUntyped(ctx, a, key, consistency) //nolint:wrapcheck // the store's own
}

// TestWebhooksOfLaggingNode: a node that has not applied an endpoint yet knows the webhooks that
// were sent to it.
func TestWebhooksOfLaggingNode(t *testing.T) {
	store, vault := ledger(t)
	changes(t, store, map[int]account.Event{50: account.Created{ID: owner}})
	before, err := store.LoadUntyped(context.Background(), eventstore.Accounts.Core, eventstore.Accounts.Key(owner, string(owner)), eventstore.Latest)
	if err != nil {
		t.Fatal(err)
	}
	changes(t, store, map[int]account.Event{51: hook("all")})
	lead(t, store, id, create, answer(1, processor.Succeeded))
	h := Reader{Store: lagging{store, before}, Secrets: vault, Deliveries: droppedAll{true}}
	entries, _, err := h.part(owner, id, Part{Expand: []string{ExpandWebhooks}})
	if err != nil || len(entries) != 2 {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	if e := entries[1]; len(e.NoEndpoint) != 0 || len(e.Webhooks) != 1 || e.Webhooks[0].EndpointID != "all" {
		t.Errorf("%+v", e.Beside)
	}
}
