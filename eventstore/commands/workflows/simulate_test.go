package workflows_test

import (
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/instrument"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/domain/workflow"
	"payledger/eventstore"
	"payledger/eventstore/commands/workflows"
)

// fill appends the lives of payments to the log: authorized, and every other one captured in two
// parts.
func (r *rig) fill(payments int) {
	r.t.Helper()
	var running sync.WaitGroup
	numbers := make(chan int)
	for range 64 {
		running.Go(func() {
			for i := range numbers {
				r.live(i)
			}
		})
	}
	for i := range payments {
		numbers <- i
	}
	close(numbers)
	running.Wait()
}

// live appends one payment's life.
func (r *rig) live(i int) {
	id := domain.PaymentIDForKey(r.by.Account, fmt.Sprint("fill ", i))
	key := eventstore.Payments.Key(r.by.Account, string(id))
	amount := domain.Amount(1000 + i%5000)
	tip := eventstore.Tip[payment.State]{}
	do := func(decide func(payment.State, payment.Request) (payment.Event, error)) {
		meta, err := r.well.store.NewMeta("test", "request")
		if err != nil {
			r.t.Error(err)
			return
		}
		meta.At = meta.At.Add(r.ahead)
		by := func(s payment.State) (payment.Event, error) {
			return decide(s, payment.Request{At: meta.At, EventID: meta.EventID})
		}
		if tip.Recorded == nil {
			tip, err = eventstore.ExecuteNew(background, r.well.store, eventstore.Payments, key, meta, by)
		} else {
			tip, err = eventstore.ExecuteFrom(background, r.well.store, eventstore.Payments, tip, meta, by)
		}
		if err != nil {
			r.t.Error(err)
		}
	}
	answer := func(s payment.State, q payment.Request) (payment.Event, error) {
		return payment.DecideAnswer(s, payment.RecordAnswer{At: q.At, EventID: q.EventID, Request: s.Revision, Answer: processor.Answer{
			State: processor.Succeeded, At: q.At, ProcessorTransactionID: "tx", Risk: &processor.Risk{CVVSource: "ISSUER", CVVResult: []string{"MATCHED", "NOT_MATCHED"}[i%2]},
		}})
	}
	capture := func(amount domain.Amount, final bool) func(payment.State, payment.Request) (payment.Event, error) {
		return func(s payment.State, q payment.Request) (payment.Event, error) {
			return payment.DecideCapture(s, payment.Capture{Request: q, Amount: &amount, Final: final})
		}
	}
	do(func(s payment.State, q payment.Request) (payment.Event, error) {
		return payment.DecideCreate(s, payment.Create{
			At: q.At, ID: id, Account: r.by.Account, OrderID: fmt.Sprint("order-", i), Currency: "EUR", Amount: &amount,
			Metadata: domain.Metadata{"shop": "north"}, Route: []payment.Target{{Processor: processor.Adyen, MerchantID: "m"}},
			Method: payment.Method{
				Token: "t", Type: instrument.MethodCard, TokenizedAt: q.At, AuthorizationType: "FINAL",
				Card: domain.Card{FirstDigits: "411111", Last4Digits: "1111", Network: "VISA", ExpirationMonth: "03", ExpirationYear: "2099"},
			},
		})
	})
	do(answer)
	if i%2 == 0 {
		do(capture(400, false))
		do(answer)
		do(capture(600, true))
		do(answer)
	}
}

// simulate tries a definition on the rig's account.
func (n *node) simulate(t testing.TB, d workflow.Definition, from, to *time.Time) workflows.Report {
	t.Helper()
	report, err := n.engine.Simulate(background, workflows.Simulation{Account: n.rig.by.Account, Workflow: d, From: from, To: to})
	must(t, err)
	return report
}

func defined(event, status, condition string, actions ...workflow.Action) workflow.Definition {
	return workflow.Definition{Name: "n", Trigger: workflow.Trigger{EventType: event, Status: status}, Condition: condition, Actions: actions}
}

