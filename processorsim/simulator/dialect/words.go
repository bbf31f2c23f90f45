package dialect

import (
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

// stages is what each processor calls the types of disputes. STRIPE's begin the word for the status.
var stages = map[processor.Name]map[processor.DisputeType]string{
	processor.Adyen:     {processor.Retrieval: "RequestForInformation", processor.Chargeback: "Chargeback", processor.Prearbitration: "SecondChargeback"},
	processor.Braintree: {processor.Retrieval: "retrieval", processor.Chargeback: "chargeback", processor.Prearbitration: "pre_arbitration"},
	processor.Checkout:  {processor.Retrieval: "inquiry", processor.Chargeback: "first_chargeback", processor.Prearbitration: "pre_arbitration"},
	processor.PayPal:    {processor.Retrieval: "INQUIRY", processor.Chargeback: "CHARGEBACK", processor.Prearbitration: "PRE_ARBITRATION"},
	processor.Stripe:    {processor.Retrieval: "warning_", processor.Chargeback: "", processor.Prearbitration: "pre_arbitration_"},
	processor.Worldpay:  {processor.Retrieval: "RFI", processor.Chargeback: "CHARGEBACK", processor.Prearbitration: "PRE_ARB"},
}

// statuses is what each calls the statuses. PAYPAL's that end a dispute are outcomes.
var statuses = map[processor.Name]map[processor.DisputeStatus]string{
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

// outcomes are PAYPAL's.
var outcomes = map[processor.DisputeStatus]string{
	processor.DisputeAccepted: "ACCEPTED", processor.DisputeExpired: "NO_RESPONSE", processor.DisputeCancelled: "CANCELED_BY_BUYER",
	processor.DisputeWon: "RESOLVED_SELLER_FAVOUR", processor.DisputeLost: "RESOLVED_BUYER_FAVOUR",
}

// wordings is what each says instead of the unified reason; "" stands for all that are not listed.
var wordings = map[processor.Name]map[string]string{
	processor.Adyen: {
		"FRAUD": "Other Fraud-Card Absent Environment", "PRODUCT_NOT_RECEIVED": "Merchandise/Services Not Received",
		"PRODUCT_UNACCEPTABLE": "Not as Described or Defective Merchandise/Services", "CREDIT_NOT_PROCESSED": "Credit Not Processed",
		"SUBSCRIPTION_CANCELLED": "Cancelled Recurring Transaction", "DUPLICATE": "Duplicate Processing/Paid by Other Means", "": "Chargeback",
	},
	processor.Braintree: {
		"FRAUD": "fraud", "PRODUCT_NOT_RECEIVED": "product_not_received", "PRODUCT_UNACCEPTABLE": "product_unsatisfactory",
		"CREDIT_NOT_PROCESSED": "credit_not_processed", "SUBSCRIPTION_CANCELLED": "cancelled_recurring_transaction", "DUPLICATE": "duplicate", "": "general",
	},
	processor.Checkout: {
		"FRAUD": "fraudulent", "AUTHORIZATION": "authorization_error", "PROCESSING_ERROR": "processing_error", "DUPLICATE": "duplicate",
		"PRODUCT_NOT_RECEIVED": "product_not_received", "PRODUCT_UNACCEPTABLE": "product_unacceptable", "": "general",
	},
	processor.PayPal: {
		"FRAUD": "UNAUTHORISED", "PRODUCT_NOT_RECEIVED": "MERCHANDISE_OR_SERVICE_NOT_RECEIVED",
		"PRODUCT_UNACCEPTABLE": "MERCHANDISE_OR_SERVICE_NOT_AS_DESCRIBED", "CREDIT_NOT_PROCESSED": "CREDIT_NOT_PROCESSED",
		"DUPLICATE": "DUPLICATE_TRANSACTION", "SUBSCRIPTION_CANCELLED": "CANCELED_RECURRING_BILLING", "": "OTHER",
	},
	processor.Stripe: {
		"FRAUD": "fraudulent", "PRODUCT_NOT_RECEIVED": "product_not_received", "PRODUCT_UNACCEPTABLE": "product_unacceptable",
		"CREDIT_NOT_PROCESSED": "credit_not_processed", "SUBSCRIPTION_CANCELLED": "subscription_canceled", "DUPLICATE": "duplicate", "": "general",
	},
	processor.Worldpay: {
		"FRAUD": "Fraudulent transaction: card not present", "PRODUCT_NOT_RECEIVED": "Goods or services not received",
		"PRODUCT_UNACCEPTABLE": "Goods not as described", "CREDIT_NOT_PROCESSED": "Refund not processed", "": "Disputed by the cardholder",
	},
}

func wording(d protocol.Dispute) string {
	words := wordings[d.Processor]
	if text, listed := words[processor.DisputeReason(d.ReasonCode)]; listed {
		return text
	}
	return words[""]
}
