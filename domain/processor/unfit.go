package processor

import "strings"

// Unfit returns the reason why an answer cannot be the answer to the operation: it is about another
// payment, operation, currency or amount. "": it fits. An answer that does not fit is no fact: the
// outcome is unknown.
func (op Operation) Unfit(a Answer) string {
	switch {
	case a.Reference != "" && a.Reference != op.Reference:
		return "it is about another payment"
	case op.Misnamed(a):
		return otherOperation
	case op.wholeOrNothing(a):
		return ""
	case a.Currency != "" && a.Currency != op.Currency:
		return otherCurrency
	case a.Amount != nil && *a.Amount != op.Amount:
		return otherAmount
	}
	return ""
}

const (
	otherOperation = "it is about another operation"
	otherCurrency  = "it is about another currency"
	otherAmount    = "it is about another amount"
)

// Misnamed reports whether the answer states another operation: the key was used for that one,
// perhaps before this ledger was restored from a back-up.
func (op Operation) Misnamed(a Answer) bool { return a.Kind != "" && a.Kind != op.Kind }

// UnfitRecord returns the reason why a record of the processor's books cannot have the outcome of
// the operation; "": it can.
func (op Operation) UnfitRecord(r Record) string {
	if why := op.Unfit(r.Answer); why != "" {
		return why
	}
	if why := op.OtherRecord(r); why != "" {
		return why
	}
	if r.State != Pending {
		return r.Contradiction()
	}
	return ""
}

// Contradiction returns the reason why a record contradicts its own answer; "": it does not. An
// authorization may have its first answer beside its result.
func (r Record) Contradiction() string {
	stated := Operation{Kind: r.Kind, Reference: r.Reference, Amount: r.Amount, Currency: r.Currency}
	switch why := stated.Unfit(r.Answer); {
	case why != "":
		return "its answer" + strings.TrimPrefix(why, "it")
	case r.State != r.Answer.State && !r.First():
		return "its state contradicts its answer"
	}
	return ""
}

// First reports whether the record of an authorization has the answer from before its result: it
// waited for the processor or for its customer.
func (r Record) First() bool {
	return r.Kind == Authorize && (r.Answer.State == Pending || r.Answer.State == ActionRequired)
}

// OtherRecord returns the reason why a record of the processor's books under the operation's key is
// not of the operation, whatever its outcome; "": it may be.
func (op Operation) OtherRecord(r Record) string {
	switch {
	case r.Kind != op.Kind:
		return otherOperation
	case op.wholeOrNothing(r.Answer):
		return ""
	case r.Currency != op.Currency:
		return otherCurrency
	case r.Amount != op.Amount:
		return otherAmount
	}
	return ""
}

// wholeOrNothing reports whether the operation concerns all of an authorization, whatever its
// amount, or the answer says that no amount moved.
func (op Operation) wholeOrNothing(a Answer) bool {
	moves := a.State == Succeeded || a.State == Pending || a.State == ActionRequired
	return op.Kind == Complete || op.Kind == Void || !moves
}
