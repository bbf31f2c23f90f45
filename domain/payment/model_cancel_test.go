package payment_test

import (
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
)

// cancelled is the rule of D5.8 about captureMode AUTOMATIC in two facts, beside the rules and
// their model: whether the merchant has cancelled the payment, without a refusal since of a void
// that was requested after the approval was recorded; and when that was. As long as it is cancelled
// no answer, to whatever operation and in whatever order, requests a capture.
type cancelled struct {
	is       bool
	approved uint64 // revision of the approval; 0: none
}

// asked notes a cancel that was accepted.
func (c *cancelled) asked(event payment.Event) {
	switch event.(type) {
	case payment.CancellationIntended, payment.VoidRequested:
		c.is = true
	}
}

// heard notes an approval, and the refusal of a void. It returns a sentence if the event of an
// answer captures the payment although it is cancelled, or requests a void in the place of one that
// was requested after the approval: that would have no end.
func (c *cancelled) heard(event payment.Event, a processor.Answer, after payment.State) (fault string) {
	requested, found := after.Operation(after.Revision)
	switch e := event.(type) {
	case nil:
		return ""
	case payment.Authorized:
		c.approved = after.Revision
	case payment.VoidFailed:
		late := c.approved > 0 && e.Request >= c.approved
		if late && found && requested.Kind == processor.Void {
			return "the void of an approved payment is requested again and again"
		}
		if late && !a.Retryable && a.Code != processor.CodeFenced && a.Code != processor.CodeFault {
			c.is = false
		}
	}
	if found && requested.Kind == processor.Capture && c.is {
		return "a cancelled payment is captured"
	}
	return ""
}

// orders plays all orders of the merchant's cancels, the customer's returns and the answers of a
// processor.
type orders struct {
	t       *testing.T
	at      time.Time
	answers []processor.Answer
	played  int
}

// TestCancelledIsNotCaptured: in no order of seven cancels, returns of the customer and answers
// does captureMode AUTOMATIC capture a payment that the merchant cancelled, unless the processor
// refused a void that was requested after the approval was recorded (D5.8). In no order is a void
// requested again without end.
func TestCancelledIsNotCaptured(t *testing.T) {
	for name, automatic := range map[string]bool{"AUTOMATIC": true, "MANUAL": false} {
		t.Run(name, func(t *testing.T) { playOrders(t, automatic) })
	}
}

func playOrders(t *testing.T, automatic bool) {
	o := &orders{t: t, at: at, answers: []processor.Answer{
		{State: processor.Succeeded}, {State: processor.Pending}, {State: processor.ActionRequired}, {State: processor.Failed, Code: "refused"},
		{State: processor.Failed, Code: "busy", Retryable: true}, {State: processor.Failed, Code: processor.CodeFault}, {State: processor.Failed, Code: processor.CodeFenced},
	}}
	created, err := payment.DecideCreate(payment.State{}, payment.Create{
		At: at, ID: "01payment", Account: "acct", OrderID: "order-1", Currency: "EUR", Amount: new(domain.Amount(1250)), AutoCapture: automatic,
		Method: payment.Method{Type: "PAYMENT_CARD", AuthorizationType: "FINAL"},
		Route:  []payment.Target{{Processor: processor.Adyen, MerchantID: "m"}, {Processor: processor.Stripe, MerchantID: "m"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	o.play(payment.Evolve(payment.State{}, created), cancelled{}, "", 7)
	if o.played < 30_000 {
		t.Errorf("only %d orders were played", o.played)
	}
}

func (o *orders) play(s payment.State, is cancelled, story string, left int) {
	if left == 0 {
		o.played++
		return
	}
	next := o.at.Add(time.Duration(s.Revision) * time.Second)
	if event, err := payment.DecideCancel(s, payment.Cancel{Request: payment.Request{At: next}}); err == nil && event != nil {
		wished := is
		wished.asked(event)
		o.play(payment.Evolve(s, event), wished, story+" cancel;", left-1)
	}
	back := payment.Resume{Request: payment.Request{At: next}, Outcome: processor.Authenticated}
	if action := s.RequiredAction(); action != nil {
		back.Action = action.Revision
		if event, err := payment.DecideResume(s, back); err == nil {
			o.play(payment.Evolve(s, event), is, story+" resume;", left-1)
		}
	}
	for _, op := range s.Operations {
		for _, a := range o.answers {
			o.answer(s, is, story, left, payment.RecordAnswer{At: next, Request: op.Revision, Answer: a, ActionExpiresAt: next.Add(time.Hour)})
		}
	}
}

// answer plays an answer, unless the payment does not take it.
func (o *orders) answer(s payment.State, is cancelled, story string, left int, c payment.RecordAnswer) {
	event, err := payment.DecideAnswer(s, c)
	if err != nil {
		return
	}
	after := payment.Evolve(s, event)
	op, _ := s.Operation(c.Request)
	story += " " + string(op.Kind) + " " + string(c.Answer.State) + " " + c.Answer.Code + ";"
	if fault := is.heard(event, c.Answer, after); fault != "" {
		o.t.Fatalf("%s:%s", fault, story)
	}
	o.play(after, is, story, left-1)
}
