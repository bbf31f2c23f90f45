package plainjson

import "payledger/domain/processor"

// ReadAnswer reads a plain answer whose texts allow reports true for. ok is false for any other
// text.
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
		for _, f := range binFields(a.Bin) {
			text(r, f.name, f.text)
		}
		r.end()
	}
	if r.object("risk") {
		a.Risk = &processor.Risk{}
		for _, f := range riskFields(a.Risk) {
			text(r, f.name, f.text)
		}
		r.end()
	}
	text(r, "threeDSecureResponseCode", &a.ThreeDS)
	text(r, "cardTokenType", &a.CardTokenType)
	text(r, "processorToken", &a.CardToken)
	text(r, "actionToken", &a.ActionToken)
	text(r, "actionUrl", &a.ActionURL)
	text(r, "operation", &a.Kind)
	stated(r, "amount", &a.Amount)
	text(r, "currency", &a.Currency)
	text(r, "reference", &a.Reference)
	if !r.done() {
		return processor.Answer{}, false
	}
	return a, true
}

// field is a text of an object, by its name.
type field struct {
	name string
	text *string
}

func binFields(bin *processor.BinData) [10]field {
	return [...]field{
		{"network", (*string)(&bin.Network)}, {"issuerCountryCode", &bin.IssuerCountryCode}, {"issuerName", &bin.IssuerName},
		{"regionalRestriction", &bin.RegionalRestriction}, {"accountNumberType", &bin.AccountNumberType},
		{"accountFundingType", &bin.AccountFundingType}, {"prepaidReloadableIndicator", &bin.PrepaidReloadableIndicator},
		{"productUsageType", &bin.ProductUsageType}, {"productCode", &bin.ProductCode}, {"productName", &bin.ProductName},
	}
}

func riskFields(risk *processor.Risk) [8]field {
	return [...]field{
		{"fraudSource", &risk.FraudSource}, {"fraudPreAuthorizationResult", &risk.FraudPre}, {"fraudPostAuthorizationResult", &risk.FraudPost},
		{"cvvSource", &risk.CVVSource}, {"cvvResult", &risk.CVVResult},
		{"avsSource", &risk.AVSSource}, {"avsStreetAddress", &risk.AVSStreet}, {"avsPostalCode", &risk.AVSPostalCode},
	}
}
