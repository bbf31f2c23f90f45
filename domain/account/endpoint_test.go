package account_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"payledger/domain"
	"payledger/domain/account"
)

// twoEndpoints is an account with the endpoints "a" and "b".
func twoEndpoints() account.State {
	s := account.Evolve(account.State{}, created())
	for _, id := range []domain.EndpointID{"a", "b"} {
		s = account.Evolve(s, account.EndpointCreated{At: at, Endpoint: account.Endpoint{
			ID: id, URL: "https://shop.example/" + string(id), Description: "shop", EventTypes: []string{"PAYMENT.STATUS"}, Enabled: true, CreatedAt: at,
		}})
	}
	return s
}

// TestChangeEndpoint checks that fields outside the request keep their values, the id and the
// place, too. A change without effect is not recorded (D20).
func TestChangeEndpoint(t *testing.T) {
	s := twoEndpoints()
	want, _ := s.Endpoint("a")
	other, _ := s.Endpoint("b")
	for i, step := range []struct {
		change account.ChangeEndpoint
		alter  func(*account.Endpoint) // nil: nothing is recorded
	}{
		{account.ChangeEndpoint{}, nil},
		{account.ChangeEndpoint{URL: ptr("https://shop.example/a"), Description: ptr("shop"), EventTypes: ptr([]string{"PAYMENT.STATUS"}), Enabled: ptr(true)}, nil},
		{account.ChangeEndpoint{URL: ptr("https://shop.example/new")}, func(e *account.Endpoint) { e.URL = "https://shop.example/new" }},
		{account.ChangeEndpoint{Description: ptr("")}, func(e *account.Endpoint) { e.Description = "" }},
		{account.ChangeEndpoint{Enabled: ptr(false)}, func(e *account.Endpoint) { e.Enabled = false }},
		{account.ChangeEndpoint{Enabled: ptr(true), EventTypes: ptr([]string{})}, func(e *account.Endpoint) { e.Enabled, e.EventTypes = true, []string{} }},
		{account.ChangeEndpoint{EventTypes: ptr([]string(nil))}, nil},
		{account.ChangeEndpoint{EventTypes: ptr([]string{"DISPUTE.OPENED", "PAYMENT.REFUND"})}, func(e *account.Endpoint) { e.EventTypes = []string{"DISPUTE.OPENED", "PAYMENT.REFUND"} }},
	} {
		step.change.ID, step.change.At = "a", at.Add(time.Duration(i)*time.Second)
		e, err := account.DecideChangeEndpoint(s, step.change)
		if err != nil || (e == nil) != (step.alter == nil) {
			t.Fatalf("step %d: %v, %v", i, e, err)
		}
		if e == nil {
			continue
		}
		before := want
		next := account.Evolve(s, e)
		if kept, _ := s.Endpoint("a"); !cmp.Equal(kept, before) {
			t.Errorf("step %d: the state handed out before has changed", i)
		}
		step.alter(&want)
		if d := cmp.Diff([]account.Endpoint{want, other}, next.Endpoints); d != "" || next.UpdatedAt != step.change.At {
			t.Errorf("step %d at %s: %s", i, next.UpdatedAt, d)
		}
		s = next
	}
	if e, err := account.DecideChangeEndpoint(s, account.ChangeEndpoint{ID: "c"}); e != nil || domain.ReasonOf(err) != domain.ReasonEntityNotFound {
		t.Errorf("an endpoint that there is not: %v, %v", e, err)
	}
}

// TestDeleteEndpoint: it is gone, the others stay, and its place is free for another (D18).
func TestDeleteEndpoint(t *testing.T) {
	s := twoEndpoints()
	e, err := account.DecideDeleteEndpoint(s, account.DeleteEndpoint{At: at.Add(time.Hour), ID: "a"})
	if err != nil {
		t.Fatal(err)
	}
	next := account.Evolve(s, e)
	_, there := next.Endpoint("a")
	kept, _ := next.Endpoint("b")
	if there || len(next.Endpoints) != 1 || kept.URL != "https://shop.example/b" || next.UpdatedAt != at.Add(time.Hour) {
		t.Errorf("left are %v", next.Endpoints)
	}
	if _, there := s.Endpoint("a"); !there || s.Endpoints[1].ID != "b" {
		t.Errorf("the state handed out before has changed: %v", s.Endpoints)
	}
	for _, id := range []domain.EndpointID{"a", "", "c"} {
		if e, err := account.DecideDeleteEndpoint(next, account.DeleteEndpoint{ID: id}); e != nil || domain.ReasonOf(err) != domain.ReasonEntityNotFound {
			t.Errorf("%q: %v, %v", id, e, err)
		}
	}
	s.Endpoints = make([]account.Endpoint, account.MaxEndpoints)
	s.Endpoints[3].ID = "d"
	full := account.Evolve(s, account.EndpointDeleted{At: at, ID: "d"})
	if _, err := account.DecideCreateEndpoint(full, account.CreateEndpoint{At: at}); err != nil {
		t.Errorf("the deleted one's place is taken: %v", err)
	}
}

// TestEndpointsAfter checks the place of a change in the log: the newest change counts, and no
// change applies to events before an earlier change. An older build records no place; the place
// before it stays.
func TestEndpointsAfter(t *testing.T) {
	s := account.Evolve(account.State{}, created())
	if !s.EndpointsApplyTo(0, 1) || !s.EndpointsApplyTo(7, 1) {
		t.Error("without a change, the endpoints are those of every event")
	}
	decide := func(e account.Event, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		s = account.Evolve(s, e)
	}
	for _, step := range []struct{ now, want []uint64 }{
		{[]uint64{5, 0}, []uint64{5, 0}}, {[]uint64{7, 3}, []uint64{7, 3}}, {[]uint64{6, 9}, []uint64{7, 9}}, {nil, []uint64{7, 9}}, {[]uint64{8, 8}, []uint64{8, 9}},
	} {
		for _, id := range []domain.EndpointID{"a", "b"} {
			decide(account.DecideCreateEndpoint(s, account.CreateEndpoint{At: at, Endpoint: account.Endpoint{ID: id, URL: "https://shop.example/"}, EndpointsAfter: step.now}))
		}
		isAfter(t, s, step.want)
		decide(account.DecideChangeEndpoint(s, account.ChangeEndpoint{At: at, ID: "a", URL: ptr("https://shop.example/new"), EndpointsAfter: step.now}))
		isAfter(t, s, step.want)
		for _, id := range []domain.EndpointID{"a", "b"} {
			decide(account.DecideDeleteEndpoint(s, account.DeleteEndpoint{At: at, ID: id, EndpointsAfter: step.now}))
		}
		isAfter(t, s, step.want)
	}
	for _, c := range []struct {
		shard   int
		address uint64
		want    bool
	}{{0, 8, false}, {0, 9, true}, {1, 9, false}, {1, 10, true}} {
		if s.EndpointsApplyTo(c.shard, c.address) != c.want {
			t.Errorf("event %d of shard %d: %v", c.address, c.shard, !c.want)
		}
	}
}

func isAfter(t *testing.T, s account.State, want []uint64) {
	t.Helper()
	if !slices.Equal(s.EndpointsAfter, want) {
		t.Errorf("the endpoints are those after %v, want %v", s.EndpointsAfter, want)
	}
}
