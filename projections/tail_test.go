package projections

import (
	"encoding/json"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"payledger/domain/payment"
	"payledger/domain/seedtest"
	"payledger/eventstore"
	"payledger/projections/paymentjson"
)

// tailed folds the events of the log's payments with a tail, and returns everything that is shown
// of each payment after each event.
func tailed(r *rapid.T, all []*eventstore.Recorded, tail int) (shown []string) {
	defer func(before int) { payment.Tail = before }(payment.Tail)
	payment.Tail = tail
	states := map[string]payment.State{}
	for _, recorded := range all {
		if recorded.Aggregate != eventstore.Payments.Name {
			continue
		}
		event, err := eventstore.Payments.Event(recorded)
		if err != nil {
			r.Fatal(err)
		}
		s := payment.Evolve(states[recorded.ID], event)
		states[recorded.ID] = s
		for _, o := range []paymentjson.Options{{Events: true, ActionToken: "TOKEN"}, {Webhook: true}, {}} {
			text, err := json.Marshal(paymentjson.Render(s, customer, o))
			if err != nil {
				r.Fatal(err)
			}
			shown = append(shown, string(text))
		}
		waiting := waitingOf(&s)
		shown = append(shown, fmt.Sprint(s.Status(), s.Capturable(), s.Refundable(), s.Vaults(), waiting, targetOf(&s)))
	}
	return shown
}

// TestTailIsNotShown checks that the Payment JSON, the JSON of webhooks, and the columns of views
// do not depend on the data that left the state of a payment: they are byte for byte equal to those
// from a state that keeps everything. It is not parallel: it sets payment.Tail.
func TestTailIsNotShown(t *testing.T) {
	longest := 0
	seedtest.Check(t, func(r *rapid.T) {
		l := newLogbook(3)
		s := l.create(0)
		if longest == 0 { // the first life is long, whatever is drawn
			s = l.answer(s, approved())
			for range 10 {
				s = l.capture(s, 1)
				s = l.answerTo(s, s.Revision, approved())
			}
		}
		for range rapid.IntRange(10, 120).Draw(r, "steps") {
			s = randomStep(l, r, s)
		}
		longest = max(longest, len(s.Whole().Operations))
		whole := tailed(r, l.all, 1000)
		for _, tail := range []int{0, 1, 3} {
			for i, got := range tailed(r, l.all, tail) {
				if got != whole[i] {
					r.Fatalf("with a tail of %d it shows\n%s\nnot\n%s", tail, got, whole[i])
				}
			}
		}
	})
	if longest < 10 {
		t.Errorf("the longest life has %d operations", longest)
	}
}
