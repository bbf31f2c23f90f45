package processor_test

import (
	"testing"

	"payledger/domain"
	"payledger/domain/processor"
)

// TestUnfit: an answer about another payment, operation, currency or amount is no answer to an
// operation. An answer that states nothing fits.
func TestUnfit(t *testing.T) {
	capture := processor.Operation{Kind: processor.Capture, Reference: "01a", Amount: 500, Currency: "EUR"}
	void := processor.Operation{Kind: processor.Void, Reference: "01a", Amount: 0, Currency: "EUR"}
	for _, row := range []struct {
		name string
		op   processor.Operation
		a    processor.Answer
		fits bool
	}{
		{"nothing stated", capture, processor.Answer{State: processor.Succeeded}, true},
		{"all as requested", capture, processor.Answer{State: processor.Succeeded, Kind: processor.Capture, Amount: new(domain.Amount(500)), Currency: "EUR", Reference: "01a"}, true},
		{"more", capture, processor.Answer{State: processor.Succeeded, Amount: new(domain.Amount(501))}, false},
		{"less", capture, processor.Answer{State: processor.Pending, Amount: new(domain.Amount(499))}, false},
		{"nothing moved", capture, processor.Answer{State: processor.Succeeded, Amount: new(domain.Amount)}, false},
		{"negative", capture, processor.Answer{State: processor.Succeeded, Amount: new(domain.Amount(-500))}, false},
		{"another currency", capture, processor.Answer{State: processor.Succeeded, Amount: new(domain.Amount(500)), Currency: "USD"}, false},
		{"another operation", capture, processor.Answer{State: processor.Succeeded, Kind: processor.Refund, Amount: new(domain.Amount(500))}, false},
		{"a refusal of another operation", void, processor.Answer{State: processor.Failed, Code: "x", Kind: processor.Capture}, false},
		{"a void of another operation", void, processor.Answer{State: processor.Succeeded, Kind: processor.Capture}, false},
		{"another payment", capture, processor.Answer{State: processor.Succeeded, Reference: "01b"}, false},
		{"a refusal about another payment", capture, processor.Answer{State: processor.Failed, Code: "x", Reference: "01b"}, false},
		{"a refusal with another amount", capture, processor.Answer{State: processor.Failed, Code: "x", Amount: new(domain.Amount(400))}, true},
		{"a void of all", void, processor.Answer{State: processor.Succeeded, Amount: new(domain.Amount(500)), Currency: "EUR"}, true},
		{"a void of another payment", void, processor.Answer{State: processor.Succeeded, Reference: "01b"}, false},
	} {
		if why := row.op.Unfit(row.a); (why == "") != row.fits {
			t.Errorf("%s: %q", row.name, why)
		}
	}
}

// TestUnfitRecord: a record of the books that is about another operation, amount or currency, or
// contradicts itself, has no outcome of an operation.
func TestUnfitRecord(t *testing.T) {
	capture := processor.Operation{Kind: processor.Capture, Reference: "01a", Amount: 500, Currency: "EUR"}
	void := processor.Operation{Kind: processor.Void, Reference: "01a", Amount: 500, Currency: "EUR"}
	authorize := processor.Operation{Kind: processor.Authorize, Reference: "01a", Amount: 500, Currency: "EUR"}
	done, failed := processor.Answer{State: processor.Succeeded}, processor.Answer{State: processor.Failed, Code: "x"}
	for _, row := range []struct {
		name string
		op   processor.Operation
		r    processor.Record
		fits bool
	}{
		{"as requested", capture, processor.Record{Kind: processor.Capture, State: processor.Succeeded, Amount: 500, Currency: "EUR", Answer: done}, true},
		{"another answer", capture, processor.Record{Kind: processor.Capture, State: processor.Succeeded, Amount: 500, Currency: "EUR", Answer: processor.Answer{State: processor.Succeeded, Amount: new(domain.Amount(1))}}, false},
		{"less", capture, processor.Record{Kind: processor.Capture, State: processor.Succeeded, Amount: 499, Currency: "EUR", Answer: done}, false},
		{"no currency", capture, processor.Record{Kind: processor.Capture, State: processor.Succeeded, Amount: 500, Answer: done}, false},
		{"another operation", capture, processor.Record{Kind: processor.Refund, State: processor.Succeeded, Amount: 500, Currency: "EUR", Answer: done}, false},
		{"contradiction", capture, processor.Record{Kind: processor.Capture, State: processor.Failed, Amount: 500, Currency: "EUR", Answer: done}, false},
		{"a refusal", capture, processor.Record{Kind: processor.Capture, State: processor.Failed, Answer: failed}, true},
		{"pending", capture, processor.Record{Kind: processor.Capture, State: processor.Pending, Amount: 500, Currency: "EUR", Answer: processor.Answer{State: processor.Pending}}, true},
		{"its answer's currency", capture, processor.Record{Kind: processor.Capture, State: processor.Succeeded, Amount: 500, Currency: "EUR", Answer: processor.Answer{State: processor.Succeeded, Currency: "USD"}}, false},
		{"an authorization with its first answer", authorize, processor.Record{Kind: processor.Authorize, State: processor.Succeeded, Amount: 500, Currency: "EUR", Answer: processor.Answer{State: processor.ActionRequired}}, true},
		{"an authorization that contradicts its answer", authorize, processor.Record{Kind: processor.Authorize, State: processor.Succeeded, Amount: 500, Currency: "EUR", Answer: failed}, false},
		{"a void", void, processor.Record{Kind: processor.Void, State: processor.Succeeded, Answer: done}, true},
	} {
		if why := row.op.UnfitRecord(row.r); (why == "") != row.fits {
			t.Errorf("%s: %q", row.name, why)
		}
	}
}
