package domain_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"payledger/domain"
)

// fillText sets every string of a struct, and of the structs that it points to, to the text and the
// field's name.
func fillText(v reflect.Value, before string) {
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			f.SetString(before + v.Type().Field(i).Name)
		case reflect.Pointer:
			f.Set(reflect.New(f.Type().Elem()))
			fillText(f.Elem(), before)
		}
	}
}

func aCustomer(before string) *domain.Customer {
	c := &domain.Customer{}
	fillText(reflect.ValueOf(c).Elem(), before)
	return c
}

// TestMergeCustomerEveryField: each field of the request wins by itself, and an absent one keeps
// the session's (D5).
func TestMergeCustomerEveryField(t *testing.T) {
	base, over := aCustomer("base "), aCustomer("over ")
	if got := domain.MergeCustomer(base, over); !reflect.DeepEqual(got, over) {
		t.Errorf("everything was sent, and %+v came out", got)
	}
	if got := domain.MergeCustomer(base, &domain.Customer{BillingAddress: &domain.Address{}, ShippingAddress: &domain.Address{}}); !reflect.DeepEqual(got, base) {
		t.Errorf("nothing was sent, and %+v came out", got)
	}
	eachText(reflect.ValueOf(aCustomer("over ")).Elem(), func(path []int, text string) {
		only, want := aCustomer(""), aCustomer("base ")
		blank(reflect.ValueOf(only).Elem())
		reflect.ValueOf(only).Elem().FieldByIndex(path).SetString(text)
		reflect.ValueOf(want).Elem().FieldByIndex(path).SetString(text)
		if got := domain.MergeCustomer(base, only); !reflect.DeepEqual(got, want) {
			t.Errorf("only %q was sent, and %+v came out", text, got)
		}
	})
	if !reflect.DeepEqual(base, aCustomer("base ")) || !reflect.DeepEqual(over, aCustomer("over ")) {
		t.Error("merging changed what was merged")
	}
	if domain.MergeCustomer(nil, nil) != nil || domain.MergeCustomer(base, nil) != base || domain.MergeCustomer(nil, over) != over {
		t.Error("a customer that is absent changes nothing")
	}
}

// eachText visits every string with its place.
func eachText(v reflect.Value, visit func(path []int, text string)) {
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			visit([]int{i}, f.String())
		case reflect.Pointer:
			eachText(f.Elem(), func(path []int, text string) { visit(append([]int{i}, path...), text) })
		}
	}
}

// blank empties every string and keeps the structs.
func blank(v reflect.Value) {
	eachText(v, func(path []int, _ string) { v.FieldByIndex(path).SetString("") })
}

// TestMergeOrderEveryField: the same for an order; its lists are replaced whole (D4, D5).
func TestMergeOrderEveryField(t *testing.T) {
	base := domain.Order{
		LineItems: []domain.LineItem{{Amount: 1}}, CountryCode: "FR", RetailerCountryCode: "DE",
		Fees: []domain.Fee{{Amount: 2}}, Shipping: &domain.Shipping{Amount: new(domain.Amount(3)), MethodName: "post"},
	}
	over := domain.Order{
		LineItems: []domain.LineItem{{Amount: 4}, {Amount: 5}}, CountryCode: "ES", RetailerCountryCode: "IT",
		Fees: []domain.Fee{}, Shipping: &domain.Shipping{Amount: new(domain.Amount(6)), MethodName: "courier"},
	}
	typ := reflect.TypeFor[domain.Order]()
	for i := range typ.NumField() {
		var only domain.Order
		want := base
		reflect.ValueOf(&only).Elem().Field(i).Set(reflect.ValueOf(over).Field(i))
		reflect.ValueOf(&want).Elem().Field(i).Set(reflect.ValueOf(over).Field(i))
		if got := domain.MergeOrder(&base, &only); !reflect.DeepEqual(*got, want) {
			t.Errorf("only %s was sent, and %+v came out", typ.Field(i).Name, *got)
		}
	}
	price := domain.Amount(0)
	base.Shipping, over.Shipping = &domain.Shipping{MethodID: "1"}, &domain.Shipping{Amount: &price, MethodID: "2", MethodName: "courier", MethodDescription: "fast"}
	base.Shipping.Amount, base.Shipping.MethodName, base.Shipping.MethodDescription = new(domain.Amount(3)), "post", "slow"
	for i := range reflect.TypeFor[domain.Shipping]().NumField() {
		only, want := &domain.Shipping{}, *base.Shipping
		reflect.ValueOf(only).Elem().Field(i).Set(reflect.ValueOf(over.Shipping).Elem().Field(i))
		reflect.ValueOf(&want).Elem().Field(i).Set(reflect.ValueOf(over.Shipping).Elem().Field(i))
		if got := domain.MergeOrder(&base, &domain.Order{Shipping: only}); !reflect.DeepEqual(*got.Shipping, want) {
			t.Errorf("only %+v was sent, and %+v came out", only, *got.Shipping)
		}
	}
	if base.CountryCode != "FR" || len(base.LineItems) != 1 {
		t.Error("merging changed the session's order")
	}
}

// TestMergeMetadataWithNothing: the request's alone is all there is.
func TestMergeMetadataWithNothing(t *testing.T) {
	over := domain.Metadata{"k": true}
	for _, base := range []domain.Metadata{nil, {}} {
		if got := domain.MergeMetadata(base, over); !reflect.DeepEqual(got, over) {
			t.Errorf("%v with %v gives %v", base, over, got)
		}
	}
}

// TestMetadataFault: 64 keys and 4 KiB of keys and values are the limits of the whole (D4).
func TestMetadataFault(t *testing.T) {
	keys := func(n int) domain.Metadata {
		m := domain.Metadata{}
		for i := range n {
			m[fmt.Sprint(i)] = true
		}
		return m
	}
	for _, row := range []struct {
		name  string
		value domain.Metadata
		fits  bool
	}{
		{"none", nil, true},
		{"64 keys", keys(64), true},
		{"65 keys", keys(65), false},
		{"4 KiB", domain.Metadata{"key": strings.Repeat("x", 4<<10-3)}, true},
		{"a byte more", domain.Metadata{"key": strings.Repeat("x", 4<<10-2)}, false},
		{"a long key", domain.Metadata{strings.Repeat("x", 4<<10): ""}, true},
		{"a longer key", domain.Metadata{strings.Repeat("x", 4<<10): true}, false},
	} {
		if fault := row.value.Fault(); (fault == "") != row.fits {
			t.Errorf("%s: %q", row.name, fault)
		}
	}
}
