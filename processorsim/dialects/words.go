package dialects

import "payledger/domain/processor"

// Stages is what each processor calls the types of disputes (D16). STRIPE's begin the word for the
// status.
var Stages = map[processor.Name]map[processor.DisputeType]string{
	processor.Adyen:     {processor.Retrieval: "RequestForInformation", processor.Chargeback: "Chargeback", processor.Prearbitration: "SecondChargeback"},
	processor.Braintree: {processor.Retrieval: "retrieval", processor.Chargeback: "chargeback", processor.Prearbitration: "pre_arbitration"},
	processor.Checkout:  {processor.Retrieval: "inquiry", processor.Chargeback: "first_chargeback", processor.Prearbitration: "pre_arbitration"},
	processor.PayPal:    {processor.Retrieval: "INQUIRY", processor.Chargeback: "CHARGEBACK", processor.Prearbitration: "PRE_ARBITRATION"},
	processor.Stripe:    {processor.Retrieval: "warning_", processor.Chargeback: "", processor.Prearbitration: "pre_arbitration_"},
	processor.Worldpay:  {processor.Retrieval: "RFI", processor.Chargeback: "CHARGEBACK", processor.Prearbitration: "PRE_ARB"},
}

// Statuses is what each calls the statuses. PAYPAL's that end a dispute are Outcomes.
var Statuses = map[processor.Name]map[processor.DisputeStatus]string{
	processor.Adyen: {
		processor.DisputeOpen: "Undefended", processor.DisputeAccepted: "Accepted", processor.DisputeChallenged: "Pending",
		processor.DisputeExpired: "Expired", processor.DisputeCancelled: "Withdrawn", processor.DisputeWon: "Won", processor.DisputeLost: "Lost",
	},
	processor.Braintree: {
		processor.DisputeOpen: "open", processor.DisputeAccepted: "accepted", processor.DisputeChallenged: "disputed",
		processor.DisputeExpired: "expired", processor.DisputeCancelled: "canceled", processor.DisputeWon: "won", processor.DisputeLost: "lost",
	},
	processor.Checkout: {
		processor.DisputeOpen: "evidence_required", processor.DisputeAccepted: "accepted", processor.DisputeChallenged: "evidence_under_review",
		processor.DisputeExpired: "expired", processor.DisputeCancelled: "canceled", processor.DisputeWon: "won", processor.DisputeLost: "lost",
	},
	processor.PayPal: {processor.DisputeOpen: "WAITING_FOR_SELLER_RESPONSE", processor.DisputeChallenged: "UNDER_REVIEW"},
	processor.Stripe: {
		processor.DisputeOpen: "needs_response", processor.DisputeAccepted: "accepted", processor.DisputeChallenged: "under_review",
		processor.DisputeExpired: "expired", processor.DisputeCancelled: "withdrawn", processor.DisputeWon: "won", processor.DisputeLost: "lost",
	},
	processor.Worldpay: {
		processor.DisputeOpen: "RAISED", processor.DisputeAccepted: "LIABILITY_ACCEPTED", processor.DisputeChallenged: "DEFENDED",
		processor.DisputeExpired: "TIMED_OUT", processor.DisputeCancelled: "WITHDRAWN", processor.DisputeWon: "REVERSED", processor.DisputeLost: "UPHELD",
	},
}

// Outcomes is what PAYPAL calls the outcomes of disputes that are RESOLVED.
var Outcomes = map[processor.DisputeStatus]string{
	processor.DisputeAccepted: "ACCEPTED", processor.DisputeExpired: "NO_RESPONSE", processor.DisputeCancelled: "CANCELED_BY_BUYER",
	processor.DisputeWon: "RESOLVED_SELLER_FAVOUR", processor.DisputeLost: "RESOLVED_BUYER_FAVOUR",
}
