package frame

import (
	"regexp"
	"strings"

	"payledger/domain"
)

// forPrograms matches advice that only a caller of the API can follow.
var forPrograms = regexp.MustCompile(`(GET|POST|PUT|PATCH|DELETE) /|X-[A-Z]|Retry-After|JSON|header|key or token|API key|[Rr]equest|validationErrors|diagnosticsId|Id\b|[a-z]+[A-Z][a-z]+`)

// advices say the same to people with forms.
var advices = map[domain.Reason]string{
	domain.ReasonRequestValidation:         "Correct the input and send the form again.",
	domain.ReasonPayment:                   "Search for the order or the customer.",
	domain.ReasonEntityNotFound:            "It may have been deleted meanwhile: look at the list.",
	domain.ReasonInvalidPaymentStatus:      "Look at the payment: its timeline shows what happened.",
	domain.ReasonPaymentAlreadyRefunded:    "Nothing is left to do: the payment shows its refunds.",
	domain.ReasonUnprocessableRefundAmount: "Write at most the amount that is left.",
	domain.ReasonIdempotencyKeyExists:      "Look at the payment to see what became of the first try.",
	domain.ReasonPaymentRequestLimit:       "Do not try again before that time. The timeline of the payment shows what was tried and why it failed.",
	domain.ReasonConcurrentModification:    "Try again in a moment.",
	domain.ReasonServiceUnavailable:        "Try again in a few seconds.",
	domain.ReasonRateLimitExceeded:         "Wait a minute, then try again.",
	domain.ReasonRequestTooLarge:           "Shorten the longest texts.",
	domain.ReasonUnauthorized:              "Sign in again.",
	domain.ReasonNotFound:                  "Use the navigation, or search for an id.",
}

// ofRoutes is the advice that a payment has no processor (D15).
const ofRoutes = "Processors and routing shows the rule: an administrator enables one of its processors, or adds another one."

// ForPeople returns the advice of an error of the API for people with forms. Advice for programs is
// replaced, or left out.
func ForPeople(reason domain.Reason, advice string) string {
	if strings.Contains(advice, "PATCH /management/processors") {
		return ofRoutes
	}
	if forPrograms.MatchString(advice) {
		return advices[reason]
	}
	return advice
}
