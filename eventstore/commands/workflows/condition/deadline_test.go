package condition

import (
	"errors"
	"reflect"
	"strings"
	"testing"
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
	made.guard.blocked.Store(time.Now().UnixNano())
	made.guard.most = time.Minute
	if v, _ := made.Evaluate(Values{"payment": priced{1}}); !v.Holds {
		t.Errorf("afterwards %+v", v)
	}
}
