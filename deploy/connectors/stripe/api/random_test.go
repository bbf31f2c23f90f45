package api_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"payledger/deploy/connectors/stripe/double"
	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/connector"
)

var modes = []double.Mode{
	double.LostBefore, double.LostAfter, double.Late, double.RateLimited, double.Unavailable, double.Fails, double.FailsAfter, double.Refused, double.Garbage,
}

// play is one payment with faults.
type play struct {
	*rig
	random    *rand.Rand
	reference domain.PaymentID
	keys      int
	steps     map[string]int
}

// TestRandom: whatever is lost, late, refused, or answered with a fault that Stripe keeps, no
// operation is done twice, none is done behind a fence, none is lost, and an outcome stays.
func TestRandom(t *testing.T) {
	steps := map[string]int{}
	for seed := range uint64(20) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := newRig(t)
			random := rand.New(rand.NewPCG(seed, 1))
			for i := range 3 {
				p := &play{rig: r, random: random, reference: domain.PaymentID(fmt.Sprintf("01random%d", i)), steps: steps}
				p.payment()
			}
		})
	}
	t.Log(steps)
	for _, step := range []string{"KNOWN", "FENCED", "late", "days", "SUCCEEDED", "FAILED"} {
		if steps[step] == 0 {
			t.Errorf("no run had %s", step)
		}
	}
}

func (p *play) payment() {
	sale := p.operation(processor.Authorize, "", 1000, false)
	want := double.Moved{}
	if sale.State == processor.Succeeded {
		want.Authorized = 1
		for _, step := range []struct {
			kind   processor.Kind
			amount domain.Amount
			final  bool
		}{{processor.Capture, 300, false}, {processor.Refund, 100, false}, {processor.Capture, 400, true}, {processor.Refund, 250, false}, {processor.Void, 1000, false}} {
			done := p.operation(step.kind, sale.ProcessorTransactionID, step.amount, step.final)
			if done.State != processor.Succeeded {
				continue
			}
			switch step.kind {
			case processor.Capture:
				want.Captured += int64(step.amount)
			case processor.Refund:
				want.Refunded += int64(step.amount)
			case processor.Void:
				want.Cancelled = 1
			}
		}
	}
	p.double.Flush()
	if moved := p.double.ByReference()[string(p.reference)]; moved != want {
		p.t.Errorf("%s: Stripe moved %+v, the outcomes are %+v", p.reference, moved, want)
	}
}

// operation sends an operation, with faults, until its outcome is known, and returns it; without
// state if it is fenced.
func (p *play) operation(kind processor.Kind, parent string, amount domain.Amount, final bool) processor.Answer {
	p.keys++
	op := processor.Operation{
		Kind: kind, Key: domain.OperationKey(fmt.Sprintf("%s.%d", p.reference, p.keys)), Processor: processor.Stripe, Reference: p.reference,
		ParentID: parent, Amount: amount, Currency: "EUR", Final: final, NotifyURL: "http://127.0.0.1:1/n",
	}
	for range p.random.IntN(4) {
		p.double.Order(&double.Fault{Mode: modes[p.random.IntN(len(modes))], Method: http.MethodPost})
	}
	for try := 0; ; try++ {
		if try >= 40 && try%20 == 0 { // the faults end, and days pass
			p.double.Heal()
			p.double.Flush()
			p.clock.Advance(26 * time.Hour)
		}
		if try > 150 {
			p.t.Fatalf("%s has no outcome", op.Key)
		}
		switch action := p.random.IntN(10); {
		case action < 4 || try == 0:
			if kind == processor.Authorize {
				op.Card = card("4242424242424242")
			}
			_, _ = p.kit.Send(p.t.Context(), op)
		case action == 4:
			p.double.Flush()
			p.steps["late"]++
		case action == 5:
			p.deliver()
		case action == 6 && p.random.IntN(3) == 0:
			p.double.Flush() // nothing is on its way for days
			p.clock.Advance(time.Duration(p.random.IntN(30)) * time.Hour)
			p.steps["days"]++
		case action == 7 && try > 3:
			if found, err := p.kit.Fence(p.t.Context(), processor.Stripe, op.Key); err == nil && found.State == processor.Fenced {
				p.steps["FENCED"]++
				return processor.Answer{}
			}
		default:
			found, err := p.kit.Lookup(p.t.Context(), processor.Stripe, op.Key)
			if err != nil || found.State != processor.Known || found.Answer.State == processor.Pending {
				continue
			}
			p.steps["KNOWN"]++
			p.steps[string(found.Answer.State)]++
			p.double.Heal()
			p.double.Flush()
			p.deliver()
			again, err := p.kit.Lookup(p.t.Context(), processor.Stripe, op.Key)
			if err != nil || again.Answer == nil || again.Answer.State != found.Answer.State {
				p.t.Errorf("%s was %+v, and is %+v", op.Key, found.Answer, again.Answer)
			}
			return *found.Answer
		}
	}
}

// TestSkew: an operation is found although the clocks of Stripe and the connector differ by
// minutes.
func TestSkew(t *testing.T) {
	for _, skew := range []time.Duration{-9 * time.Minute, 9 * time.Minute} {
		r := newRig(t)
		ahead := &clock{offset: skew}
		r.double.Now = ahead.Now
		o := authorization("4242424242424242")
		r.double.Order(&double.Fault{Mode: double.LostAfter, Path: intentsPath})
		if _, err := r.vendor.Send(t.Context(), o); err == nil {
			t.Fatal("it has an answer")
		}
		if found := must[connector.Finding](t)(r.vendor.Find(t.Context(), o)); found.Result == nil {
			t.Errorf("%s: %+v", skew, found)
		}
	}
}
