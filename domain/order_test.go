package domain_test

import (
	"math/big"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"payledger/domain"
	"payledger/domain/seedtest"
)

func ptr[T any](v T) *T { return &v }

// TestTotal is the sum of D4: amount × quantity − discount + tax, plus shipping and fees.
func TestTotal(t *testing.T) {
	item := func(amount domain.Amount) domain.LineItem { return domain.LineItem{Amount: amount} }
	rows := []struct {
		name  string
		order *domain.Order
		want  domain.Amount
		ok    bool
	}{
		{"no order", nil, 0, false},
		{"an empty order", &domain.Order{CountryCode: "FR", Shipping: &domain.Shipping{MethodID: "post"}}, 0, false},
		{"shipping alone", &domain.Order{Shipping: &domain.Shipping{Amount: new(domain.Amount(5))}}, 5, true},
		{"fees alone", &domain.Order{Fees: []domain.Fee{{Amount: 5}, {}}}, 5, true},
		{"an absent quantity counts as one", &domain.Order{LineItems: []domain.LineItem{item(700)}}, 700, true},
		{"a quantity of none", &domain.Order{LineItems: []domain.LineItem{{Amount: 700, Quantity: ptr(int64(0))}}}, 0, true},
		{"everything", &domain.Order{
			LineItems: []domain.LineItem{
				{Amount: 1000, Quantity: ptr(int64(3)), DiscountAmount: 250, TaxAmount: 40},
				{Amount: 99},
			},
			Shipping: &domain.Shipping{Amount: new(domain.Amount(495))},
			Fees:     []domain.Fee{{Amount: 30}, {Amount: 1}},
		}, 3000 - 250 + 40 + 99 + 495 + 31, true},
		{"the largest", &domain.Order{LineItems: []domain.LineItem{item(domain.MaxAmount)}}, domain.MaxAmount, true},
		{"above the largest", &domain.Order{LineItems: []domain.LineItem{item(domain.MaxAmount), item(1)}}, 0, false},
		{"below nothing", &domain.Order{LineItems: []domain.LineItem{{Amount: 1, DiscountAmount: 2}}}, 0, false},
		{"a product that does not fit", &domain.Order{
			LineItems: []domain.LineItem{{Amount: domain.MaxAmount, Quantity: ptr(int64(1 << 40))}},
		}, 0, false},
	}
	for _, row := range rows {
		if got, ok := row.order.Total(); got != row.want || ok != row.ok {
			t.Errorf("%s: %d %v, not %d %v", row.name, got, ok, row.want, row.ok)
		}
	}
}

// TestTotalIsTheSum compares with numbers that cannot overflow.
func TestTotalIsTheSum(t *testing.T) {
	amount := rapid.OneOf(rapid.Int64Range(0, 100), rapid.Int64Range(0, int64(domain.MaxAmount)))
	seedtest.Check(t, func(t *rapid.T) {
		order, want := &domain.Order{}, new(big.Int)
		count := func(n int64, times int64) {
			want.Add(want, new(big.Int).Mul(big.NewInt(n), big.NewInt(times)))
		}
		for range rapid.IntRange(1, 4).Draw(t, "items") {
			quantity := amount.Draw(t, "quantity")
			item := domain.LineItem{
				Amount: domain.Amount(amount.Draw(t, "amount")), Quantity: &quantity,
				DiscountAmount: domain.Amount(amount.Draw(t, "discount")), TaxAmount: domain.Amount(amount.Draw(t, "tax")),
			}
			order.LineItems = append(order.LineItems, item)
			count(int64(item.Amount), quantity)
			count(int64(item.DiscountAmount), -1)
			count(int64(item.TaxAmount), 1)
		}
		for range rapid.IntRange(0, 2).Draw(t, "fees") {
			fee := amount.Draw(t, "fee")
			order.Fees = append(order.Fees, domain.Fee{Amount: domain.Amount(fee)})
			count(fee, 1)
		}
		got, ok := order.Total()
		inRange := want.Sign() >= 0 && want.Cmp(big.NewInt(int64(domain.MaxAmount))) <= 0
		if ok != inRange || ok && int64(got) != want.Int64() {
			t.Fatalf("%d %v, the sum is %v", got, ok, want)
		}
	})
}

// TestMerge: a request's value wins over the session's, field by field (D5).
func TestMerge(t *testing.T) {
	base := &domain.Order{
		LineItems: []domain.LineItem{{Amount: 1}}, CountryCode: "FR", RetailerCountryCode: "DE",
		Fees: []domain.Fee{{Amount: 2}}, Shipping: &domain.Shipping{Amount: new(domain.Amount(3))},
	}
	over := &domain.Order{LineItems: []domain.LineItem{{Amount: 9}}, CountryCode: "ES"}
	want := &domain.Order{
		LineItems: over.LineItems, CountryCode: "ES", RetailerCountryCode: "DE", Fees: base.Fees, Shipping: base.Shipping,
	}
	if d := cmp.Diff(want, domain.MergeOrder(base, over)); d != "" {
		t.Error(d)
	}
	if domain.MergeOrder(nil, nil) != nil || domain.MergeOrder(base, nil) != base || domain.MergeOrder(nil, over) != over {
		t.Error("an order that is absent changes nothing")
	}

	customer := domain.MergeCustomer(
		&domain.Customer{Email: "a@example.com", FirstName: "Ann", BillingAddress: &domain.Address{City: "Paris", State: "IDF"}},
		&domain.Customer{Email: "b@example.com", BillingAddress: &domain.Address{City: "Lyon"}, ShippingAddress: &domain.Address{City: "Nice"}},
	)
	wantCustomer := &domain.Customer{
		Email: "b@example.com", FirstName: "Ann",
		BillingAddress: &domain.Address{City: "Lyon", State: "IDF"}, ShippingAddress: &domain.Address{City: "Nice"},
	}
	if d := cmp.Diff(wantCustomer, customer); d != "" {
		t.Error(d)
	}
}

// TestMergeMetadata: merged by key, and neither side is changed.
func TestMergeMetadata(t *testing.T) {
	base, over := domain.Metadata{"a": int64(1), "b": "x"}, domain.Metadata{"b": true}
	if d := cmp.Diff(domain.Metadata{"a": int64(1), "b": true}, domain.MergeMetadata(base, over)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(domain.Metadata{"a": int64(1), "b": "x"}, base); d != "" {
		t.Errorf("the session's metadata changed: %s", d)
	}
	if got := domain.MergeMetadata(base, nil); !cmp.Equal(got, base) {
		t.Errorf("nothing laid over gives %v", got)
	}
}

// TestPersonalEmpty: nothing to protect means nothing to seal.
func TestPersonalEmpty(t *testing.T) {
	if !(domain.Personal{}).Empty() || (domain.Personal{CardholderName: "Ann"}).Empty() || (domain.Personal{Customer: &domain.Customer{}}).Empty() {
		t.Error("Empty is wrong")
	}
}
