//go:build system

package kills

import (
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// values makes values that fit schemas of openapi.yaml, and remembers ids and tokens of answers for
// later requests.
type values struct {
	*rand.Rand
	seen map[string][]string // of answers, by the name of the field
}

// kept is how many values of one name are remembered, the newest ones.
const kept = 64

// remember keeps the ids and tokens of an answer.
func (v *values) remember(name string, answer any) {
	switch answer := answer.(type) {
	case map[string]any:
		for _, field := range slices.Sorted(maps.Keys(answer)) {
			v.remember(field, answer[field])
		}
	case []any:
		for _, element := range answer {
			v.remember(name, element)
		}
	case string:
		lower := strings.ToLower(name)
		if strings.HasSuffix(lower, "id") || strings.HasSuffix(lower, "token") || strings.HasSuffix(lower, "cursor") {
			v.add(name, answer)
		}
	}
}

// add remembers a value under a name.
func (v *values) add(name, value string) {
	if v.seen[name] = append(v.seen[name], value); len(v.seen[name]) > kept {
		v.seen[name] = v.seen[name][1:]
	}
}

// rememberID remembers the ids in an answer, by the place that uses them.
func (v *values) rememberID(place string, answer any, depth int) {
	switch answer := answer.(type) {
	case map[string]any:
		if id, is := answer["id"].(string); is {
			v.add(place, id)
			return
		}
		for _, field := range []string{"data", "currentAttempt"} {
			if depth > 0 {
				v.rememberID(place, answer[field], depth-1)
			}
		}
	case []any:
		for _, element := range answer {
			v.rememberID(place, element, depth-1)
		}
	}
}

// again is a value that an answer had under one of the names; "" for none.
func (v *values) again(names ...string) string {
	var all []string
	for _, name := range names {
		all = append(all, v.seen[name]...)
	}
	if len(all) == 0 {
		return ""
	}
	if v.percent(50) {
		return all[len(all)-1] // an older value is less useful
	}
	return all[v.Intn(len(all))]
}

// percent is true so often.
func (v *values) percent(n int) bool { return v.Intn(100) < n }

// known are values that random ones would never hit, by the name of the field.
func (v *values) known(name string) any {
	switch name {
	case "currencyCode":
		return []string{"EUR", "EUR", "EUR", "JPY", "XXX", "ZZZ"}[v.Intn(6)]
	case "number":
		return []string{"4111111111111111", "5555555555554444", "4000000000000002", "4000000000003220", "378282246310005", "4111111111111112"}[v.Intn(6)]
	case "cvv":
		return []string{"737", "737", "7373", "1"}[v.Intn(4)]
	case "expirationYear":
		return "2099"
	case "expirationMonth":
		return "03"
	case "url":
		return []string{"http://127.0.0.1:1/x", "http://127.0.0.1:1/y", "https://[::1]/", "javascript:1", "https://127.0.0.1/%zz"}[v.Intn(5)]
	case "returnUrl", "pageUrl":
		return []string{"https://shop.example/a", "https://[::1]/", "javascript:1", "https://ü.example/%zz"}[v.Intn(4)]
	case "condition":
		return []string{"true", "payment.amount > 100", "payment.metadata.a == 1", "((", "1/0 == 1"}[v.Intn(5)]
	case "paymentMethodToken", "token":
		return v.again("token")
	case "clientToken":
		return v.again("clientToken")
	case "id", "paymentId":
		return v.again("id", "paymentId", "paymentAttemptId")
	case "transactionEventId":
		return v.again("id")
	case "from", "to", "from_date", "to_date", "expiresAt", "at":
		return []string{"2026-11-22T10:00:00Z", "2099-01-01T00:00:00+14:00", "1999-01-01T00:00:00", "0000-01-01T00:00:00+23:59", "7"}[v.Intn(5)]
	case "customerId", "customer_id":
		return fmt.Sprint("customer-", v.Intn(5))
	}
	if text := v.again(name); text != "" {
		return text
	}
	return nil
}

// of makes a value of a schema for the field of a name.
func (v *values) of(name string, s *openapi3.Schema, depth int) any {
	if value := v.known(name); value != nil && value != "" && s.Type.Is("string") && v.percent(90) {
		return value
	}
	switch {
	case s.Nullable && v.percent(10), depth > 8:
		return nil
	case len(s.Enum) > 0:
		return s.Enum[v.Intn(len(s.Enum))]
	case len(s.AllOf) > 0:
		return v.of(name, s.AllOf[0].Value, depth)
	case len(s.AnyOf) > 0:
		return v.of(name, s.AnyOf[v.Intn(len(s.AnyOf))].Value, depth)
	case s.Type.Is("object"):
		return v.object(s, depth)
	case s.Type.Is("array"):
		return v.array(name, s, depth)
	case s.Type.Is("integer"):
		return v.integer(s)
	case s.Type.Is("number"):
		return v.Float64() * 1000
	case s.Type.Is("boolean"):
		return v.percent(50)
	default:
		return v.text(s)
	}
}

// usual are fields without which little can be paid, and seldom are those that exclude others.
var (
	usual  = []string{"orderId", "currencyCode", "amount", "customerId", "paymentInstrument"}
	seldom = []string{"processorToken", "paymentFlow", "tokenType"}
)

func (v *values) object(s *openapi3.Schema, depth int) any {
	object := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		often := 25
		if slices.Contains(seldom, name) {
			often = 8
		}
		if slices.Contains(s.Required, name) || v.percent(often) || slices.Contains(usual, name) && v.percent(60) {
			object[name] = v.of(name, s.Properties[name].Value, depth+1)
		}
	}
	if more := s.AdditionalProperties.Schema; more != nil {
		for range v.Intn(4) {
			object[string(rune('a'+v.Intn(26)))] = v.of("", more.Value, depth+1)
		}
	}
	return object
}

func (v *values) array(name string, s *openapi3.Schema, depth int) any {
	array := []any{}
	for range int(s.MinItems) + v.Intn(3) {
		array = append(array, v.of(name, s.Items.Value, depth+1))
	}
	return array
}

// integer is small mostly, and else a limit or beside it.
func (v *values) integer(s *openapi3.Schema) any {
	least, most := 0.0, 9007199254740991.0
	if s.Min != nil {
		least = *s.Min
	}
	if s.Max != nil {
		most = *s.Max
	}
	if v.percent(85) {
		return least + float64(v.Intn(int(min(most-least, 3000))+1))
	}
	return []float64{least, most, least - 1, most + 1, -most, most * most}[v.Intn(6)]
}

// letters are the characters of random texts.
var letters = []rune("abcXYZ019 -_./:'\"\\<>&%{}[]\u00e9\u4e16\u202e\U0001f600\x00\n\x7f")

// text has no more characters than it may have, mostly.
func (v *values) text(s *openapi3.Schema) any {
	most := uint64(40)
	if s.MaxLength != nil {
		most = *s.MaxLength
	}
	length := v.Intn(int(min(most, 24)) + 1)
	if v.percent(5) {
		length = int(min(most, 5000)) + v.Intn(2)
	}
	text := make([]rune, max(length, int(s.MinLength)))
	for i := range text {
		text[i] = letters[v.Intn(len(letters))]
		if v.percent(80) {
			text[i] = rune('a' + v.Intn(26))
		}
	}
	return string(text)
}
