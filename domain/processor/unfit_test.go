package processor_test

import (
	"testing"

	"payledger/domain/processor"
)

// TestUnfit: an answer about another payment, currency or amount is no answer to an operation. An
// answer that states nothing fits.
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
		{"all as requested", capture, processor.Answer{State: processor.Succeeded, Amount: 500, Currency: "EUR", Reference: "01a"}, true},
		{"more", capture, processor.Answer{State: processor.Succeeded, Amount: 501}, false},
		{"less", capture, processor.Answer{State: processor.Pending, Amount: 499}, false},
		{"negative", capture, processor.Answer{State: processor.Succeeded, Amount: -500}, false},
		{"another currency", capture, processor.Answer{State: processor.Succeeded, Amount: 500, Currency: "USD"}, false},
		{"another payment", capture, processor.Answer{State: processor.Succeeded, Reference: "01b"}, false},
		{"a refusal about another payment", capture, processor.Answer{State: processor.Failed, Code: "x", Reference: "01b"}, false},
		{"a refusal with another amount", capture, processor.Answer{State: processor.Failed, Code: "x", Amount: 400}, true},
		{"a void of all", void, processor.Answer{State: processor.Succeeded, Amount: 500, Currency: "EUR"}, true},
		{"a void of another payment", void, processor.Answer{State: processor.Succeeded, Reference: "01b"}, false},
	} {
		if why := row.op.Unfit(row.a); (why == "") != row.fits {
			t.Errorf("%s: %q", row.name, why)
		}
	}
}
