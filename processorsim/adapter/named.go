package adapter

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

// fields are the fields of an object in the protocol, by name; nil: a string, a number or a boolean. A list has the fields
// of its elements.
type fields map[string]fields

var operationFields = fieldsOf(reflect.TypeFor[protocol.Notification]())

// disputeNames are the fields of each processor's disputes (D16), with the payment's reference, which no reader needs.
var disputeNames = map[processor.Name]fields{
	processor.Adyen: fieldsNamed("disputePspReference merchantAccountCode merchantReference paymentPspReference disputeType disputeStatus " +
		"reason reasonCode disputedAmount.value disputedAmount.currency eventDate defensePeriodEndsAt"),
	processor.Braintree: fieldsNamed("id merchant_account_id order_id transaction.id kind status reason reason_code amount_disputed " +
		"currency_iso_code updated_at reply_by_date"),
	processor.Checkout: fieldsNamed("id entity_id payment_reference payment_id stage status category reason_code amount currency " +
		"last_update evidence_required_by"),
	processor.PayPal: fieldsNamed("dispute_id seller.merchant_id disputed_transactions.seller_transaction_id " +
		"disputed_transactions.invoice_number dispute_life_cycle_stage status dispute_outcome.outcome_code reason external_reason_code " +
		"dispute_amount.value dispute_amount.currency_code update_time seller_response_due_date"),
	processor.Stripe: fieldsNamed("id account metadata.reference charge status reason network_reason_code amount currency updated_micros " +
		"evidence_details.due_by"),
	processor.Worldpay: fieldsNamed("caseNumber merchantCode orderCode transactionReference stage event reasonText reason value.amount " +
		"value.exponent value.currencyCode date respondBy"),
}

func fieldsOf(t reflect.Type) fields {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t == reflect.TypeFor[time.Time]() {
		return nil
	}
	named := fields{}
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name != "-" {
			named[name] = fieldsOf(t.Field(i).Type)
		}
	}
	return named
}

// fieldsNamed are fields by their paths.
func fieldsNamed(paths string) fields {
	named := fields{}
	for path := range strings.FieldsSeq(paths) {
		at, last := named, ""
		for i, name := range strings.Split(path, ".") {
			if i > 0 {
				if at[last] == nil {
					at[last] = fields{}
				}
				at = at[last]
			}
			last = name
		}
		at[last] = nil
	}
	return named
}

func fieldsFor(name processor.Name, object map[string]any) fields {
	if object["type"] != string(processor.Dispute) {
		return operationFields
	}
	return fields{"id": nil, "processor": nil, "type": nil, "reference": nil, "dispute": disputeNames[name]}
}

// splitBody splits the body of a notification as splitText does.
func splitBody(name processor.Name, body []byte) (named []byte, rest string) {
	var object map[string]any
	if json.Unmarshal(body, &object) != nil {
		return nil, string(body) // it was decoded before
	}
	return fieldsFor(name, object).splitText(body)
}

// splitText splits a JSON text into the fields of the protocol, which are stored in clear, and all others, "" if there are none:
// they may be personal data. A text without others is returned unchanged.
func (f fields) splitText(text []byte) (named []byte, rest string) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var tree any
	if decoder.Decode(&tree) != nil {
		return nil, string(text) // it was decoded before
	}
	return f.splitTree(text, tree)
}

// splitTree is splitText for a text that is decoded. All of a text that could not be decoded is rest.
func (f fields) splitTree(text []byte, tree any) (named []byte, rest string) {
	if tree == nil {
		return nil, string(text)
	}
	in, out := f.split(tree)
	if out == nil {
		return text, ""
	}
	return encoded(in), string(encoded(out))
}

// split splits a value into the fields of the protocol and all others; nil: none. The names of other fields are removed,
// too.
func (f fields) split(value any) (named, rest any) {
	switch value := value.(type) {
	case map[string]any:
		if f != nil {
			return f.splitObject(value)
		}
	case []any:
		if f != nil {
			return f.splitList(value)
		}
	default:
		if f == nil || value == nil {
			return value, nil
		}
	}
	return nil, value
}

func (f fields) splitObject(object map[string]any) (named, rest any) {
	in, out := map[string]any{}, map[string]any{}
	for name, value := range object {
		inner, known := f[name]
		if !known {
			out[name] = value
			continue
		}
		inside, beside := inner.split(value)
		if inside != nil || value == nil {
			in[name] = inside
		}
		if beside != nil {
			out[name] = beside
		}
	}
	if len(out) == 0 {
		return in, nil
	}
	return in, out
}

// splitList splits each element. Both results keep the elements' places.
func (f fields) splitList(list []any) (named, rest any) {
	in, out, some := make([]any, len(list)), make([]any, len(list)), false
	for i, value := range list {
		in[i], out[i] = f.split(value)
		some = some || out[i] != nil
	}
	if !some {
		return in, nil
	}
	return in, out
}

// encoded is the JSON of a value that was decoded from JSON.
func encoded(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return text
}
