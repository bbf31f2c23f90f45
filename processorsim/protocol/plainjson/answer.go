package plainjson

import "payledger/domain/processor"

// ReadAnswer reads a plain answer whose texts allow reports true for. ok is false for any other text.
func ReadAnswer(body []byte, allow func(text string) bool) (a processor.Answer, ok bool) {
	r := newReader(body, allow)
	text(r, "state", &a.State)
	text(r, "processorTransactionId", &a.ProcessorTransactionID)
	text(r, "processorEventId", &a.ProcessorEventID)
	if r.named("at") && a.At.UnmarshalText([]byte(r.value())) != nil {
		r.failed = true
	}
	text(r, "code", &a.Code)
	text(r, "message", &a.Message)
	r.truth("retryable", &a.Retryable)
	text(r, "authorizationCode", &a.AuthorizationCode)
	if r.object("binData") {
		a.Bin = &processor.BinData{}
		readBin(r, a.Bin)
	}
	if r.object("risk") {
		a.Risk = &processor.Risk{}
		readRisk(r, a.Risk)
	}
	text(r, "threeDSecureResponseCode", &a.ThreeDS)
	text(r, "actionToken", &a.ActionToken)
	if !r.done() {
		return processor.Answer{}, false
	}
	return a, true
}

func readBin(r *reader, bin *processor.BinData) {
	text(r, "network", &bin.Network)
	text(r, "issuerCountryCode", &bin.IssuerCountryCode)
	text(r, "issuerName", &bin.IssuerName)
	text(r, "regionalRestriction", &bin.RegionalRestriction)
	text(r, "accountNumberType", &bin.AccountNumberType)
	text(r, "accountFundingType", &bin.AccountFundingType)
	text(r, "prepaidReloadableIndicator", &bin.PrepaidReloadableIndicator)
	text(r, "productUsageType", &bin.ProductUsageType)
	text(r, "productCode", &bin.ProductCode)
	text(r, "productName", &bin.ProductName)
	r.end()
}

func readRisk(r *reader, risk *processor.Risk) {
	text(r, "fraudSource", &risk.FraudSource)
	text(r, "fraudPreAuthorizationResult", &risk.FraudPre)
	text(r, "fraudPostAuthorizationResult", &risk.FraudPost)
	text(r, "cvvSource", &risk.CVVSource)
	text(r, "cvvResult", &risk.CVVResult)
	text(r, "avsSource", &risk.AVSSource)
	text(r, "avsStreetAddress", &risk.AVSStreet)
	text(r, "avsPostalCode", &risk.AVSPostalCode)
	r.end()
}