// TestSimulate: a simulation reports the actions that each event would have started, in the state
// of the payment then, and the refusals, and changes nothing (D20).
func TestSimulate(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fill(20) // 1000 to 1019, the even ones captured
	middle := time.Now()
	r.live(100) // 1100, captured
	n := r.start(nodeConfig{})
	five, one := domain.Amount(500), domain.Amount(1)
	for name, c := range map[string]struct {
		d                      workflow.Definition
		triggered, met, failed int
		sums                   string
	}{
		"share": {
			defined(workflow.OnPaymentStatus, "AUTHORIZED", `payment.amount < 1010`, workflow.Action{Type: workflow.Capture, Share: 500_000}),
			21, 10, 0, "0 capture 10 taken 0 refused 5020 EUR of 10",
		},
		"refused": {
			defined(workflow.OnPaymentStatus, "PARTIALLY_SETTLED", `payment.amount > 1010`, workflow.Action{Type: workflow.Capture}, workflow.Action{Type: workflow.Refund, Amount: &five}),
			11, 5, 0, "0 capture 5 taken 0 refused 3160 EUR of 5, 1 refund 5 taken 0 refused 2500 EUR of 5",
		},
		"cancel settled": {
			defined(workflow.OnPaymentStatus, "SETTLED", `true`, workflow.Action{Type: workflow.Cancel}, workflow.Action{Type: workflow.HTTPRequest, URL: "https://x"}),
			11, 11, 0, "0 cancel 0 taken 11 refused 0 EUR of 0",
		},
		"refund too much": {
			defined(workflow.OnPaymentStatus, "SETTLED", `payment.orderId == "order-0"`, workflow.Action{Type: workflow.Refund, Amount: &five}, workflow.Action{Type: workflow.Refund, Amount: &five}, workflow.Action{Type: workflow.Refund, Amount: &five}),
			11, 1, 0, "0 refund 1 taken 0 refused 500 EUR of 1, 1 refund 1 taken 0 refused 500 EUR of 1, 2 refund 0 taken 1 refused 0 EUR of 0",
		},
		"several runs of a payment": {
			defined(workflow.OnPaymentStatus, "", `true`, workflow.Action{Type: workflow.Capture}),
			43, 43, 0, "0 capture 32 taken 11 refused 21290 EUR of 21",
		},
		"several runs of an amount": {
			defined(workflow.OnPaymentStatus, "", `true`, workflow.Action{Type: workflow.Refund, Amount: &one}),
			43, 43, 0, "0 refund 22 taken 21 refused 22 EUR of 11",
		},
		"errors": {
			defined(workflow.OnPaymentStatus, "AUTHORIZED", `payment.customer.email == "x"`, workflow.Action{Type: workflow.Cancel}), 21, 0, 21, "",
		},
		"nothing": {defined(workflow.OnPaymentRefund, "", `true`, workflow.Action{Type: workflow.Cancel}), 0, 0, 0, ""},
	} {
		before := r.events()
		got := n.simulate(t, c.d, nil, nil)
		if got.Events != 1+10*2+11*6 || got.Triggered != c.triggered || got.Met != c.met || got.Errors != c.failed || sums(got) != c.sums || len(got.Payments) != c.met || got.More {
			t.Errorf("%s: %d events, %d triggered, %d met, %d errors, %s; want %+v", name, got.Events, got.Triggered, got.Met, got.Errors, sums(got), c)
		}
		if r.events() != before {
			t.Errorf("%s: something was recorded", name)
		}
	}
	all := defined(workflow.OnPaymentStatus, "AUTHORIZED", `true`, workflow.Action{Type: workflow.Capture})
	if got := n.simulate(t, all, &middle, nil); got.Met != 1 || got.Events != 6 {
		t.Errorf("from the middle on: %+v", got)
	}
	if got := n.simulate(t, all, nil, &middle); got.Met != 20 {
		t.Errorf("up to the middle: %+v", got)
	}
	if lines := r.books(""); lines != "" {
		t.Errorf("the processor was asked for %s", lines)
	}
}

func (r *rig) events() uint64 {
	r.t.Helper()
	for shard := range r.well.store.Shards() {
		_, err := r.well.store.LastSeq(background, shard)
		must(r.t, err)
	}
	return r.well.store.Events()
}

func sums(p workflows.Report) string {
	var got []string
	for _, s := range p.Sums {
		got = append(got, fmt.Sprintf("%d %s %d taken %d refused %d %s of %d", s.Step, s.Type, s.Count, s.Refused, s.Amount, s.Currency, s.Payments))
	}
	return strings.Join(got, ", ")
}

// processorTime returns the CPU time of the process so far, the log's server included.
func processorTime(t testing.TB) time.Duration {
	var used syscall.Rusage
	must(t, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// BenchmarkSimulate tries two workflows on the events of 20,000 payments; each iteration is all of
// them.
func BenchmarkSimulate(b *testing.B) {
	r := newRig(b)
	r.fill(20_000)
	n := r.start(nodeConfig{})
	must(b, n.views.CaughtUp(background))
	for name, d := range map[string]workflow.Definition{
		"authorized": defined(workflow.OnPaymentStatus, "AUTHORIZED", `payment.amount > 2000 && payment.riskData.cvvCheck.result == "MATCHED"`, workflow.Action{Type: workflow.Capture}),
		"settled":    defined(workflow.OnPaymentStatus, "SETTLED", `payment.processor.amountCaptured >= 1000`, workflow.Action{Type: workflow.Refund}),
	} {
		b.Run(name, func(b *testing.B) {
			events, before := 0, processorTime(b)
			for b.Loop() {
				events += n.simulate(b, d, nil, nil).Events
			}
			b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
			b.ReportMetric(float64(events)/(processorTime(b)-before).Seconds(), "events/cpu-s") // independent of other load
		})
	}
}
