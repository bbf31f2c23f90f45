// Package dialect writes disputes in the terms, codes, amounts and dates of each of the six
// simulated processors (D14.11, D16).
//
//	           stage and status             reason, and its code        amount          deadline
//	ADYEN      disputeType, disputeStatus   a sentence, "10.4"          minor units     with an offset
//	BRAINTREE  kind, status                 a word, "10_4"              "12.50"         a date
//	CHECKOUT   stage, status                category, "10.4"            minor units     UTC
//	PAYPAL     stage, status and outcome    a word, "CARD/10.4"         {"12.50"}       none of an inquiry
//	STRIPE     one word for both            a word, "10.4"              minor units     Unix seconds
//	WORLDPAY   stage, event                 a sentence, "RC-10.4"       with exponent   15/03/2026
//
// A processor without a row writes the protocol's own form. An open dispute has a deadline, the end
// of a day in UTC. Any stage can have any status, even an impossible one: the service must accept
// that.
//
// It must not know: the service's side. The words for stages and statuses are in package dialects;
// files in testdata hold both sides to the same messages.
package dialect
