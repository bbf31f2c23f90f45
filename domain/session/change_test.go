package session_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"payledger/domain"
	"payledger/domain/session"
)

// opened is a session with an amount.
func opened(mode string) session.State {
	e, err := session.DecideCreate(session.State{}, create(session.Fields{OrderID: "o", Currency: "EUR", Amount: ptr(domain.Amount(5)), ApprovalMode: mode}))
	if err != nil {
		panic(err)
	}
	return session.Evolve(session.State{}, e)
}

// TestChange checks that a session accepts new fields while its token is valid. A field that a new
// session could not have, and another approvalMode, are refused (§2.5, D4).
func TestChange(t *testing.T) {
	s := opened(session.ApprovalAuto)
	good := session.Fields{OrderID: "o2", Currency: "GBP", Order: lines(3), ApprovalMode: session.ApprovalAuto}
	e, err := session.DecideChange(s, session.Change{At: at.Add(time.Minute), Fields: good})
	if err != nil {
		t.Fatal(err)
	}
	want := s
	want.Revision, want.UpdatedAt, want.Fields = 2, at.Add(time.Minute), good
	if d := cmp.Diff(want, session.Evolve(s, e)); d != "" {
		t.Error(d)
	}
	for name, c := range map[string]session.Change{
		"no currency":     {At: at, Fields: session.Fields{Amount: ptr(domain.Amount(1)), ApprovalMode: session.ApprovalAuto}},
		"another mode":    {At: at, Fields: session.Fields{ApprovalMode: session.ApprovalManual}},
		"a sum too large": {At: at, Fields: session.Fields{Currency: "EUR", Order: lines(domain.MaxAmount, 1), ApprovalMode: session.ApprovalAuto}},
		"at its expiry":   {At: s.ExpiresAt, Fields: good},
	} {
		if e, err := session.DecideChange(s, c); e != nil || domain.ReasonOf(err) != domain.ReasonSessionValidation {
			t.Errorf("%s: %v, %v", name, e, err)
		}
	}
	if e, err := session.DecideChange(session.State{}, session.Change{At: at, Fields: good}); e != nil || domain.ReasonOf(err) != domain.ReasonSessionValidation {
		t.Errorf("unknown: %v, %v", e, err)
	}
}

// TestStartAttempt: the newest attempt of a MANUAL session is the current one (§2.5).
func TestStartAttempt(t *testing.T) {
	s := opened(session.ApprovalManual)
	for i, id := range []domain.AttemptID{"01a", "01b"} {
		e, moved, err := session.DecideStartAttempt(s, session.StartAttempt{At: at, Attempt: id, Before: uint64(i)})
		if e == nil || moved || err != nil {
			t.Fatal(e, moved, err)
		}
		if s = session.Evolve(s, e); s.Attempt != id || s.Attempts != uint64(i+1) {
			t.Fatalf("%+v", s)
		}
	}
	if e, moved, err := session.DecideStartAttempt(s, session.StartAttempt{At: at, Attempt: "01b", Before: 1}); e != nil || moved || err != nil {
		t.Error("again:", e, moved, err)
	}
	if e, moved, err := session.DecideStartAttempt(s, session.StartAttempt{At: at, Attempt: "01c", Before: 1}); e != nil || !moved || err != nil {
		t.Error("overtaken:", e, moved, err)
	}
	for name, state := range map[string]session.State{"automatic": opened(session.ApprovalAuto), "unknown": {}} {
		if e, _, err := session.DecideStartAttempt(state, session.StartAttempt{At: at, Attempt: "01a"}); e != nil || domain.ReasonOf(err) != domain.ReasonSessionValidation {
			t.Errorf("%s: %v, %v", name, e, err)
		}
	}
	if e, _, err := session.DecideStartAttempt(s, session.StartAttempt{At: s.ExpiresAt, Attempt: "01c", Before: 2}); e != nil || err == nil {
		t.Errorf("expired: %v, %v", e, err)
	}
}

// TestStartPayment: the browser makes one payment at a time; who has looked at another than the
// session names by now looks again (D12).
func TestStartPayment(t *testing.T) {
	s := opened(session.ApprovalAuto)
	var before domain.PaymentID
	for _, id := range []domain.PaymentID{"01a", "01b"} {
		e, moved, err := session.DecideStartPayment(s, session.StartPayment{At: at, Payment: id, Before: before})
		if e == nil || moved || err != nil {
			t.Fatal(e, moved, err)
		}
		if s = session.Evolve(s, e); s.Payment != id {
			t.Fatalf("%+v", s)
		}
		before = id
	}
	if e, moved, err := session.DecideStartPayment(s, session.StartPayment{At: s.ExpiresAt, Payment: "01b"}); e != nil || moved || err != nil {
		t.Error("again:", e, moved, err)
	}
	if e, moved, err := session.DecideStartPayment(s, session.StartPayment{At: at, Payment: "01c", Before: "01a"}); e != nil || !moved || err != nil {
		t.Error("overtaken:", e, moved, err)
	}
	if e, moved, err := session.DecideStartPayment(s, session.StartPayment{At: s.ExpiresAt, Payment: "01c", Before: "01b"}); e != nil || moved || err == nil {
		t.Error("expired:", e, moved, err)
	}
	if e, moved, err := session.DecideStartPayment(s, session.StartPayment{At: at, Payment: "01b", Before: "01b", Changed: true}); e != nil || moved || !errors.Is(err, session.ErrChanged) {
		t.Error("of other fields:", e, moved, err)
	}
	if e, _, err := session.DecideStartPayment(session.State{}, session.StartPayment{At: at}); e != nil || err == nil {
		t.Error("unknown:", e, err)
	}
}
