package payments

// OutcomeOfKey is Payments.outcomeOfKey.
var OutcomeOfKey = (*Payments).outcomeOfKey
