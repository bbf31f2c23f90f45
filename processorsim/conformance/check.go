package conformance

import (
	"context"
	"fmt"
	"slices"

	"payledger/processorsim/protocol"
)

// check is a promise and its trial.
type check struct {
	id      string
	promise string
	meaning string
	moves   bool // it sends operations or fences: only with Config.Destructive
	needs   needs
	run     func(*probe)
}

// needs is what a check cannot do without.
type needs struct {
	cards  []protocol.TestCase
	can    []protocol.Capability
	token  bool
	secret bool
}

// catalogue lists every check, in the order of a run. The last ones look at all that the run did.
func catalogue() []check {
	return slices.Concat(
		declarationChecks, errorChecks, lookupChecks, keyChecks, fenceChecks, authorizeChecks, amountChecks, captureChecks, refundChecks,
		voidChecks, pendingChecks, answerChecks, disputeChecks, listChecks, tokenChecks, secretChecks,
	)
}

// Check is a promise of the protocol.
type Check struct{ ID, Promise, Meaning string }

// Checks lists every check, in the order of a run.
func Checks() []Check {
	var all []Check
	for _, c := range catalogue() {
		all = append(all, Check{c.id, c.promise, c.meaning})
	}
	return all
}

// try runs one check, unless something is missing.
func (s *suite) try(ctx context.Context, c check) Finding {
	f := Finding{ID: c.id, Promise: c.promise, Meaning: c.meaning}
	if f.Result, f.Reason = s.missing(c); f.Result != "" {
		return f
	}
	p := &probe{suite: s, reference: newReference()}
	p.ctx = withLog(ctx, &p.log)
	if f.Result, f.Reason = p.outcome(c); f.Result == Broken {
		f.Exchanges = p.log.last()
	}
	return f
}

// missing returns the result of a check that cannot be tried, with the reason; "" if it can.
func (s *suite) missing(c check) (Result, string) {
	if c.moves && !s.Destructive {
		return NotTried, "it moves money: --destructive"
	}
	for _, capability := range c.needs.can {
		for _, lack := range s.declared.Cannot {
			if lack.Capability == capability {
				return Cannot, lack.Instead
			}
		}
	}
	if c.moves && s.declared.TestCards[protocol.CardApproved] == "" {
		return NotTried, "the connector declares no test card that is approved"
	}
	for _, card := range c.needs.cards {
		if s.declared.TestCards[card] == "" {
			return NotTried, fmt.Sprintf("the connector declares no test card %q", card)
		}
	}
	switch {
	case c.needs.token && s.Token == "":
		return NotTried, "no token of the ledger was given: --processor-token"
	case c.needs.secret && s.Secret == "":
		return NotTried, "no secret of the notifications was given: --processor-secret"
	}
	return "", ""
}

// untried is the panic of a probe that lacks something.
type untried string

// broken is the panic of a probe that found a broken promise.
type broken string

// outcome runs the check and returns its result, with the reason unless the promise holds.
func (p *probe) outcome(c check) (result Result, reason string) {
	defer func() {
		switch found := recover().(type) {
		case nil:
		case broken:
			result, reason = Broken, p.recorder.masked(string(found))
		case untried:
			result, reason = NotTried, string(found)
		default:
			panic(found)
		}
	}()
	c.run(p)
	return Holds, ""
}

// broken ends the check: the promise is broken.
func (p *probe) broken(format string, args ...any) { panic(broken(fmt.Sprintf(format, args...))) }

// brokenAt is broken, and the report ends with an exchange.
func (p *probe) brokenAt(e Exchange, format string, args ...any) {
	p.log.add(&e)
	p.broken(format, args...)
}

// untried ends the check: it cannot be tried.
func (p *probe) untried(format string, args ...any) { panic(untried(fmt.Sprintf(format, args...))) }
