package processor

// Unfit returns the reason why an answer cannot be the answer to the operation: it is about another
// payment, currency or amount. "": it fits. An answer that does not fit is no fact: the outcome is
// unknown.
func (op Operation) Unfit(a Answer) string {
	switch {
	case a.Reference != "" && a.Reference != op.Reference:
		return "it is about another payment"
	case op.wholeOrNothing(a):
		return ""
	case a.Currency != "" && a.Currency != op.Currency:
		return "it is about another currency"
	case a.Amount != nil && *a.Amount != op.Amount:
		return "it is about another amount"
	}
	return ""
}

// UnfitRecord returns the reason why a record of the processor's books cannot have the outcome of
// the operation; "": it can.
func (op Operation) UnfitRecord(r Record) string {
	switch why := op.Unfit(r.Answer); {
	case why != "":
		return why
	case r.Kind != op.Kind:
		return "it is about another operation"
	case r.State != Pending && r.State != r.Answer.State:
		return "its state contradicts its answer"
	case op.wholeOrNothing(r.Answer):
		return ""
	case r.Currency != op.Currency:
		return "it is about another currency"
	case r.Amount != op.Amount:
		return "it is about another amount"
	}
	return ""
}

// wholeOrNothing reports whether the operation concerns all of an authorization, whatever its
// amount, or the answer says that no amount moved.
func (op Operation) wholeOrNothing(a Answer) bool {
	moves := a.State == Succeeded || a.State == Pending || a.State == ActionRequired
	return op.Kind == Complete || op.Kind == Void || !moves
}
