package history

import (
	"context"
	"testing"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
)

// TestRawAnswer: a call shows the body of its answer, and the body's additional fields until their
// key is destroyed. An answer that was recorded without a body shows none.
func TestRawAnswer(t *testing.T) {
	ctx := context.Background()
	store, vault := ledger(t)
	const key = "customer-key.acct1.x"
	if _, err := vault.Seal(ctx, key, domain.Personal{CardholderName: "Ada"}); err != nil {
		t.Fatal(err)
	}
	sealed, err := vault.SealText(ctx, key, 0, `{"buyer":"Ada"}`)
	if err != nil || sealed == nil {
		t.Fatal(sealed, err)
	}
	withBody := func(s payment.State, r payment.Request) (payment.Event, error) {
		return payment.DecideAnswer(s, payment.RecordAnswer{At: r.At, EventID: r.EventID, Request: 3, Answer: processor.Answer{
			State: processor.Succeeded, RawAnswer: &processor.RawAnswer{Body: `{"state":"SUCCEEDED"}`, Sealed: sealed, Cut: true},
		}})
	}
	lead(t, store, id, create, answer(1, processor.Succeeded), capture(1000), withBody)
	h := Reader{Store: store, Secrets: vault}
	for _, want := range []string{`{"buyer":"Ada"}`, ""} {
		entries, _, err := h.part(owner, id, Part{Expand: []string{ExpandProcessor}})
		if err != nil || len(entries) != 4 {
			t.Fatal(len(entries), err)
		}
		if raw := entries[1].Processor[0].Answer.Raw; raw != nil {
			t.Errorf("%+v", raw)
		}
		if raw := entries[3].Processor[0].Answer.Raw; raw == nil || *raw != (Raw{Body: `{"state":"SUCCEEDED"}`, Additional: want, Cut: true}) {
			t.Errorf("%+v", raw)
		}
		if err := vault.Destroy(ctx, key); err != nil {
			t.Fatal(err)
		}
	}
}
