package api

import (
	"encoding/json"

	"github.com/stripe/stripe-go/v84"

	"payledger/domain/processor"
)

// rawCodes maps Stripe's decline codes to the issuers' raw codes (D13), whose meaning and advised
// action package processor knows. It counts only where the network's own code is not known.
var rawCodes = map[stripe.DeclineCode]string{
	stripe.DeclineCodeAuthenticationRequired:         "1A",
	stripe.DeclineCodeApproveWithID:                  "01",
	stripe.DeclineCodeCallIssuer:                     "01",
	stripe.DeclineCodeCardNotSupported:               "57",
	stripe.DeclineCodeCardVelocityExceeded:           "61",
	stripe.DeclineCodeCurrencyNotSupported:           "57",
	stripe.DeclineCodeDoNotHonor:                     "05",
	stripe.DeclineCodeDoNotTryAgain:                  "57",
	stripe.DeclineCodeDuplicateTransaction:           "94",
	stripe.DeclineCodeExpiredCard:                    "54",
	stripe.DeclineCodeFraudulent:                     "59",
	stripe.DeclineCodeGenericDecline:                 "05",
	stripe.DeclineCodeIncorrectNumber:                "14",
	stripe.DeclineCodeIncorrectCVC:                   "N7",
	stripe.DeclineCodeIncorrectPIN:                   "55",
	stripe.DeclineCodeIncorrectZip:                   "05",
	"incorrect_address":                              "05",
	stripe.DeclineCodeInsufficientFunds:              "51",
	stripe.DeclineCodeInvalidAccount:                 "14",
	stripe.DeclineCodeInvalidAmount:                  "13",
	stripe.DeclineCodeInvalidCVC:                     "N7",
	stripe.DeclineCodeInvalidExpiryMonth:             "54",
	stripe.DeclineCodeInvalidExpiryYear:              "54",
	stripe.DeclineCodeInvalidNumber:                  "14",
	stripe.DeclineCodeInvalidPIN:                     "55",
	stripe.DeclineCodeIssuerNotAvailable:             "91",
	stripe.DeclineCodeLostCard:                       "41",
	stripe.DeclineCodeMerchantBlacklist:              "59",
	stripe.DeclineCodeNewAccountInformationAvailable: "14",
	stripe.DeclineCodeNoActionTaken:                  "05",
	stripe.DeclineCodeNotPermitted:                   "57",
	stripe.DeclineCodeOfflinePINRequired:             "1A",
	stripe.DeclineCodeOnlineOrOfflinePINRequired:     "1A",
	stripe.DeclineCodePickupCard:                     "04",
	stripe.DeclineCodePINTryExceeded:                 "75",
	stripe.DeclineCodeProcessingError:                "19",
	stripe.DeclineCodeReenterTransaction:             "19",
	stripe.DeclineCodeRestrictedCard:                 "57",
	stripe.DeclineCodeRevocationOfAllAuthorizations:  "57",
	stripe.DeclineCodeRevocationOfAuthorization:      "57",
	stripe.DeclineCodeSecurityViolation:              "59",
	stripe.DeclineCodeServiceNotAllowed:              "57",
	stripe.DeclineCodeStolenCard:                     "43",
	stripe.DeclineCodeStopPaymentOrder:               "57",
	stripe.DeclineCodeTestModeDecline:                "57",
	stripe.DeclineCodeTransactionNotAllowed:          "57",
	stripe.DeclineCodeTryAgainLater:                  "91",
	stripe.DeclineCodeWithdrawalCountLimitExceeded:   "61",
}

// errorCodes maps the codes of Stripe's card errors without a decline code.
var errorCodes = map[stripe.ErrorCode]string{
	stripe.ErrorCodeExpiredCard:                        "54",
	stripe.ErrorCodeIncorrectCVC:                       "N7",
	stripe.ErrorCodeInvalidCVC:                         "N7",
	stripe.ErrorCodeIncorrectNumber:                    "14",
	stripe.ErrorCodeInvalidNumber:                      "14",
	stripe.ErrorCodeInvalidExpiryMonth:                 "54",
	stripe.ErrorCodeInvalidExpiryYear:                  "54",
	stripe.ErrorCodeIncorrectZip:                       "05",
	stripe.ErrorCodeProcessingError:                    "19",
	stripe.ErrorCodeAuthenticationRequired:             "1A",
	stripe.ErrorCodePaymentIntentAuthenticationFailure: "1A",
	stripe.ErrorCodeSetupIntentAuthenticationFailure:   "1A",
	stripe.ErrorCodeCardDeclineRateLimitExceeded:       "61",
	stripe.ErrorCodePaymentIntentPaymentAttemptExpired: "1A",
	stripe.ErrorCodePaymentMethodProviderDecline:       "05",
	stripe.ErrorCodeCardDeclined:                       "05",
}

// unknownDecline is what processor.ExplainDecline says about codes that D13 does not have.
var unknownDecline = processor.ExplainDecline("")

// declineCode returns the raw code of a decline: the network's if D13 has it, else that of Stripe's
// decline code, else whatever there is.
func declineCode(network string, decline stripe.DeclineCode, code stripe.ErrorCode) string {
	if len(network) == 2 && processor.ExplainDecline(network) != unknownDecline {
		return network
	}
	if raw := rawCodes[decline]; raw != "" {
		return raw
	}
	if decline == "" {
		if raw := errorCodes[code]; raw != "" {
			return raw
		}
	}
	switch {
	case len(network) == 2:
		return network
	case decline != "":
		return string(decline)
	case code != "":
		return string(code)
	}
	return "05"
}

// retryable lists the raw codes after which another processor may be tried at once: the issuer or
// the way to it had a fault.
var retryable = map[string]bool{"19": true, "91": true}

// networkCode returns the network's decline code of an error, which stripe-go does not read.
func networkCode(e *stripe.Error) string {
	if e == nil || e.LastResponse == nil {
		return ""
	}
	var body struct {
		Error struct {
			NetworkDeclineCode string `json:"network_decline_code"`
		} `json:"error"`
	}
	if json.Unmarshal(e.LastResponse.RawJSON, &body) != nil {
		return ""
	}
	return body.Error.NetworkDeclineCode
}
