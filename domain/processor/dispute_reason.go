package processor

import "strings"

// reasons maps the card schemes' codes to unified reasons (§6.4). Codes of different schemes
// differ.
var reasons = indexReasons(map[string]string{
	"FRAUD":                  "10.1 10.2 10.3 10.4 10.5 4837 4840 4849 4863 4870 4871 F10 F14 F24 F29 F30 F31 UA01 UA02 UA05 UA06 UA10 UA11",
	"AUTHORIZATION":          "11.1 11.2 11.3 4807 4808 4812 A01 A02 A08 AT NA DA",
	"PROCESSING_ERROR":       "12.1 12.2 12.3 12.4 12.5 12.7 4831 4842 4846 P01 P03 P04 P05 P07 P22 P23 LP IN CR",
	"DUPLICATE":              "12.6 12.6.1 12.6.2 4834 P08 C14 DP",
	"PRODUCT_NOT_RECEIVED":   "13.1 13.9 4855 4859 C08 RG NF",
	"PRODUCT_UNACCEPTABLE":   "13.3 13.4 13.5 4853 4854 C31 C32 RM",
	"SUBSCRIPTION_CANCELLED": "13.2 4841 4544 C28 AP",
	"CREDIT_NOT_PROCESSED":   "13.6 13.7 13.8 4860 C02 C04 C05 C18 RN RN2",
})

func indexReasons(byReason map[string]string) map[string]string {
	byCode := map[string]string{}
	for reason, codes := range byReason {
		for code := range strings.FieldsSeq(codes) {
			byCode[code] = reason
		}
	}
	return byCode
}

// DisputeReason returns the unified reason of a scheme's code; "" for a code that is not listed.
func DisputeReason(code string) string { return reasons[code] }
