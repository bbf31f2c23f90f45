package payments

import (
	"context"
	"fmt"

	"payledger/domain/payment"
	"payledger/domain/process"
	"payledger/domain/processor"
)

// ActionPage returns the address of the page on which the customer does a required action, if the
// processor has one; else "". The processor returns it on each look-up, and it is never stored: it
// is as good as a token. An error means that the processor did not answer.
func (s *Payments) ActionPage(ctx context.Context, p payment.State, action payment.RequiredAction) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	op, known := p.Operation(action.Revision)
	if !known {
		return "", nil
	}
	found, err := s.Processors.Lookup(ctx, op.Target.Processor, p.OperationKey(op.Revision))
	switch {
	case err != nil:
		return "", fmt.Errorf("the page of an action: %w", err)
	case found.Answer != nil && process.Operation(p, op).Unfit(*found.Answer) != "":
		return "", fmt.Errorf("the page of an action: %w: the answer does not fit the request", processor.ErrUnknown)
	case found.Answer == nil || found.Answer.State != processor.ActionRequired:
		return "", nil
	}
	return found.Answer.ActionURL, nil
}
