package instrument_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"payledger/domain"
	"payledger/domain/instrument"
	"payledger/domain/processor"
)

var at = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func tokenized(tokenType string) instrument.Tokenized {
	return instrument.Tokenized{
		At: at, Token: "token-1", Account: "acct", ExpiresAt: at.Add(time.Hour), Session: "session-1", CustomerID: "customer-1",
		TokenType: tokenType, AnalyticsID: "analytics-1", Card: domain.NewCard("4111111111111111", "12", "2030", true),
		Personal: &domain.Sealed{Key: "secret-1", Box: []byte{1}},
	}
}

func TestTokenize(t *testing.T) {
	e, err := instrument.DecideTokenize(instrument.State{}, instrument.Tokenize{Tokenized: tokenized(instrument.SingleUse)})
	if err != nil {
		t.Fatal(err)
	}
	s := instrument.Evolve(instrument.State{}, e)
	want := instrument.State{
		Token: "token-1", Account: "acct", Revision: 1, CreatedAt: at, UpdatedAt: at, ExpiresAt: at.Add(time.Hour),
		Session: "session-1", CustomerID: "customer-1", Type: instrument.SingleUse, AnalyticsID: "analytics-1",
		Card: tokenized("").Card, Personal: tokenized("").Personal,
	}
	if d := cmp.Diff(want, s); d != "" {
		t.Error(d)
	}
	if e.Type() != "instrument.tokenized" || !s.Exists() || s.Vaulted() {
		t.Error("the token does not exist as it should")
	}
	again, err := instrument.DecideTokenize(s, instrument.Tokenize{Tokenized: tokenized(instrument.MultiUse)})
	if again != nil || domain.ReasonOf(err) != domain.ReasonPayment {
		t.Errorf("a second tokenization: %v, %v", again, err)
	}
}

// TestUse: a single-use token is claimed once, by one payment (D5).
func TestUse(t *testing.T) {
	fresh := instrument.Evolve(instrument.State{}, tokenized(instrument.SingleUse))
	vaulted := instrument.Evolve(instrument.State{}, tokenized(instrument.MultiUse))
	used := instrument.Evolve(fresh, instrument.Used{At: at.Add(time.Minute), Payment: "payment-1"})
	claim := instrument.Used{At: at.Add(time.Minute), Payment: "payment-1"}
	rows := []struct {
		name    string
		state   instrument.State
		use     instrument.Use
		event   instrument.Event
		refused bool
	}{
		{"the first claim", fresh, instrument.Use{At: claim.At, Payment: claim.Payment}, claim, false},
		{"the same payment again", used, instrument.Use{At: claim.At, Payment: claim.Payment}, nil, false},
		{"the same payment after the expiry", used, instrument.Use{At: at.Add(2 * time.Hour), Payment: "payment-1"}, nil, false},
		{"another payment, the claim being void", used, instrument.Use{At: at.Add(time.Minute), Payment: "payment-2", Instead: "payment-1"}, instrument.Used{At: at.Add(time.Minute), Payment: "payment-2"}, false},
		{"another payment, another claim being void", used, instrument.Use{At: at.Add(time.Minute), Payment: "payment-2", Instead: "payment-3"}, nil, true},
		{"another payment", used, instrument.Use{At: at.Add(time.Minute), Payment: "payment-2"}, nil, true},
		{"an unknown token", instrument.State{}, instrument.Use{At: claim.At, Payment: claim.Payment}, nil, true},
		{"at the expiry", fresh, instrument.Use{At: at.Add(time.Hour), Payment: "payment-1"}, nil, true},
		{"just before the expiry", fresh, instrument.Use{At: at.Add(time.Hour - 1), Payment: "payment-1"}, instrument.Used{At: at.Add(time.Hour - 1), Payment: "payment-1"}, false},
		{"vaulted, the first", vaulted, instrument.Use{At: claim.At, Payment: claim.Payment}, claim, false},
		{"vaulted, again", instrument.Evolve(vaulted, claim), instrument.Use{At: claim.At, Payment: "payment-2"}, nil, false},
		{"vaulted, long after", instrument.Evolve(vaulted, claim), instrument.Use{At: at.Add(9999 * time.Hour), Payment: "payment-2"}, nil, false},
		{"deleted", instrument.Evolve(vaulted, instrument.Deleted{At: at}), instrument.Use{At: at, Payment: "payment-2"}, nil, true},
		{"deleted later", instrument.Evolve(vaulted, instrument.Deleted{At: claim.At.Add(1)}), instrument.Use{At: claim.At, Payment: claim.Payment}, claim, false},
		{"invalid", instrument.Evolve(fresh, instrument.Invalidated{At: at}), instrument.Use{At: at, Payment: "payment-2"}, nil, true},
	}
	for _, row := range rows {
		e, err := instrument.DecideUse(row.state, row.use)
		if d := cmp.Diff(row.event, e); d != "" || (err != nil) != row.refused {
			t.Errorf("%s: %v, %v", row.name, e, err)
		}
		if err != nil && domain.ReasonOf(err) != domain.ReasonPayment {
			t.Errorf("%s: refused as %s", row.name, domain.ReasonOf(err))
		}
	}
	if used.UsedBy != "payment-1" || used.Revision != 2 || !used.UpdatedAt.Equal(at.Add(time.Minute)) || fresh.UsedBy != "" {
		t.Errorf("used: %+v", used)
	}
}

// TestPaysAt: the token of a processor pays there only; a number pays everywhere.
func TestPaysAt(t *testing.T) {
	number := instrument.Evolve(instrument.State{}, tokenized(instrument.SingleUse))
	of := tokenized(instrument.SingleUse)
	of.Processor = processor.Stripe
	token := instrument.Evolve(instrument.State{}, of)
	for _, name := range processor.Names {
		if !number.PaysAt(name) || token.PaysAt(name) != (name == processor.Stripe) {
			t.Errorf("%s: %v, %v", name, number.PaysAt(name), token.PaysAt(name))
		}
	}
}
