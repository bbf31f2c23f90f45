package dialect

import (
	"cmp"

	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

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
	words, has := wordings[d.Processor]
	if !has {
		return cmp.Or(processor.DisputeReason(d.ReasonCode), d.ReasonCode)
	}
	if text, listed := words[processor.DisputeReason(d.ReasonCode)]; listed {
		return text
	}
	return words[""]
}
