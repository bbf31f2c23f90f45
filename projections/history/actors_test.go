package history

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/domain/workflow"
	"payledger/eventstore"
	"payledger/eventstore/engine"
	"payledger/projections/eventjson"
)

// event appends an event of an aggregate of the owner.
func event[S any, E domain.Event](t *testing.T, store *engine.Store, a *eventstore.Aggregate[S, E], name, actor, request string, decide func(S) (E, error)) {
	t.Helper()
	meta, err := store.NewMeta(actor, request)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := eventstore.Execute(context.Background(), store, a, a.Key(owner, name), meta, decide); err != nil {
		t.Fatal(err)
	}
}

// byID reads the names of the owner's actors.
func byID(store *engine.Store) *actors { return &actors{store: store, account: owner} }

// TestActors: entries have the names of API keys, also revoked ones, and of workflows. A browser's
// actor and the event show a fingerprint of the session; only the raw bytes contain the session id.
func TestActors(t *testing.T) {
	const session, run = "01session1", "01run1"
	store, vault := ledger(t)
	at := time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)
	keep := func(e account.Event) {
		event(t, store, eventstore.Accounts, string(owner), "cli:init", "r", func(account.State) (account.Event, error) { return e, nil })
	}
	keep(account.Created{At: at, ID: owner, APIKey: account.APIKey{ID: "first", Name: "init"}})
	keep(account.APIKeyCreated{At: at, Key: account.APIKey{ID: "second", Name: "till 2"}})
	keep(account.APIKeyRevoked{At: at, ID: "second"})
	keep(account.UserAdded{At: at, User: account.User{ID: "ada", Name: "ada@shop.example"}})
	keep(account.UserAdded{At: at, User: account.User{ID: "ben", Name: "ben@shop.example"}})
	keep(account.UserRemoved{At: at, User: "ben"})
	for range account.MaxRemovedUsers { // ben is no longer in the account's state
		keep(account.UserAdded{At: at, User: account.User{ID: "cay", Name: "cay@shop.example"}})
		keep(account.UserRemoved{At: at, User: "cay"})
	}
	begun := workflow.RunStarted{Start: workflow.Start{
		At: at, ID: run, Account: owner, Workflow: workflow.Ref{ID: "wf1", Name: "Capture small orders", Version: 3}, Payment: id,
	}}
	event(t, store, eventstore.WorkflowRuns, run, "workflow:wf1", "r", func(workflow.RunState) (workflow.RunEvent, error) { return begun, nil })

	actors := []string{"api_key:second", "processor:ADYEN", "api_key:first", "api_key:none", "client_token:" + session, "workflow:wf1", "user:ada", "user:ben", "user:none"}
	amount := domain.Amount(1250)
	decide := func(n int) func(payment.State) (payment.Event, error) {
		return func(s payment.State) (payment.Event, error) {
			switch n {
			case 0:
				return payment.DecideCreate(s, payment.Create{
					At: at, ID: id, Account: owner, OrderID: "order-1", Currency: "EUR", Amount: &amount, Session: session,
					Metadata: domain.Metadata{"sessionId": session + "-of-the-shop"},
					Method:   payment.Method{Token: "01token1", Card: domain.NewCard("4111111111111111", "12", "2030", true)},
					Route:    []payment.Target{{Processor: processor.Adyen, MerchantID: "north-adyen"}},
				})
			case 1:
				return payment.DecideAnswer(s, payment.RecordAnswer{At: at, EventID: "e", Request: 1, Answer: processor.Answer{State: processor.Succeeded}})
			default:
				return payment.CaptureRefused{At: at, EventID: "e", Amount: 1, Message: "m"}, nil
			}
		}
	}
	for n, actor := range actors {
		request := "r"
		if actor == "workflow:wf1" {
			request = workflow.RunState{ID: run}.Diagnostics(0)
		}
		event(t, store, eventstore.Payments, string(id), actor, request, decide(n))
	}
	h := Reader{Store: store, Secrets: vault}
	entries, err := h.all(owner, id, At{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.ActorName)
		if !strings.Contains(string(e.Raw), "Ledger-Actor:"+actors[e.Revision-1]) {
			t.Errorf("the bytes of event %d are not those of the log: %q", e.Revision, e.Raw)
		}
		e.Raw = nil
		text, err := json.Marshal(e)
		if err != nil || strings.Contains(strings.ReplaceAll(string(text), session+"-of-the-shop", ""), session) {
			t.Errorf("shows the session: %s, %v", text, err)
		}
	}
	if want := []string{"till 2", "", "init", "", "", "Capture small orders", "ada@shop.example", "ben@shop.example", ""}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	for i, want := range []struct{ id, name string }{{"ada", "ada@shop.example"}, {"cay", "cay@shop.example"}, {"ben", "ben@shop.example"}} {
		a := byID(store)
		if name, err := a.named(context.Background(), userActor(domain.UserID(want.id))); name != want.name || err != nil || a.every != (i == 2) {
			t.Errorf("%s is %q, read from all events: %t, %v", want.id, name, a.every, err)
		}
	}
	created := entries[0].Event
	if entries[4].Actor != "client_token:"+eventjson.Fingerprint(session) || created["sessionId"] != eventjson.Fingerprint(session) ||
		created["metadata"].(map[string]any)["sessionId"] != session+"-of-the-shop" {
		t.Errorf("%s, %v", entries[4].Actor, created)
	}
}

// TestMoved: every entry has the changes of the amounts, also in a part of a history. The sums of
// the changes are the payment's amounts. A void releases everything but the capture that is
// accepted.
func TestMoved(t *testing.T) {
	checkMoved(t, []Moved{{}, {Held: 1250}, {}, {Held: -1000, Captured: 1000}, {}, {Refunded: 300}},
		create, answer(1, processor.Succeeded), capture(1000), answer(3, processor.Succeeded), refund(300), answer(5, processor.Succeeded))
	checkMoved(t, []Moved{{}, {Held: 1250}, {}, {}, {}, {Held: -950}, {Held: -300, Captured: 300}},
		create, answer(1, processor.Succeeded), capture(300), answer(3, processor.Pending), cancel, answer(5, processor.Succeeded), answer(3, processor.Succeeded))
}

func checkMoved(t *testing.T, want []Moved, moves ...move) {
	t.Helper()
	store, vault := ledger(t)
	lead(t, store, id, moves...)
	h := Reader{Store: store, Secrets: vault}
	for after := range want {
		entries, _, err := h.part(owner, id, Part{After: uint64(after)})
		if err != nil || len(entries) != len(want)-after {
			t.Fatalf("%d entries, %v", len(entries), err)
		}
		for i, e := range entries {
			if e.Moved != want[after+i] {
				t.Errorf("revision %d behind %d: %+v, want %+v", e.Revision, after, e.Moved, want[after+i])
			}
		}
	}
}
