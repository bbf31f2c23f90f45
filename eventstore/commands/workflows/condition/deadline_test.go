package condition

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

type priced struct {
	Amount int64 `json:"amount"`
}

// TestGivenUp: an evaluation that does not end lets its caller go, and its condition is not tried
// again for a while.
func TestGivenUp(t *testing.T) {
	c, err := NewCompiler(map[string]reflect.Type{"payment": reflect.TypeFor[priced]()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	made, faults := c.Compile("payment.amount == 1")
	if faults != nil {
		t.Fatal(faults)
	}
	made.guard.most = 20 * time.Millisecond
	calls, end := make(chan bool, 10), make(chan bool)
	defer close(end)
	stuck := Values{"payment": func() any { calls <- true; <-end; return priced{1} }}
	for range 3 {
		v, cost := made.Evaluate(stuck)
		if v.Holds || !strings.Contains(v.Error, "cost") || cost != maxCost {
			t.Errorf("%+v at %d", v, cost)
		}
	}
	if _, err := made.Holds(stuck); !errors.Is(err, errTooLong) {
		t.Errorf("simulated: %v", err)
	}
	if <-calls; len(calls) > 0 { // the first may begin late
		t.Errorf("evaluated %d times", 1+len(calls))
	}
	if until := made.guard.blocked.Load(); *until == until.Round(0) { // a clock that is set would make the block longer
		t.Errorf("blocked by the wall clock: %s", until)
	}
	made.guard.blocked.Store(new(time.Now()))
	made.guard.most = time.Minute
	if v, _ := made.Evaluate(Values{"payment": priced{1}}); !v.Holds {
		t.Errorf("afterwards %+v", v)
	}
}

// TestStalled: an evaluation that takes longer than usual, as after a stall of the process, has its
// result. A condition that was given up is evaluated again after a while.
func TestStalled(t *testing.T) {
	c, err := NewCompiler(map[string]reflect.Type{"payment": reflect.TypeFor[priced]()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	made, faults := c.Compile("payment.amount == 1")
	if faults != nil {
		t.Fatal(faults)
	}
	synctest.Test(t, func(t *testing.T) {
		takes := func(d time.Duration) Values {
			return Values{"payment": func() any { <-time.After(d); return priced{1} }}
		}
		if v, _ := made.Evaluate(takes(periods*evaluateMost - time.Second)); !v.Holds {
			t.Errorf("stalled: %+v", v)
		}
		if v, _ := made.Evaluate(takes(time.Hour)); v.Holds {
			t.Errorf("endless: %+v", v)
		}
		if v, _ := made.Evaluate(takes(0)); v.Holds {
			t.Errorf("at once after it: %+v", v)
		}
		<-time.After(blockedFor)
		if v, _ := made.Evaluate(takes(0)); !v.Holds {
			t.Errorf("afterwards: %+v", v)
		}
		<-time.After(time.Hour)
	})
}
