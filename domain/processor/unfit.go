package processor

// Unfit returns the reason why an answer cannot be the answer to the operation: it is about another
// payment, currency or amount. "": it fits. An answer that does not fit is no fact: the outcome is
// unknown.
func (op Operation) Unfit(a Answer) string {
	whole := op.Kind == Complete || op.Kind == Void // they concern all of an authorization, whatever its amount
	moves := a.State == Succeeded || a.State == Pending || a.State == ActionRequired
	switch {
	case a.Reference != "" && a.Reference != op.Reference:
		return "it is about another payment"
	case whole || !moves:
		return ""
	case a.Currency != "" && a.Currency != op.Currency:
		return "it is about another currency"
	case a.Amount != 0 && a.Amount != op.Amount:
		return "it is about another amount"
	}
	return ""
}
