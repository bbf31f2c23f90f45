package history

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/webhook"
	"payledger/eventstore"
)

// TestTimesThatGoBack: the events of an aggregate may come from nodes with different clocks. A
// replay ends with the same event as Store.LastAt.
func TestTimesThatGoBack(t *testing.T) {
	store, _ := ledger(t)
	key := eventstore.Accounts.Key(owner, string(owner))
	second := func(n int) time.Time { return time.Date(2026, 3, 14, 9, 26, n, 0, time.UTC) }
	var times []time.Time
	for i, s := range []int{20, 25, 22, 30, 21, 28, 40, 19} {
		var e account.Event = account.Created{ID: owner}
		if i > 0 {
			e = account.EndpointCreated{Endpoint: account.Endpoint{ID: domain.EndpointID(fmt.Sprint("hook-", i)), Enabled: true}}
		}
		meta := eventstore.Meta{EventID: fmt.Sprintf("22222222-0000-4000-8000-%012d", i), CommandID: "c", CorrelationID: "r", Actor: "cli:init", At: second(s)}
		if _, err := eventstore.Execute(context.Background(), store, eventstore.Accounts, key, meta, func(account.State) (account.Event, error) { return e, nil }); err != nil {
			t.Fatal(err)
		}
		times = append(times, meta.At)
	}
	tip, err := eventstore.Load(context.Background(), store, eventstore.Accounts, key, eventstore.Applied)
	if err != nil {
		t.Fatal(err)
	}
	for s := 18; s < 42; s++ {
		at, want := second(s), uint64(0)
		last, err := store.LastAt(context.Background(), tip.Recorded, at)
		if err != nil {
			t.Fatal(err)
		}
		if last != nil {
			want = last.Revision
		}
		if got, err := (At{Time: &at}).end(times, time.Now); got != want || errors.Is(err, ErrNotThere) != (want == 0) {
			t.Errorf("at second %d the replay ends with revision %d, and LastAt is %d: %v", s, got, want, err)
		}
	}
}

// TestWantedTimesThatGoBack: the endpoints at a time are those of the last change at or before it.
func TestWantedTimesThatGoBack(t *testing.T) {
	t.Parallel()
	second := func(n int) time.Time { return time.Date(2026, 3, 14, 9, 26, n, 0, time.UTC) }
	hook := account.Endpoint{ID: "hook", Enabled: true, EventTypes: []string{string(webhook.PaymentStatus)}}
	a := &actors{hooks: []endpointsAt{{since: second(20)}, {second(10), []account.Endpoint{hook}}, {since: second(30)}}}
	for s, want := range map[int]bool{9: false, 10: true, 15: true, 20: true, 29: true, 30: false} {
		if got := a.wanted("hook", webhook.PaymentStatus, second(s)); got != want {
			t.Errorf("at second %d: %v", s, got)
		}
	}
}
