package workflows

import (
	"strings"
	"sync"

	"payledger/domain/workflow"
	"payledger/eventstore/workflows/condition"
)

// maxCompiled is how many conditions are kept compiled.
const maxCompiled = 1024

// conditions keeps conditions compiled.
type conditions struct {
	compiler func(eventType string) *condition.Compiler

	mu   sync.Mutex
	kept map[compiledKey]compiled
}

type compiledKey struct{ eventType, text string }

// compiled is a condition, or why it is none.
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

// allowance is what all conditions of an account together may cost on one event, in CEL's units.
const allowance uint64 = 5_000

// evaluate gives the verdict, and takes its cost from what may still be spent; a condition that this build does not
// understand, or that comes when nothing is left, does not hold.
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

// compilerFor gives the compiler for what an event type is about.
func (e *Engine) compilerFor(eventType string) *condition.Compiler {
	if strings.HasPrefix(eventType, "DISPUTE.") {
		return e.DisputeCompiler
	}
	return e.Compiler
}

// Check gives what is wrong with the condition of a workflow that an event type starts; nil when it compiles (D19).
func (e *Engine) Check(eventType, text string) []condition.Fault {
	_, faults := e.compilerFor(eventType).Compile(text)
	return faults
}
