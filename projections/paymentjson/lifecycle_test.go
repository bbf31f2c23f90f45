package paymentjson

import (
	"fmt"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
)

// life is one payment that the domain's own deciders lead through its states, a second a step.
type life struct {
	t      *testing.T
	now    time.Time
	state  payment.State
	events []payment.Event
	seen   func(payment.State) // called after every step
}

var (
	adyen  = payment.Target{Processor: processor.Adyen, MerchantID: "north-adyen"}
	stripe = payment.Target{Processor: processor.Stripe, MerchantID: "north-stripe"}
	paypal = payment.Target{Processor: processor.PayPal, MerchantID: "north-paypal"}
)

// born starts a life; change, unless nil, modifies the command that creates the payment.
func born(t *testing.T, seen func(payment.State), change func(*payment.Create)) *life {
	t.Helper()
	l := &life{t: t, now: start, seen: seen}
	c := createCommand(start, 1)
	c.Amount, c.IdempotencyKey = new(domain.Amount(1000)), ""
	if change != nil {
		change(&c)
	}
	e, err := payment.DecideCreate(l.state, c)
	l.fold(e, err)
	return l
}

func (l *life) fold(e payment.Event, err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
	l.events, l.state = append(l.events, e), payment.Evolve(l.state, e)
	if err := l.state.Check(); err != nil {
		l.t.Fatal(err)
	}
	if l.seen != nil {
		l.seen(l.state)
	}
}

// request returns the request of the next command.
func (l *life) request() payment.Request {
	l.now = l.now.Add(time.Second)
	return payment.Request{At: l.now, EventID: fmt.Sprintf("33333333-0000-4000-8000-%012d", len(l.events)+1)}
}

// answer records an answer to the newest operation that may have one.
func (l *life) answer(a processor.Answer) *life {
	l.t.Helper()
	for i := len(l.state.Operations) - 1; i >= 0; i-- {
		if op := l.state.Operations[i]; op.State.Open() || op.State == payment.StateAction {
			return l.answerTo(op.Revision, a)
		}
	}
	l.t.Fatal("nothing waits for an answer")
	return l
}

func (l *life) answerTo(request uint64, a processor.Answer) *life {
	l.t.Helper()
	r := l.request()
	l.fold(payment.DecideAnswer(l.state, payment.RecordAnswer{
		At: r.At, EventID: r.EventID, Request: request, Answer: a, ActionExpiresAt: r.At.Add(24 * time.Hour),
	}))
	return l
}

// ok, pend and fail are answers that name the operation they are to.
func (l *life) ok() *life {
	l.t.Helper()
	return l.answer(l.answerOf(processor.Succeeded, "", ""))
}

func (l *life) pend() *life {
	l.t.Helper()
	return l.answer(l.answerOf(processor.Pending, "", ""))
}

func (l *life) fail(code, message string) *life {
	l.t.Helper()
	return l.answer(l.answerOf(processor.Failed, code, message))
}

func (l *life) answerOf(state processor.State, code, message string) processor.Answer {
	n := len(l.state.Whole().Operations)
	if of := l.state.NewestRequest(); of.Kind == processor.Complete { // the transaction of its authorization
		n = 1
	}
	return processor.Answer{
		State: state, ProcessorTransactionID: fmt.Sprintf("ptx-%d", n),
		ProcessorEventID: fmt.Sprintf("pev-%d", len(l.events)+1), Code: code, Message: message,
	}
}

func (l *life) authorize() *life {
	l.t.Helper()
	a := l.answerOf(processor.Succeeded, "", "")
	a.AuthorizationCode = "A1B2C3"
	return l.answer(a)
}

// act moves the payment to the state in which its customer must act.
func (l *life) act() *life {
	l.t.Helper()
	return l.answer(l.answerOf(processor.ActionRequired, "", ""))
}

func (l *life) timeOut() *life {
	l.t.Helper()
	r := l.request()
	op := l.state.NewestRequest()
	l.fold(payment.DecideTimeOut(l.state, payment.TimeOut{At: r.At, Request: op.Revision}))
	return l
}

func (l *life) resume(outcome processor.Outcome) *life {
	l.t.Helper()
	l.fold(payment.DecideResume(l.state, payment.Resume{
		Request: l.request(), Action: l.state.Authorization().Revision, Outcome: outcome,
	}))
	return l
}

func (l *life) capture(amount domain.Amount, final bool) *life {
	l.t.Helper()
	l.fold(payment.DecideCapture(l.state, payment.Capture{Request: l.request(), Amount: &amount, Final: final}))
	return l
}

