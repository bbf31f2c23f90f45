package management_test

import (
	"testing"

	"payledger/domain"
	"payledger/projections"
	"payledger/projections/listing"
)

// TestCustomers checks that the list and one customer have the id and the newest erasure, and that
// an unknown customer is not found (D20).
func TestCustomers(t *testing.T) {
	r := newRig(t)
	erased := noon
	r.customerList.Data = []projections.Customer{{ID: "a/b"}, {ID: "zen", ErasedAt: &erased, Due: true}}
	const zen = `{"customerId":"zen","erasedAt":` + noonText + `,"erasing":true}`
	r.answered(`{"data":[{"customerId":"a/b"},` + zen + `]}`)(r.h.ListCustomers(r.query("limit=7")))
	r.made(call("Lag"), call("Customers", domain.AccountID("shop"), (*listing.Place)(nil), 7))
	r.answered(zen)(r.h.GetCustomer(r.with("customerId", "zen")))
	r.made(call("Customer", domain.AccountID("shop"), "zen"))
	r.refused(domain.ReasonEntityNotFound)(r.h.GetCustomer(r.with("customerId", "nobody")))
}
