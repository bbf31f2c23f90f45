package domain_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"payledger/domain"
)

func TestErrors(t *testing.T) {
	invalid := domain.Invalid("Payment",
		domain.Violation{Path: "$.amount", Description: "must not be negative"},
		domain.Violation{Path: "$.orderId", Description: "is too long"})
	rows := []struct {
		err    *domain.Error
		kind   domain.Kind
		reason domain.Reason
		text   string
	}{
		{invalid, domain.KindInvalid, domain.ReasonRequestValidation,
			"RequestValidationError: The request is not valid.; $.amount must not be negative; $.orderId is too long"},
		{domain.Refuse(domain.KindNotFound, domain.ReasonEntityNotFound, "No %s %d.", "key", 7), domain.KindNotFound,
			domain.ReasonEntityNotFound, "EntityNotFound: No key 7."},
		{domain.Unavailable(io.ErrUnexpectedEOF), domain.KindUnavailable, domain.ReasonServiceUnavailable,
			"ServiceUnavailable: The event store cannot take the request now. Nothing was recorded.: unexpected EOF"},
		{domain.OutcomeUnknown(io.ErrUnexpectedEOF), domain.KindUnavailable, domain.ReasonServiceUnavailable,
			"ServiceUnavailable: The outcome of the request is unknown.: unexpected EOF"},
	}
	for _, row := range rows {
		if row.err.Kind != row.kind || row.err.Reason != row.reason || row.err.Error() != row.text {
			t.Errorf("%d %s %q", row.err.Kind, row.err.Reason, row.err.Error())
		}
		if got := domain.ReasonOf(fmt.Errorf("while creating: %w", row.err)); got != row.reason {
			t.Errorf("wrapped, the reason is %s, not %s", got, row.reason)
		}
	}
	if !errors.Is(domain.Unavailable(io.ErrUnexpectedEOF), io.ErrUnexpectedEOF) {
		t.Error("the cause is lost")
	}
	if got := domain.ReasonOf(io.EOF); got != domain.ReasonInternal {
		t.Errorf("an error without a reason has %s", got)
	}
}
