package workflows

import (
	"strings"
	"sync"

	"payledger/domain/workflow"
	"payledger/eventstore/workflows/condition"
)

// maxCompiled limits the number of cached conditions.
const maxCompiled = 1024

// conditions caches compiled conditions.
type conditions struct {
	compiler func(eventType string) *condition.Compiler

	mu   sync.Mutex
	kept map[compiledKey]compiled
}

type compiledKey struct{ eventType, text string }

// compiled is a compiled condition, or its faults.
type compiled struct {
	*condition.Condition
	faults []condition.Fault
}

func (c *conditions) of(d workflow.Definition) compiled {
	key := compiledKey{d.Trigger.EventType, d.Condition}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, there := c.kept[key]; there {
		return known
	}
	var made compiled
	made.Condition, made.faults = c.compiler(d.Trigger.EventType).Compile(d.Condition)
	if c.kept == nil || len(c.kept) >= maxCompiled {
		c.kept = map[compiledKey]compiled{}
	}
	c.kept[key] = made
	return made
}

// allowance is the total cost of an account's conditions on one event, in CEL's units.
const allowance uint64 = 5_000

// evaluate evaluates a condition and subtracts its cost from the allowance. A condition that this build does not
// support, or that has no allowance left, does not hold.
func (c compiled) evaluate(v condition.Values, spend *uint64) workflow.Evaluation {
	switch {
	case len(c.faults) > 0:
		return workflow.Evaluation{Error: "does not compile: " + c.faults[0].String()}
	case *spend == 0:
		return workflow.Evaluation{Error: "cost limit exceeded: the account's conditions together cost too much on one event"}
	}
	verdict, cost := c.Evaluate(v)
	*spend -= min(*spend, cost)
	return verdict
}

func (e *Engine) compilerFor(eventType string) *condition.Compiler {
	if strings.HasPrefix(eventType, "DISPUTE.") {
		return e.DisputeCompiler
	}
	return e.Compiler
}

// Check returns the faults of a condition for an event type; nil: it compiles (D19).
func (e *Engine) Check(eventType, text string) []condition.Fault {
	_, faults := e.compilerFor(eventType).Compile(text)
	return faults
}
