package workflows

import (
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"payledger/domain/workflow"
	"payledger/eventstore/cache"
	"payledger/eventstore/commands/workflows/condition"
)

// TestBlockedForItsAccount: a condition that was given up in one account is evaluated in another
// account that has the same text.
func TestBlockedForItsAccount(t *testing.T) {
	type priced struct {
		Amount int64 `json:"amount"`
	}
	compiler, err := condition.NewCompiler(map[string]reflect.Type{"payment": reflect.TypeFor[priced]()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	e := &Engine{Config: Config{Compiler: compiler}, conditions: cache.New[compiledKey](maxCompiled, func(compiled) int { return 1 }, nil)}
	same := workflow.Definition{Trigger: workflow.Trigger{EventType: "PAYMENT.STATUS"}, Condition: "payment.amount == 1"}
	quick := condition.Values{"payment": priced{1}}
	synctest.Test(t, func(t *testing.T) {
		endless := condition.Values{"payment": func() any { <-time.After(time.Hour); return priced{1} }}
		spend := allowance
		if v := e.conditionOf("one", same).evaluate(endless, &spend); v.Holds || v.Error == "" {
			t.Errorf("given up: %+v", v)
		}
		if v := e.conditionOf("one", same).evaluate(quick, &spend); v.Holds {
			t.Errorf("the same account: %+v", v)
		}
		if v := e.conditionOf("two", same).evaluate(quick, &spend); !v.Holds {
			t.Errorf("another account: %+v", v)
		}
		<-time.After(time.Hour)
	})
}
