package inbox_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"payledger/domain/inbox"
	"payledger/domain/processor"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func notification(id string) processor.Notification {
	return processor.Notification{ID: id, Processor: processor.Adyen, Kind: processor.Capture, Key: "01a.3", Reference: "01a", Answer: &processor.Answer{State: processor.Succeeded, At: noon}}
}

func receive(t *testing.T, s inbox.State, n processor.Notification) (inbox.State, inbox.Event) {
	t.Helper()
	e, err := inbox.DecideReceive(s, inbox.Receive{At: noon, Payload: n, Body: "{}"})
	if err != nil {
		t.Fatal(err)
	}
	if e == nil {
		return s, nil
	}
	return inbox.Evolve(s, e), e
}

// TestOnce checks that a notification is received once and settled once. The state has its id; only
// its event has its content (D14).
func TestOnce(t *testing.T) {
	s, first := receive(t, inbox.State{}, notification("nt_1"))
	s, again := receive(t, s, notification("nt_1"))
	other := notification("nt_1")
	other.Processor = processor.Stripe
	s, elsewhere := receive(t, s, other)
	if first == nil || again != nil || elsewhere == nil || s.Revision != 2 || len(s.Waiting()) != 2 || s.Reference != "01a" {
		t.Fatalf("%v %v %v %+v", first, again, elsewhere, s)
	}
	if d := cmp.Diff(notification("nt_1"), first.(inbox.Received).Payload); d != "" {
		t.Error(d)
	}
	if n := s.Waiting()[1]; n.Revision != 2 || !n.ReceivedAt.Equal(noon) || n.Processor != processor.Stripe {
		t.Errorf("%+v", n)
	}
	before := s
	applied, err := inbox.DecideApplied(s, inbox.WasApplied{At: noon.Add(time.Hour), Processor: processor.Adyen, ID: "nt_1", Effect: "payment.captured"})
	if err != nil || applied == nil {
		t.Fatal(applied, err)
	}
	s = inbox.Evolve(s, applied)
	if len(s.Waiting()) != 1 || s.Notifications[0] != (inbox.Notification{Processor: processor.Adyen, ID: "nt_1", Outcome: inbox.Applied}) || len(before.Waiting()) != 2 {
		t.Errorf("%+v, before %+v", s, before)
	}
	for what, e := range map[string]func() (inbox.Event, error){
		"applied again": func() (inbox.Event, error) { return inbox.DecideApplied(s, applied.(inbox.WasApplied)) },
		"rejected after": func() (inbox.Event, error) {
			return inbox.DecideRejected(s, inbox.WasRejected{Processor: processor.Adyen, ID: "nt_1"})
		},
		"never received": func() (inbox.Event, error) {
			return inbox.DecideApplied(s, inbox.WasApplied{Processor: processor.Adyen, ID: "nt_9"})
		},
		"after rejection": func() (inbox.Event, error) {
			rejected, _ := inbox.DecideRejected(s, inbox.WasRejected{Processor: processor.Stripe, ID: "nt_1", Refusal: "no"})
			return inbox.DecideApplied(inbox.Evolve(s, rejected), inbox.WasApplied{Processor: processor.Stripe, ID: "nt_1"})
		},
	} {
		if e, err := e(); e != nil || err != nil {
			t.Errorf("%s: %v %v", what, e, err)
		}
	}
}

// TestBounds: an inbox takes 500, repeats of those aside, and waiting ends after a week.
func TestBounds(t *testing.T) {
	var s inbox.State
	for i := range 500 {
		s, _ = receive(t, s, notification(fmt.Sprint(i)))
	}
	if _, err := inbox.DecideReceive(s, inbox.Receive{Payload: notification("one more")}); !errors.Is(err, inbox.ErrFull) {
		t.Error(err)
	}
	if _, again := receive(t, s, notification("0")); again != nil {
		t.Error(again)
	}
	n := s.Notifications[0]
	if n.Stale(noon.Add(7*24*time.Hour)) || !n.Stale(noon.Add(7*24*time.Hour+1)) {
		t.Error("the end of waiting")
	}
}

// TestSwept checks that the end of a completed search is recorded every ten minutes of the
// processor's time, and never moves back. A time in the future is ignored, even if it is recorded.
func TestSwept(t *testing.T) {
	var s inbox.State
	now := noon.Add(time.Hour)
	sweep := func(through time.Time) bool {
		e, err := inbox.DecideSwept(s, inbox.Swept{At: now, Processor: processor.Adyen, Through: through})
		if err != nil {
			t.Fatal(err)
		}
		if e != nil {
			s = inbox.Evolve(s, e)
		}
		return e != nil
	}
	for _, c := range []struct {
		through  time.Time
		recorded bool
	}{
		{noon, true}, {noon, false}, {noon.Add(9 * time.Minute), false}, {noon.Add(-time.Hour), false}, {noon.Add(10 * time.Minute), true},
		{now.Add(time.Second), false}, {now.AddDate(100, 0, 0), false},
	} {
		if sweep(c.through) != c.recorded {
			t.Errorf("%s: %v", c.through, !c.recorded)
		}
	}
	if !s.SweptBy(now).Equal(noon.Add(10*time.Minute)) || s.Reference != "ADYEN" || s.Revision != 2 {
		t.Errorf("%+v", s)
	}
	s = inbox.Evolve(s, inbox.Swept{At: now, Processor: processor.Adyen, Through: now.AddDate(100, 0, 0)})
	if by := s.SweptBy(now); !by.IsZero() || !sweep(noon) || !s.SweptBy(now).Equal(noon) {
		t.Errorf("after a time to come: %s, %+v", by, s)
	}
}

// TestEvolveIsTotal: events fold into any state.
func TestEvolveIsTotal(t *testing.T) {
	for _, e := range inbox.Events() {
		if s := inbox.Evolve(inbox.State{}, e); s.Revision != 1 {
			t.Errorf("%s: %+v", e.Type(), s)
		}
	}
}
