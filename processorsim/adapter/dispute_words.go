package adapter

import "payledger/domain/processor"

type (
	typeWords   map[string]processor.DisputeType
	statusWords map[string]processor.DisputeStatus
)

// types maps each processor's terms for stages (D16). STRIPE's are prefixes of its statuses; without a prefix the stage is
// a chargeback.
var types = map[processor.Name]typeWords{
	processor.Adyen:     {"RequestForInformation": processor.Retrieval, "Chargeback": processor.Chargeback, "SecondChargeback": processor.Prearbitration},
	processor.Braintree: {"retrieval": processor.Retrieval, "chargeback": processor.Chargeback, "pre_arbitration": processor.Prearbitration},
	processor.Checkout:  {"inquiry": processor.Retrieval, "first_chargeback": processor.Chargeback, "pre_arbitration": processor.Prearbitration},
	processor.PayPal:    {"INQUIRY": processor.Retrieval, "CHARGEBACK": processor.Chargeback, "PRE_ARBITRATION": processor.Prearbitration},
	processor.Stripe:    {"warning_": processor.Retrieval, "pre_arbitration_": processor.Prearbitration},
	processor.Worldpay:  {"RFI": processor.Retrieval, "CHARGEBACK": processor.Chargeback, "PRE_ARB": processor.Prearbitration},
}

// statuses maps each processor's terms for statuses.
var statuses = map[processor.Name]statusWords{
	processor.Adyen: {
		"Undefended": processor.DisputeOpen, "Accepted": processor.DisputeAccepted, "Pending": processor.DisputeChallenged,
		"Expired": processor.DisputeExpired, "Withdrawn": processor.DisputeCancelled, "Won": processor.DisputeWon, "Lost": processor.DisputeLost,
	},
	processor.Braintree: {
		"open": processor.DisputeOpen, "accepted": processor.DisputeAccepted, "disputed": processor.DisputeChallenged,
		"expired": processor.DisputeExpired, "canceled": processor.DisputeCancelled, "won": processor.DisputeWon, "lost": processor.DisputeLost,
	},
	processor.Checkout: {
		"evidence_required": processor.DisputeOpen, "accepted": processor.DisputeAccepted, "evidence_under_review": processor.DisputeChallenged,
		"expired": processor.DisputeExpired, "canceled": processor.DisputeCancelled, "won": processor.DisputeWon, "lost": processor.DisputeLost,
	},
	processor.PayPal: {"WAITING_FOR_SELLER_RESPONSE": processor.DisputeOpen, "UNDER_REVIEW": processor.DisputeChallenged},
	processor.Stripe: {
		"needs_response": processor.DisputeOpen, "accepted": processor.DisputeAccepted, "under_review": processor.DisputeChallenged,
		"expired": processor.DisputeExpired, "withdrawn": processor.DisputeCancelled, "won": processor.DisputeWon, "lost": processor.DisputeLost,
	},
	processor.Worldpay: {
		"RAISED": processor.DisputeOpen, "LIABILITY_ACCEPTED": processor.DisputeAccepted, "DEFENDED": processor.DisputeChallenged,
		"TIMED_OUT": processor.DisputeExpired, "WITHDRAWN": processor.DisputeCancelled, "REVERSED": processor.DisputeWon, "UPHELD": processor.DisputeLost,
	},
}

// outcomes maps the outcomes of disputes that are RESOLVED at PAYPAL.
var outcomes = statusWords{
	"ACCEPTED": processor.DisputeAccepted, "NO_RESPONSE": processor.DisputeExpired, "CANCELED_BY_BUYER": processor.DisputeCancelled,
	"RESOLVED_SELLER_FAVOUR": processor.DisputeWon, "RESOLVED_BUYER_FAVOUR": processor.DisputeLost,
}
