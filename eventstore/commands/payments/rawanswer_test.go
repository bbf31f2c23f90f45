package payments_test

import (
	"context"
	"testing"

	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/commands/commandstest"
	"payledger/eventstore/secrets"
)

// talkative is a connection to processors whose answers have a field that the protocol does not
// name.
type talkative struct{ processor.Port }

func (p talkative) Send(ctx context.Context, op processor.Operation) (processor.Answer, error) {
	answer, err := p.Port.Send(ctx, op)
	if err == nil {
		raw := *answer.RawAnswer
		raw.Additional = `{"buyer":"Zenobia"}`
		answer.RawAnswer = &raw
	}
	return answer, err
}

// answerOf returns the body of the answer in a payment's newest event.
func (r *rig) answerOf(paid payment.State) *processor.RawAnswer {
	r.T.Helper()
	tip, err := eventstore.NewRepositories(r.Store).Payments.Load(background, paid.Account, paid.ID, eventstore.Latest)
	if err != nil {
		r.T.Fatal(err)
	}
	event, err := eventstore.Payments.Event(tip.Recorded)
	if err != nil {
		r.T.Fatal(err)
	}
	switch e := event.(type) {
	case payment.Authorized:
		return e.RawAnswer
	case payment.Captured:
		return e.RawAnswer
	default:
		r.T.Fatalf("%T", event)
		return nil
	}
}

// TestRawAnswerIsRecorded: an outcome has the body of the processor's answer; its other fields are
// sealed under the key of the payment's personal data, and are not kept after an erasure (D14.17).
func TestRawAnswerIsRecorded(t *testing.T) {
	r := newRig(t)
	s := r.Service(talkative{r.Sim})
	paid := r.Pay(s, commandstest.ApprovedCard)
	key := secrets.PersonalKeyName(paid.Account, paid.CustomerID, paid.Session)
	raw := r.answerOf(paid)
	if raw == nil || raw.Additional != "" || raw.Sealed == nil || raw.Sealed.Key != key || raw.Redacted || raw.Body == "" {
		t.Fatalf("%+v", raw)
	}
	if text, err := r.Vault.OpenText(background, raw.Sealed); err != nil || text != `{"buyer":"Zenobia"}` {
		t.Errorf("opens as %q, %v", text, err)
	}
	if err := r.Vault.Destroy(background, key); err != nil {
		t.Fatal(err)
	}
	if text, err := r.Vault.OpenText(background, raw.Sealed); err != nil || text != "" {
		t.Errorf("erased, it opens as %q, %v", text, err)
	}
	captured, err := s.Capture(background, r.By, paid.ID, payment.Capture{})
	if err != nil {
		t.Fatal(err)
	}
	if raw := r.answerOf(captured); raw == nil || raw.Sealed != nil || !raw.Redacted || raw.Body == "" {
		t.Errorf("of an erased payment: %+v", raw)
	}
}
