package instrument_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"payledger/domain"
	"payledger/domain/instrument"
	"payledger/domain/processor"
)

func fold(events ...instrument.Event) (s instrument.State) {
	for _, e := range events {
		s = instrument.Evolve(s, e)
	}
	return s
}

// moment is a minute after the tokenization.
var moment = at.Add(time.Minute)

func vaultedNow() instrument.Vaulted {
	return instrument.Vaulted{At: moment, CustomerID: "customer-1", Personal: &domain.Sealed{Key: "secret-2"}}
}

func verifying() instrument.VerificationRequested {
	return instrument.VerificationRequested{At: moment, Processor: processor.Adyen, MerchantID: "m", Currency: "EUR"}
}

// TestVault checks who may vault which token for whom, and which cases are no refusal (D5).
func TestVault(t *testing.T) {
	single := tokenized(instrument.SingleUse)
	guest := single
	guest.CustomerID = ""
	used := instrument.Used{At: moment, Payment: "payment-1"}
	rows := []struct {
		name    string
		state   instrument.State
		command instrument.Vault
		records bool
		refusal domain.Reason
	}{
		{"unused", fold(single), instrument.Vault{CustomerID: "customer-1"}, true, ""},
		{"a guest's", fold(guest), instrument.Vault{CustomerID: "anybody"}, true, ""},
		{"another customer's", fold(single), instrument.Vault{CustomerID: "customer-2"}, false, domain.ReasonRequestValidation},
		{"by the payment that used it, for the payment's customer", fold(single, used), instrument.Vault{CustomerID: "customer-2", Payment: "payment-1"}, true, ""},
		{"by another payment", fold(single, used), instrument.Vault{CustomerID: "customer-1", Payment: "payment-2"}, false, domain.ReasonInstrumentToken},
		{"used", fold(single, used), instrument.Vault{CustomerID: "customer-1"}, false, domain.ReasonInstrumentToken},
		{"expired", fold(single), instrument.Vault{At: single.ExpiresAt, CustomerID: "customer-1"}, false, domain.ReasonInstrumentToken},
		{"expired, by its payment", fold(single, used), instrument.Vault{At: single.ExpiresAt, CustomerID: "customer-1", Payment: "payment-1"}, true, ""},
		{"unknown", instrument.State{}, instrument.Vault{CustomerID: "customer-1"}, false, domain.ReasonInstrumentToken},
		{"vaulted", fold(single, vaultedNow()), instrument.Vault{CustomerID: "customer-1"}, false, ""},
		{"vaulted for another", fold(single, vaultedNow()), instrument.Vault{CustomerID: "customer-2"}, false, domain.ReasonRequestValidation},
		{"deleted", fold(single, vaultedNow(), instrument.Deleted{At: moment}), instrument.Vault{CustomerID: "customer-1"}, false, domain.ReasonInstrumentToken},
		{"invalid", fold(single, instrument.Invalidated{At: moment}), instrument.Vault{CustomerID: "customer-1"}, false, domain.ReasonInstrumentToken},
	}
	for _, row := range rows {
		if row.command.At.IsZero() {
			row.command.At = moment
		}
		e, err := instrument.DecideVault(row.state, row.command)
		if (e != nil) != row.records || (err == nil) != (row.refusal == "") || err != nil && domain.ReasonOf(err) != row.refusal {
			t.Errorf("%s: %v, %v", row.name, e, err)
		}
		if row.command.Payment != "" {
			continue
		}
		e, err = instrument.DecideVerify(row.state, instrument.Verify{At: row.command.At, CustomerID: row.command.CustomerID})
		if (e != nil) != row.records || (err == nil) != (row.refusal == "") {
			t.Errorf("%s: verify: %v, %v", row.name, e, err)
		}
	}
}

// TestLifeInTheVault checks a token's state after each event.
func TestLifeInTheVault(t *testing.T) {
	s := fold(tokenized(instrument.SingleUse), vaultedNow())
	if !s.Vaulted() || !s.Good() || !s.Fresh() || s.Verified || s.CustomerID != "customer-1" || s.Personal.Key != "secret-2" || !s.Card.CVVAvailable {
		t.Errorf("vaulted: %+v", s)
	}
	s = instrument.Evolve(s, instrument.Used{At: moment, Payment: "payment-1"})
	if s.Fresh() || s.Card.CVVAvailable || s.UsedBy != "payment-1" {
		t.Errorf("paid: %+v", s)
	}
	verified := vaultedNow()
	verified.Verified = 2
	s = fold(tokenized(instrument.SingleUse), verifying())
	want := &instrument.Verification{Revision: 2, Processor: processor.Adyen, MerchantID: "m", Currency: "EUR"}
	if d := cmp.Diff(want, s.Verification); d != "" || s.Vaulted() {
		t.Error(d)
	}
	if s = instrument.Evolve(s, verified); !s.Verified || s.Verification != nil || s.Fresh() || s.Card.CVVAvailable {
		t.Errorf("verified: %+v", s)
	}
	for _, e := range []instrument.Event{instrument.Deleted{At: moment}, instrument.Invalidated{At: moment}, instrument.VerificationFailed{At: moment}} {
		if ended := instrument.Evolve(s, e); ended.Good() || ended.Fresh() || !s.Good() {
			t.Errorf("%s: %+v", e.Type(), ended)
		}
	}
	if s = instrument.Evolve(s, instrument.MadeDefault{At: moment}); !s.DefaultAt.Equal(moment) {
		t.Errorf("default: %+v", s)
	}
}

