package payment

import (
	"slices"

	"payledger/domain/processor"
)

// Vaults reports whether the payment method must be vaulted (D5.5): the payment is authorized, and
// the request has vaultOnSuccess, or vaultOn3DS and a passed challenge, or vaultOnAgreement and the
// reason Recurring or Unscheduled. Later voids and refunds do not count.
func (s State) Vaults() bool {
	m := s.Method
	if s.CustomerID == "" || s.newestAuthorization().State != StateSucceeded {
		return false
	}
	agreed := m.FirstPaymentReason == "Recurring" || m.FirstPaymentReason == "Unscheduled"
	return m.VaultOnSuccess || m.VaultOnAgreement && agreed || m.VaultOn3DS && s.authenticated()
}

// Stores reports whether the payment method is stored for its customer, or may be after the
// payment: a token of the processor is then of use.
func (s State) Stores() bool {
	m := s.Method
	return s.CustomerID != "" && (m.Vaulted || m.VaultOnSuccess || m.VaultOn3DS || m.VaultOnAgreement)
}

// authenticated reports whether the customer passed a challenge: its completion succeeded, or an
// authorization that required an action was approved without a completion.
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

func (s State) completed(authorization uint64) bool {
	return slices.ContainsFunc(s.Operations, func(op Operation) bool {
		return op.Kind == processor.Complete && op.Parent == authorization && op.State == StateSucceeded
	})
}
