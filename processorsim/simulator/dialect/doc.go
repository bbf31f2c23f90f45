// Package dialect writes disputes as each of the six simulated processors would: in words, codes, amounts and dates
// of its own (D14, D16).
//
//	           stage and status             reason, and its code        amount          deadline
//	ADYEN      disputeType, disputeStatus   a sentence, "10.4"          minor units     with an offset
//	BRAINTREE  kind, status                 a word, "10_4"              "12.50"         a date
//	CHECKOUT   stage, status                category, "10.4"            minor units     UTC
//	PAYPAL     stage, status and outcome    a word, "CARD/10.4"         {"12.50"}       none of an inquiry
//	STRIPE     one word for both            a word, "10.4"              minor units     Unix seconds
//	WORLDPAY   stage, event                 a sentence, "RC-10.4"       with exponent   15/03/2026
//
// A deadline is given while the dispute is open; all of them mean the end of a day in UTC. Any stage can be written
// with any status, also those that no dispute can have: the service has to stand that.
//
// What it must not know: the service's side. Package client reads these words with tables of its own; files that
// both are held to stand in testdata.
package dialect
