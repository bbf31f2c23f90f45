package workflows

import (
	"strings"

	"payledger/domain"
	"payledger/domain/workflow"
	"payledger/eventstore/commands/workflows/condition"
)

const maxCompiled = 1024 // conditions that are cached

// compiledKey has the account: a condition that was given up is blocked for its account only.
type compiledKey struct {
	account         domain.AccountID
	eventType, text string
}

type compiled struct {
	*condition.Condition
	faults []condition.Fault
}

func (e *Engine) conditionOf(account domain.AccountID, d workflow.Definition) compiled {
	key := compiledKey{account, d.Trigger.EventType, d.Condition}
	made, there := e.conditions.Get(key)
	if !there {
		made.Condition, made.faults = e.compilerFor(d.Trigger.EventType).Stored(d.Condition)
		e.conditions.Put(key, made)
	}
	return made
}

const allowance uint64 = 5_000 // the total cost of an account's conditions on one event, in CEL's units

// evaluate subtracts the cost from the allowance. A condition that this build does not support, or
// without allowance, does not hold.
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
