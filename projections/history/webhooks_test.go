package history

import (
	"context"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/processor"
	"payledger/domain/webhook"
	"payledger/eventstore"
	"payledger/projections/deliveries"
)

// droppedAll is a Deliveries without records.
type droppedAll struct{ may bool }

func (droppedAll) Find(context.Context, *eventstore.Recorded, domain.EndpointID, webhook.Kind) (deliveries.Detail, bool, error) {
	return deliveries.Detail{}, false, nil
}
func (d droppedAll) MayBeDropped(*eventstore.Recorded) bool { return d.may }

// TestDroppedWebhooks: a webhook without a record is shown as dropped if its event caused the
// webhook, an endpoint subscribed to it at that time, and records of that time were dropped.
func TestDroppedWebhooks(t *testing.T) {
	store, vault := ledger(t)
	at := func(second int, e account.Event) {
		t.Helper()
		meta := eventstore.Meta{
			EventID: "22222222-0000-4000-8000-00000000000" + string(rune('0'+second%10)), CommandID: "c", CorrelationID: "r", Actor: "cli:init",
			At: time.Date(2026, 3, 14, 9, 26, second, 0, time.UTC),
		}
		_, err := eventstore.Execute(context.Background(), store, eventstore.Accounts, eventstore.Accounts.Key(owner, string(owner)), meta,
			func(account.State) (account.Event, error) { return e, nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	hook := func(id domain.EndpointID, kinds ...string) account.EndpointCreated {
		return account.EndpointCreated{Endpoint: account.Endpoint{ID: id, Enabled: true, EventTypes: kinds}}
	}
	at(50, account.Created{ID: owner})
	at(51, hook("all"))
	at(52, hook("refunds", "PAYMENT.REFUND"))
	at(55, account.EndpointDeleted{ID: "all"})
	at(56, hook("late"))
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
