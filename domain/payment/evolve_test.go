package payment_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
)

// rich is a payment with an operation of every kind, all of them open, and room behind every list,
// as a decoder may leave it.
func rich() payment.State {
	s := with(
		authorize(1, payment.StateAction), job(2, processor.Complete, 0, payment.StateRequested),
		job(3, processor.Capture, 500, payment.StatePending), job(4, processor.Void, 750, payment.StatePending),
		job(5, processor.Refund, 100, payment.StatePending), job(6, processor.Adjust, 2000, payment.StatePending),
	)
	s.UpdatedAt, s.KeyHashes, s.Metadata = at, []string{"used"}, domain.Metadata{"k": "v"}
	s.Route = []payment.Target{{Processor: processor.Adyen, MerchantID: "m-1"}}
	s.Action, s.Intent = &payment.Action{Name: "3DS_AUTHENTICATION", ExpiresAt: at}, &payment.Intent{At: at}
	for i := range s.Operations {
		s.Operations[i].Answers = slices.Grow([]payment.OperationAnswer{{EventID: "first"}}, 3)
	}
	s.Operations, s.KeyHashes = slices.Grow(s.Operations, 4), slices.Grow(s.KeyHashes, 4)
	return s
}

// about fills the fields that an event needs: its request, an amount, a key.
func about(e payment.Event, revision uint64) payment.Event {
	v := reflect.New(reflect.TypeOf(e)).Elem()
	for name, value := range map[string]any{
		"At": at.Add(time.Hour), "Request": revision, "Action": uint64(1), "Amount": domain.Amount(7), "KeyHash": "new",
		"EventID": "second", "Reason": "reason", "Metadata": domain.Metadata{"more": true}, "Failure": domain.ApplicationError,
		"ID": domain.PaymentID("01payment"), "Payment": domain.PaymentID("01other"), "ExpiresAt": at.Add(2 * time.Hour),
		"Currency": domain.Currency("EUR"), "Route": []payment.Target{{Processor: processor.Stripe}},
	} {
		if f := v.FieldByName(name); f.IsValid() && f.CanSet() && reflect.TypeOf(value).AssignableTo(f.Type()) {
			f.Set(reflect.ValueOf(value))
		}
	}
	return v.Interface().(payment.Event)
}

// answersTo returns the operation of rich that an answer belongs to. It uses the name of the
// answer's type.
func answersTo(e payment.Event) uint64 {
	name := reflect.TypeOf(e).Name()
	for i, prefix := range []string{"Auth", "Completion", "Capture", "Void", "Refund", "Adjust"} {
		if len(name) >= len(prefix) && name[:len(prefix)] == prefix {
			return uint64(i + 1)
		}
	}
	return 1
}

// TestEvolveKnowsEveryEvent: each event changes more than the revision and the time.
func TestEvolveKnowsEveryEvent(t *testing.T) {
	for _, e := range payment.Events() {
		before := rich()
		if _, first := e.(payment.KeyClaimed); first {
			before = payment.State{}
		}
		after := payment.Evolve(before, about(e, answersTo(e)))
		if after.Revision != before.Revision+1 {
			t.Errorf("%s: revision %d", e.Type(), after.Revision)
		}
		if _, unneeded := e.(payment.AdjustmentUnneeded); after.UpdatedAt.After(before.UpdatedAt) == unneeded {
			t.Errorf("%s moved dateUpdated from %s to %s", e.Type(), before.UpdatedAt, after.UpdatedAt)
		}
		after.Revision, after.UpdatedAt = before.Revision, before.UpdatedAt
		if reflect.DeepEqual(before, after) {
			t.Errorf("%s changes nothing", e.Type())
		}
	}
}

// TestStatesShareNothing: folding an event leaves the state it is folded into as it was, the room
// behind its lists included: two nodes may fold different events into one state.
func TestStatesShareNothing(t *testing.T) {
	for _, e := range payment.Events() {
		s := rich()
		text := asJSON(t, s)
		payment.Evolve(s, about(e, answersTo(e)))
		if now := asJSON(t, s); now != text {
			t.Errorf("%s changed the state it was folded into:\n%s", e.Type(), cmp.Diff(text, now))
		}
		for _, op := range s.Operations[len(s.Operations):cap(s.Operations)] {
			if op.Revision != 0 {
				t.Errorf("%s wrote behind the operations", e.Type())
			}
		}
		for _, key := range s.KeyHashes[len(s.KeyHashes):cap(s.KeyHashes)] {
			if key != "" {
				t.Errorf("%s wrote behind the keys", e.Type())
			}
		}
		for _, op := range s.Operations {
			for _, a := range op.Answers[len(op.Answers):cap(op.Answers)] {
				if a.EventID != "" {
					t.Errorf("%s wrote behind the answers of %s", e.Type(), op.Kind)
				}
			}
		}
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestStateSurvivesTheLog: a state travels with its newest event (I2) and comes back as it was.
func TestStateSurvivesTheLog(t *testing.T) {
	for _, group := range situations {
		for _, where := range group.rows {
			s := where.story(t).state
			var back payment.State
			if err := json.Unmarshal([]byte(asJSON(t, s)), &back); err != nil {
				t.Fatal(err)
			}
			if s.Past = nil; !reflect.DeepEqual(s, back) {
				d := cmp.Diff(s, back)
				t.Errorf("%s: %s", where.name, d)
			}
		}
	}
}

// TestUnknownEventChangesNothing checks that Evolve cannot fail, and counts the revision of an
// unknown event, too.
func TestUnknownEventChangesNothing(t *testing.T) {
	s := rich()
	got := payment.Evolve(s, nil)
	if got.Revision != s.Revision+1 {
		t.Errorf("revision %d after %d", got.Revision, s.Revision)
	}
	got.Revision = s.Revision
	if d := cmp.Diff(s, got); d != "" {
		t.Error(d)
	}
}
