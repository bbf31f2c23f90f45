package payment

import "payledger/domain/processor"

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

// authenticated tells whether the customer passed a challenge.
func (s State) authenticated() bool {
	for _, op := range s.Operations {
		if op.Kind == processor.Complete && op.Outcome == processor.Authenticated && op.State == StateSucceeded {
			return true
		}
	}
	return false
}
