package plainjson

import (
	"encoding/json"
	"strconv"
	"time"

	"payledger/domain/processor"
)

// AppendText appends a text as encoding/json writes it.
func AppendText[T ~string](b []byte, text T) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return append(b, escaped(string(text))...)
		}
	}
	return append(append(append(b, '"'), text...), '"')
}

func escaped(text string) []byte {
	b, err := json.Marshal(text)
	if err != nil { // no text fails to encode
		panic(err)
	}
	return b
}

// AppendField appends a field, with a comma if it is not the first of its object. An empty text leaves it out.
func AppendField[T ~string](b []byte, name string, text T) []byte {
	if text == "" {
		return b
	}
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	return AppendText(append(append(append(b, '"'), name...), `":`...), text)
}

// AppendTime appends a time of the years 0 to 9999 in UTC.
func AppendTime(b []byte, t time.Time) []byte {
	return append(t.AppendFormat(append(b, '"'), time.RFC3339Nano), '"')
}

// AppendTruth appends a boolean field that false leaves out.
func AppendTruth(b []byte, name string, value bool) []byte {
	if !value {
		return b
	}
	return append(strconv.AppendQuote(append(b, ','), name), ":true"...)
}

// AppendAnswer appends an answer.
func AppendAnswer(b []byte, a processor.Answer) []byte {
	b = AppendText(append(b, `{"state":`...), a.State)
	b = AppendField(b, "processorTransactionId", a.ProcessorTransactionID)
	b = AppendField(b, "processorEventId", a.ProcessorEventID)
	b = AppendTime(append(b, `,"at":`...), a.At)
	b = AppendField(b, "code", a.Code)
	b = AppendField(b, "message", a.Message)
	b = AppendTruth(b, "retryable", a.Retryable)
	b = AppendField(b, "authorizationCode", a.AuthorizationCode)
	if a.Bin != nil {
		b = appendBin(append(b, `,"binData":{`...), a.Bin)
	}
	if a.Risk != nil {
		b = appendRisk(append(b, `,"risk":{`...), a.Risk)
	}
	b = AppendField(b, "threeDSecureResponseCode", a.ThreeDS)
	b = AppendField(b, "actionToken", a.ActionToken)
	return append(b, '}')
}

func appendBin(b []byte, bin *processor.BinData) []byte {
	b = AppendField(b, "network", bin.Network)
	b = AppendField(b, "issuerCountryCode", bin.IssuerCountryCode)
	b = AppendField(b, "issuerName", bin.IssuerName)
	b = AppendField(b, "regionalRestriction", bin.RegionalRestriction)
	b = AppendField(b, "accountNumberType", bin.AccountNumberType)
	b = AppendField(b, "accountFundingType", bin.AccountFundingType)
	b = AppendField(b, "prepaidReloadableIndicator", bin.PrepaidReloadableIndicator)
	b = AppendField(b, "productUsageType", bin.ProductUsageType)
	b = AppendField(b, "productCode", bin.ProductCode)
	b = AppendField(b, "productName", bin.ProductName)
	return append(b, '}')
}

func appendRisk(b []byte, risk *processor.Risk) []byte {
	b = AppendField(b, "fraudSource", risk.FraudSource)
	b = AppendField(b, "fraudPreAuthorizationResult", risk.FraudPre)
	b = AppendField(b, "fraudPostAuthorizationResult", risk.FraudPost)
	b = AppendField(b, "cvvSource", risk.CVVSource)
	b = AppendField(b, "cvvResult", risk.CVVResult)
	b = AppendField(b, "avsSource", risk.AVSSource)
	b = AppendField(b, "avsStreetAddress", risk.AVSStreet)
	b = AppendField(b, "avsPostalCode", risk.AVSPostalCode)
	return append(b, '}')
}
