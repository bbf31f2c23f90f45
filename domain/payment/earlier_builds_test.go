package payment_test

import (
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
)

// recorded returns a payment of captureMode AUTOMATIC that is pending, with the events of an
// earlier build after that. The times are a second apart.
func recorded(events ...func(payment.Answer) payment.Event) payment.State {
	s := payment.Evolve(payment.State{}, payment.Created{
		At: at, ID: "01payment", Account: "acct", OrderID: "order-1", Currency: "EUR", Amount: 1250, AutoCapture: true,
		Method: payment.Method{Type: "PAYMENT_CARD"}, Route: []payment.Target{{Processor: processor.Adyen, MerchantID: "m"}},
	})
	for i, event := range events {
		s = payment.Evolve(s, event(payment.Answer{At: at.Add(time.Duration(i+1) * time.Second)}))
	}
	return s
}

func pendingThen(a payment.Answer) payment.Event {
	a.Request = 1
	return payment.AuthorizationPending{Answer: a}
}

func cancelThen(a payment.Answer) payment.Event { return payment.VoidRequested{At: a.At, Amount: 1250} }

func approvedThen(a payment.Answer) payment.Event {
	a.Request = 1
	return payment.Authorized{Answer: a}
}

func refusedThen(capture bool) func(payment.Answer) payment.Event {
	return func(a payment.Answer) payment.Event {
		a.Request = 3
		return payment.VoidFailed{FailedAnswer: payment.FailedAnswer{Answer: a, Failure: domain.ApplicationError}, Capture: capture}
	}
}

// TestFailedBeforeIntents: an earlier build recorded that the void of a pending payment failed, and
// no intent. The approval requests the void again: the payment is not captured, as D7 says.
func TestFailedBeforeIntents(t *testing.T) {
	s := recorded(pendingThen, cancelThen, refusedThen(false))
	event, err := payment.DecideAnswer(s, payment.RecordAnswer{At: at.Add(time.Hour), Request: 1, Answer: processor.Answer{State: processor.Succeeded}})
	if err != nil {
		t.Fatal(err)
	}
	s = payment.Evolve(s, event)
	if op := s.NewestRequest(); op.Kind != processor.Void || op.Revision != s.Revision || op.BeforeApproval {
		t.Errorf("%s requests %+v", event.Type(), op)
	}
}

// TestEventsOfEarlierBuilds: the events of an earlier build lead to the states that it recorded.
func TestEventsOfEarlierBuilds(t *testing.T) {
	captured := recorded(pendingThen, cancelThen, approvedThen, refusedThen(true))
	if op := captured.NewestRequest(); op.Kind != processor.Capture || op.Revision != 5 || captured.Intent != nil {
		t.Errorf("refused after the approval: %+v, intent %v", op, captured.Intent)
	}
	if void, _ := captured.Operation(3); void.BeforeApproval {
		t.Error("an approval without voiding marked the void")
	}
	captured = recorded(pendingThen, cancelThen, refusedThen(false), approvedThen)
	if op := captured.NewestRequest(); op.Kind != processor.Capture || op.Revision != 5 || captured.Intent != nil {
		t.Errorf("refused before the approval: %+v, intent %v", op, captured.Intent)
	}
}
