package session_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"payledger/domain"
	"payledger/domain/session"
)

var at = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func ptr[T any](v T) *T { return &v }

func create(f session.Fields) session.Create {
	return session.Create{At: at, ID: "session-1", Account: "acct", ExpiresAt: at.Add(24 * time.Hour), Fields: f}
}

func lines(amounts ...domain.Amount) *domain.Order {
	o := &domain.Order{}
	for _, a := range amounts {
		o.LineItems = append(o.LineItems, domain.LineItem{Amount: a})
	}
	return o
}

// TestCreate checks which fields a session may have (§2.5, D4).
func TestCreate(t *testing.T) {
	fields := session.Fields{
		OrderID: "order-1", CustomerID: "customer-1", Currency: "EUR", Amount: ptr(domain.Amount(1250)), Order: lines(1000, 250),
		Metadata: domain.Metadata{"k": "v"}, Method: session.Method{Descriptor: "SHOP"}, ReturnURL: "https://shop.example",
		Personal: &domain.Sealed{Key: "secret-1", Box: []byte{1}},
	}
	e, err := session.DecideCreate(session.State{}, create(fields))
	if err != nil {
		t.Fatal(err)
	}
	s := session.Evolve(session.State{}, e)
	fields.ApprovalMode = session.ApprovalAuto // the default
	want := session.State{
		ID: "session-1", Account: "acct", Revision: 1, CreatedAt: at, UpdatedAt: at, ExpiresAt: at.Add(24 * time.Hour), Fields: fields,
	}
	if d := cmp.Diff(want, s); d != "" {
		t.Error(d)
	}
	if e.Type() != "session.created" || !s.Exists() || (session.State{}).Exists() {
		t.Error("the session does not exist as it should")
	}
	if manual, err := session.DecideCreate(session.State{}, create(session.Fields{ApprovalMode: session.ApprovalManual})); err != nil ||
		manual.(session.Created).ApprovalMode != session.ApprovalManual {
		t.Errorf("manual approval: %v, %v", manual, err)
	}
}

// TestCreateRefusals: every reason to refuse, and its neighbours that are taken.
func TestCreateRefusals(t *testing.T) {
	huge := lines(domain.MaxAmount, 1)
	rows := []struct {
		name    string
		state   session.State
		fields  session.Fields
		refused bool
	}{
		{"nothing at all", session.State{}, session.Fields{}, false},
		{"exists already", session.State{Revision: 1}, session.Fields{Currency: "EUR"}, true},
		{"amount without currency", session.State{}, session.Fields{Amount: ptr(domain.Amount(0))}, true},
		{"line items without currency", session.State{}, session.Fields{Order: lines(1)}, true},
		{"fees without currency", session.State{}, session.Fields{Order: &domain.Order{Fees: []domain.Fee{{Amount: 1}}}}, true},
		{"shipping without currency", session.State{}, session.Fields{Order: &domain.Order{Shipping: &domain.Shipping{Amount: new(domain.Amount(1))}}}, true},
		{"a way of shipping without a price", session.State{}, session.Fields{Order: &domain.Order{Shipping: &domain.Shipping{MethodID: "post"}}}, false},
		{"a country without currency", session.State{}, session.Fields{Order: &domain.Order{CountryCode: "FR"}}, false},
		{"a sum above the largest amount", session.State{}, session.Fields{Currency: "EUR", Order: huge}, true},
		{"fees above the largest amount", session.State{}, session.Fields{Currency: "EUR", Order: &domain.Order{Fees: []domain.Fee{{Amount: domain.MaxAmount}, {Amount: 1}}}}, true},
		{"shipping and fees alone", session.State{}, session.Fields{Currency: "EUR", Order: &domain.Order{Fees: []domain.Fee{{Amount: 2}}, Shipping: &domain.Shipping{Amount: new(domain.Amount(1))}}}, false},
		{"the same, but the amount is named", session.State{}, session.Fields{Currency: "EUR", Amount: ptr(domain.Amount(5)), Order: huge}, false},
		{"currency alone", session.State{}, session.Fields{Currency: "EUR"}, false},
	}
	for _, row := range rows {
		e, err := session.DecideCreate(row.state, create(row.fields))
		if (err != nil) != row.refused || (e == nil) != row.refused {
			t.Errorf("%s: %v, %v", row.name, e, err)
		}
		if err != nil && domain.ReasonOf(err) != domain.ReasonSessionValidation {
			t.Errorf("%s: refused as %s", row.name, domain.ReasonOf(err))
		}
	}
}

// TestTotal: the amount sent, else the sum of the order (D4).
func TestTotal(t *testing.T) {
	rows := []struct {
		name   string
		fields session.Fields
		want   *domain.Amount
	}{
		{"neither", session.Fields{}, nil},
		{"the one sent", session.Fields{Amount: ptr(domain.Amount(7)), Order: lines(1, 2)}, ptr(domain.Amount(7))},
		{"the sum", session.Fields{Order: lines(1, 2)}, ptr(domain.Amount(3))},
		{"of shipping alone", session.Fields{Order: &domain.Order{Shipping: &domain.Shipping{Amount: new(domain.Amount(5))}}}, ptr(domain.Amount(5))},
		{"of fees alone", session.Fields{Order: &domain.Order{Fees: []domain.Fee{{Amount: 5}, {Amount: 2}}}}, ptr(domain.Amount(7))},
		{"of shipping and fees", session.Fields{Order: &domain.Order{Fees: []domain.Fee{{Amount: 5}}, Shipping: &domain.Shipping{Amount: new(domain.Amount(2))}}}, ptr(domain.Amount(7))},
		{"of a way of shipping without a price", session.Fields{Order: &domain.Order{Shipping: &domain.Shipping{MethodID: "post"}}}, nil},
		{"zero counts as sent", session.Fields{Amount: ptr(domain.Amount(0)), Order: lines(1)}, ptr(domain.Amount(0))},
	}
	for _, row := range rows {
		if d := cmp.Diff(row.want, row.fields.Total()); d != "" {
			t.Errorf("%s: %s", row.name, d)
		}
	}
}

func TestExpired(t *testing.T) {
	s := session.State{ExpiresAt: at}
	if s.Expired(at.Add(-1)) || !s.Expired(at) || !s.Expired(at.Add(1)) {
		t.Error("the client token ends at its expiry, not before and not after")
	}
}
