package api

import (
	"regexp"

	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

// acquirerError is the refusal reason code of a fault between Adyen and the bank.
const acquirerError = "4"

// issuerAway is the refusal reason code of a bank that does not answer.
const issuerAway = "9"

// meaning is the issuer's code (D13) of a refusal reason; "": Adyen itself refused.
type meaning struct {
	words string // Adyen's, as webhooks have them
	code  string
}

// reasons are Adyen's refusal reasons, by code.
var reasons = map[string]meaning{
	"2": {"Refused", "05"}, "3": {"Referral", "01"}, "4": {"Acquirer Error", ""}, "5": {"Blocked Card", "04"}, "6": {"Expired Card", "54"},
	"7": {"Invalid Amount", "13"}, "8": {"Invalid Card Number", "14"}, "9": {"Issuer Unavailable", "91"}, "10": {"Not supported", "57"},
	"11": {"3D Not Authenticated", "1A"}, "12": {"Not enough balance", "51"}, "14": {"Acquirer Fraud", "59"}, "15": {"Cancelled", ""},
	"16": {"Shopper Cancelled", ""}, "17": {"Invalid Pin", "05"}, "18": {"Pin tries exceeded", "05"}, "19": {"Pin validation not possible", "05"},
	"20": {"FRAUD", ""}, "21": {"Not Submitted", ""}, "22": {"FRAUD-CANCELLED", ""}, "23": {"Transaction Not Permitted", "57"},
	"24": {"CVC Declined", "05"}, "25": {"Restricted Card", "62"}, "26": {"Revocation Of Auth", "05"}, "27": {"Declined Non Generic", "05"},
	"28": {"Withdrawal amount exceeded", "61"}, "29": {"Withdrawal count exceeded", "65"}, "31": {"Issuer Suspected Fraud", "59"},
	"32": {"AVS Declined", "05"}, "33": {"Card requires online pin", "1A"}, "34": {"No checking account available on Card", "05"},
	"35": {"No savings account available on Card", "05"}, "36": {"Mobile pin required", "1A"}, "37": {"Contactless fallback", "05"},
	"38": {"Authentication required", "1A"}, "39": {"RReq not received from DS", "1A"}, "40": {"Current AID is in Penalty Box.", "05"},
	"41": {"CVM Required Restart Payment", "1A"}, "42": {"3DS Authentication Error", "1A"}, "46": {"Transaction blocked by Adyen to prevent excessive retry fees", ""},
}

// raw is the beginning of a bank's own answer, such as "51 : Insufficient funds".
var raw = regexp.MustCompile(`^([0-9A-Z]{2}) ?:`)

// reason fills in a refused authorization: DECLINED with the issuer's code, or FAILED if Adyen
// refused by itself.
func reason(a *processor.Answer, code, words, bank string) {
	a.State, a.Code, a.Message = processor.Declined, "05", plain(words)
	known, found := reasons[code]
	a.Retryable = code == issuerAway
	switch said := raw.FindStringSubmatch(bank); {
	case found && known.code == "":
		a.State, a.Code = processor.Failed, protocol.CodeGatewayRejected
	case said != nil && said[1] != "00":
		a.Code = said[1]
	case found:
		a.Code = known.code
	default:
		a.Code = "unknown"
	}
}

// codeOf returns the refusal reason code of a webhook's words; "" if they are not known.
func codeOf(words string) string {
	for code, m := range reasons {
		if m.words == words {
			return code
		}
	}
	return ""
}
