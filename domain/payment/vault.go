package payment

import (
	"slices"

	"payledger/domain/processor"
)

// Vaults tells whether the facts ask for the method to be vaulted (D5): once authorized; once a challenge passed;
// once authorized as the first of an agreement. They go on asking, whatever becomes of the money.
func (s State) Vaults() bool {
	m := s.Method
	if s.CustomerID == "" || s.held().State != StateSucceeded {
		return false
	}
	agreed := m.FirstPaymentReason == "Recurring" || m.FirstPaymentReason == "Unscheduled"
	return m.VaultOnSuccess || m.VaultOnAgreement && agreed || m.VaultOn3DS && s.authenticated()
}

// authenticated tells whether the customer passed a challenge: as the completion of the action says, or, where the
// processor itself told how that ended, its approval of an authorization that had asked for one.
func (s State) authenticated() bool {
	s = s.Whole()
	for _, op := range s.Operations {
		switch {
		case op.State != StateSucceeded:
		case op.Kind == processor.Complete && op.Outcome == processor.Authenticated:
			return true
		case op.Kind == processor.Authorize && !s.completed(op.Revision) &&
			slices.ContainsFunc(op.Answers, func(a OperationAnswer) bool { return a.State == StateAction }):
			return true
		}
	}
	return false
}

// completed tells whether an authorization was decided by the completion of its action, asked for here.
func (s State) completed(authorization uint64) bool {
	return slices.ContainsFunc(s.Operations, func(op Operation) bool {
		return op.Kind == processor.Complete && op.Parent == authorization && op.State == StateSucceeded
	})
}
