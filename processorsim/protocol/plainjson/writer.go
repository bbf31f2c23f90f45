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

// AppendField appends a field, with a comma if it is not the first of its object. An empty text
// leaves it out.
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
		b = append(b, `,"binData":{`...)
		for _, f := range binFields(a.Bin) {
			b = AppendField(b, f.name, *f.text)
		}
		b = append(b, '}')
	}
	if a.Risk != nil {
		b = append(b, `,"risk":{`...)
		for _, f := range riskFields(a.Risk) {
			b = AppendField(b, f.name, *f.text)
		}
		b = append(b, '}')
	}
	b = AppendField(b, "threeDSecureResponseCode", a.ThreeDS)
	b = AppendField(b, "cardTokenType", a.CardTokenType)
	b = AppendField(b, "processorToken", a.CardToken)
	b = AppendField(b, "actionToken", a.ActionToken)
	b = AppendField(b, "actionUrl", a.ActionURL)
	b = AppendField(b, "operation", a.Kind)
	if a.Amount != nil {
		b = strconv.AppendInt(append(b, `,"amount":`...), int64(*a.Amount), 10)
	}
	b = AppendField(b, "currency", a.Currency)
	b = AppendField(b, "reference", a.Reference)
	return append(b, '}')
}