func (l *life) cancel(reason string) *life {
	l.t.Helper()
	l.fold(payment.DecideCancel(l.state, payment.Cancel{Request: l.request(), Reason: reason}))
	return l
}

func (l *life) refund(amount domain.Amount, order, reason string) *life {
	l.t.Helper()
	l.fold(payment.DecideRefund(l.state, payment.Refund{Request: l.request(), Amount: &amount, OrderID: order, Reason: reason}))
	return l
}

func (l *life) adjust(amount domain.Amount) *life {
	l.t.Helper()
	l.fold(payment.DecideAdjust(l.state, payment.Adjust{Request: l.request(), Amount: amount}))
	return l
}

func estimated(c *payment.Create)    { c.Method.AuthorizationType = "ESTIMATED" }
func threeTargets(c *payment.Create) { c.Route = []payment.Target{adyen, stripe, paypal} }
func capturedAuto(c *payment.Create) { c.AutoCapture = true }
func (l *life) retryable(state processor.State, code, message string) *life {
	l.t.Helper()
	a := l.answerOf(state, code, message)
	a.Retryable = true
	return l.answer(a)
}

// lifecycles are the lives that the goldens show, and that the invariants are tried on.
var lifecycles = map[string]func(*testing.T, func(payment.State)) *life{
	"captured": func(t *testing.T, seen func(payment.State)) *life {
		return born(t, seen, nil).authorize().capture(1000, true).pend().ok()
	},
	"automatic_capture": func(t *testing.T, seen func(payment.State)) *life {
		return born(t, seen, capturedAuto).authorize().ok()
	},
	"partially_captured": func(t *testing.T, seen func(payment.State)) *life {
		return born(t, seen, nil).authorize().capture(400, false).ok().capture(300, false).pend()
	},
	"partially_captured_released": func(t *testing.T, seen func(payment.State)) *life {
		return born(t, seen, nil).authorize().capture(400, false).ok().cancel("rest is out of stock").ok()
	},
	"capture_failed": func(t *testing.T, seen func(payment.State)) *life {
		return born(t, seen, nil).authorize().capture(1001, true).capture(600, false).fail("technical", "connection to the network lost").capture(600, true).timeOut()
	},
	"refunded": func(t *testing.T, seen func(payment.State)) *life {
		return born(t, seen, nil).authorize().capture(1000, true).ok().refund(300, "return-1", "too small").ok().
			refund(200, "", "").pend().refund(100, "", "damaged")
	},
	"refund_failed": func(t *testing.T, seen func(payment.State)) *life {
		return born(t, seen, nil).authorize().capture(1000, true).ok().refund(700, "", "").pend().refund(900, "", "").
			fail("account_closed", "the card account is closed").refund(1000, "", "").timeOut()
	},
	"cancelled": func(t *testing.T, seen func(payment.State)) *life {
		return born(t, seen, nil).authorize().cancel("customer changed his mind").pend().ok()
	},
	"cancellation_failed": func(t *testing.T, seen func(payment.State)) *life {
		return born(t, seen, nil).authorize().cancel("").fail("captured_elsewhere", "it was captured at the processor")
	},
	"cancelled_by_intent": func(t *testing.T, seen func(payment.State)) *life {
		return born(t, seen, nil).timeOut().cancel("too slow").ok().ok()
	},
	"action_required": func(t *testing.T, seen func(payment.State)) *life {
		return born(t, seen, nil).act()
	},
	"action_completed": func(t *testing.T, seen func(payment.State)) *life {
		return born(t, seen, nil).act().resume(processor.Authenticated).
			answer(processor.Answer{State: processor.Failed, Retryable: true, Code: "technical", Message: "try again"}).
			resume(processor.Authenticated).pend().authorize()
	},
	"action_failed": func(t *testing.T, seen func(payment.State)) *life {
		return born(t, seen, nil).act().resume(processor.AuthenticationFailed).
			answer(processor.Answer{State: processor.Declined, Code: "1A", Message: "authentication failed", ThreeDS: "AUTH_FAILED"})
	},
	"rerouted": func(t *testing.T, seen func(payment.State)) *life {
		return born(t, seen, threeTargets).retryable(processor.Failed, "technical", "connection to the network lost").
			retryable(processor.Declined, "91", "issuer unavailable").authorize().capture(1000, true).ok()
	},
	"adjusted": func(t *testing.T, seen func(payment.State)) *life {
		return born(t, seen, estimated).authorize().adjust(1500).pend().ok().adjust(2000).fail("limit", "above the limit").capture(1500, true).ok()
	},
}