// TestVerification: one request at a time, another in its place when its processor could not, an
// end when it says no.
func TestVerification(t *testing.T) {
	s := fold(tokenized(instrument.SingleUse), verifying())
	ask := instrument.Verify{At: moment, CustomerID: "customer-1", Target: instrument.Verification{Processor: processor.Stripe, MerchantID: "n", Currency: "EUR"}}
	if e, err := instrument.DecideVerify(s, ask); e != nil || err != nil {
		t.Error("under way:", e, err)
	}
	ask.Instead = 2
	e, err := instrument.DecideVerify(s, ask)
	if d := cmp.Diff(instrument.Event(instrument.VerificationRequested{At: moment, Processor: processor.Stripe, MerchantID: "n", Currency: "EUR"}), e); d != "" || err != nil {
		t.Error(d, err)
	}
	if e, err := instrument.DecideFailVerification(s, instrument.FailVerification{At: moment, Request: 1}); e != nil || err != nil {
		t.Error("another request:", e, err)
	}
	e, err = instrument.DecideFailVerification(s, instrument.FailVerification{At: moment, Request: 2, Code: "05"})
	if err != nil || instrument.Evolve(s, e).Good() {
		t.Error(e, err)
	}
}

// TestEnds: delete, default and invalidate, in every situation (D5, §3.3).
func TestEnds(t *testing.T) {
	single, kept := fold(tokenized(instrument.SingleUse)), fold(tokenized(instrument.SingleUse), vaultedNow())
	rows := []struct {
		name                          string
		state                         instrument.State
		deletes, defaults, ends       bool
		deleteRefused, defaultRefused bool
	}{
		{"unknown", instrument.State{}, false, false, false, true, true},
		{"single use", single, false, false, true, true, true},
		{"vaulted", kept, true, true, true, false, false},
		{"deleted", instrument.Evolve(kept, instrument.Deleted{At: moment}), false, false, true, false, true},
		{"invalid", instrument.Evolve(kept, instrument.Invalidated{At: moment}), false, false, false, true, true},
	}
	for _, row := range rows {
		e, err := instrument.DecideDelete(row.state, moment)
		if (e != nil) != row.deletes || (err != nil) != row.deleteRefused {
			t.Errorf("%s: delete: %v, %v", row.name, e, err)
		}
		if e, err = instrument.DecideMakeDefault(row.state, moment); (e != nil) != row.defaults || (err != nil) != row.defaultRefused {
			t.Errorf("%s: default: %v, %v", row.name, e, err)
		}
		if e, err = instrument.DecideInvalidate(row.state, instrument.Invalidate{At: moment, Session: "session-1", Attempt: "01a"}); (e != nil) != row.ends || err != nil {
			t.Errorf("%s: invalidate: %v, %v", row.name, e, err)
		}
		paid := instrument.Evolve(row.state, instrument.Used{At: moment, Payment: "01other"})
		if e, err = instrument.DecideInvalidate(paid, instrument.Invalidate{At: moment, Session: "session-1", Attempt: "01a"}); e != nil || err != nil {
			t.Errorf("%s: invalidate what another attempt has paid with: %v, %v", row.name, e, err)
		}
		if e, err = instrument.DecideLose(row.state, moment); (e != nil) != row.defaults || err != nil {
			t.Errorf("%s: lose: %v, %v", row.name, e, err)
		}
		if e, err = instrument.DecideInvalidate(row.state, instrument.Invalidate{At: moment, Session: "session-2", Attempt: "01a"}); e != nil || err != nil {
			t.Errorf("%s: invalidate from another session: %v, %v", row.name, e, err)
		}
	}
}

// TestVaultedBy checks that a decision made before the vaulting does not depend on it.
func TestVaultedBy(t *testing.T) {
	later, atOnce := fold(tokenized(instrument.SingleUse), vaultedNow()), fold(tokenized(instrument.MultiUse))
	if later.VaultedBy(moment.Add(-1)) || !later.VaultedBy(moment) || !atOnce.VaultedBy(at) || fold(tokenized(instrument.SingleUse)).VaultedBy(moment) {
		t.Errorf("%+v, %+v", later, atOnce)
	}
}
