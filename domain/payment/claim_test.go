package payment_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
)

func claim(id domain.PaymentID) payment.ClaimKey {
	return payment.ClaimKey{At: at, Account: "acct", Payment: id, Operation: processor.Capture}
}

// TestClaimIsNoPayment checks that the claim of a key has the id of the payment that the key could
// have created, and makes no payment (D9).
func TestClaimIsNoPayment(t *testing.T) {
	event, err := payment.DecideClaim(payment.State{}, claim("01payment"))
	s := payment.Evolve(payment.State{}, mustDecide(t, event, err))
	want := payment.KeyClaimed{At: at, Account: "acct", Payment: "01payment", Operation: processor.Capture}
	if d := cmp.Diff(payment.State{Account: "acct", Revision: 1, CreatedAt: at, UpdatedAt: at, Claim: &want}, s); d != "" {
		t.Error(d)
	}
	if s.Exists() || s.Check() != nil || s.Owner() != "01payment" {
		t.Errorf("exists %v, wrong %v, of %s", s.Exists(), s.Check(), s.Owner())
	}
	r := payment.Request{At: at}
	for name, decide := range map[string]func() (payment.Event, error){
		"capture": func() (payment.Event, error) { return payment.DecideCapture(s, payment.Capture{Request: r}) },
		"cancel":  func() (payment.Event, error) { return payment.DecideCancel(s, payment.Cancel{Request: r}) },
		"refund":  func() (payment.Event, error) { return payment.DecideRefund(s, payment.Refund{Request: r}) },
		"resume":  func() (payment.Event, error) { return payment.DecideResume(s, payment.Resume{Request: r}) },
	} {
		if event, err := decide(); event != nil || domain.ReasonOf(err) != domain.ReasonPayment {
			t.Errorf("%s of a claim: %v, %v", name, event, err)
		}
	}
}

// TestClaims: a key belongs to the first payment it was sent for, for ever; the repeat for the same
// payment goes on to that payment, which knows whether the key was used (D9).
func TestClaims(t *testing.T) {
	claimed := payment.Evolve(payment.State{}, payment.KeyClaimed(claim("01payment")))
	made := payment.Evolve(payment.State{}, mustCreate(t))
	for _, row := range []struct {
		name  string
		at    payment.State
		asks  domain.PaymentID
		owner domain.PaymentID // "" lets through
	}{
		{"claimed for the same payment", claimed, "01payment", ""},
		{"claimed for another one", claimed, "01other", "01payment"},
		{"made a payment, and is sent for it again", made, "01payment", "01payment"},
		{"made a payment, and is sent for another one", made, "01other", "01payment"},
	} {
		event, err := payment.DecideClaim(row.at, claim(row.asks))
		var refused *domain.Error
		switch errors.As(err, &refused); {
		case event != nil:
			t.Errorf("%s: claimed once more", row.name)
		case row.owner == "" && err != nil:
			t.Errorf("%s: %v", row.name, err)
		case row.owner != "" && (refused == nil || refused.Reason != domain.ReasonIdempotencyKeyExists || refused.Payment != row.owner):
			t.Errorf("%s: %v", row.name, err)
		}
	}
}

// TestCreateOnAClaim: a key that was used for an operation makes no payment, and names the one it
// belongs to.
func TestCreateOnAClaim(t *testing.T) {
	claimed := payment.Evolve(payment.State{}, payment.KeyClaimed(claim("01other")))
	event, err := payment.DecideCreate(claimed, fullCreate())
	var refused *domain.Error
	if errors.As(err, &refused); event != nil || refused == nil || refused.Reason != domain.ReasonIdempotencyKeyExists || refused.Payment != "01other" {
		t.Errorf("%v, %v", event, err)
	}
}

// TestGiveUp checks that no payment can get a given-up id, and that an existing payment stays.
func TestGiveUp(t *testing.T) {
	giveUp := payment.GiveUp{At: at, Account: "acct", Instead: "01other"}
	e, err := payment.DecideGiveUp(payment.State{}, giveUp)
	if e == nil || err != nil {
		t.Fatal(e, err)
	}
	s := payment.Evolve(payment.State{}, e)
	if s.Exists() || s.Owner() != "01other" {
		t.Errorf("%+v", s)
	}
	if e, err := payment.DecideCreate(s, payment.Create{At: at, ID: "01payment", Account: "acct"}); e != nil || domain.ReasonOf(err) != domain.ReasonPayment {
		t.Error(e, err)
	}
	for _, there := range []payment.State{s, {Revision: 1, ID: "01payment"}} {
		if e, err := payment.DecideGiveUp(there, giveUp); e != nil || err != nil {
			t.Error(e, err)
		}
	}
}
