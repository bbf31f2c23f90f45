package validation

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"payledger/domain"
)

func nested(open, inner, closing string, times int) string {
	return strings.Repeat(open, times) + inner + strings.Repeat(closing, times)
}

// TestMalformedJSON checks D1's rules for a body: one JSON object.
func TestMalformedJSON(t *testing.T) {
	for _, c := range []struct {
		name, body, says string // says "" where the body is fine
	}{
		{"empty", "", "it is empty"},
		{"white space", " \n\t", "it is empty"},
		{"null", "null", "it is another JSON value"},
		{"array", "[]", "it is another JSON value"},
		{"string", `"x"`, "it is another JSON value"},
		{"number", "1", "it is another JSON value"},
		{"no JSON", "hello", "it is another JSON value"},
		{"byte order mark", "\ufeff{}", "it is another JSON value"},
		{"empty object", "{}", ""},
		{"white space around", " \r\n\t{ } \n", ""},
		{"two objects", "{}{}", "there is something behind it"},
		{"trailing text", `{"a":1} x`, "there is something behind it"},
		{"trailing NUL", "{}\x00", "there is something behind it"},
		{"cut", `{"a":1`, "it ends too early"},
		{"cut in a string", `{"a":"b`, "it ends too early"},
		{"cut in an escape", `{"a":"\`, "it ends too early"},
		{"cut in a number", `{"a":-`, "it ends too early"},
		{"cut in a word", `{"a":tru`, "it ends too early"},
		{"trailing comma", `{"a":1,}`, "it is no JSON at byte 7"},
		{"trailing comma in an array", `{"a":[1,]}`, "it is no JSON at byte 8"},
		{"no comma", `{"a":1 "b":2}`, "it is no JSON at byte 7"},
		{"no colon", `{"a" 1}`, "it is no JSON at byte 5"},
		{"key without quotes", `{a:1}`, "it is no JSON at byte 1"},
		{"single quotes", `{'a':1}`, "it is no JSON at byte 1"},
		{"wrong bracket", `{"a":[1}`, "it is no JSON at byte 7"},
		{"NaN", `{"a":NaN}`, "it is no JSON at byte 5"},
		{"leading zero", `{"a":01}`, "it is no JSON at byte 6"},
		{"plus", `{"a":+1}`, "it is no JSON at byte 5"},
		{"bare point", `{"a":1.}`, "it is no JSON at byte 7"},
		{"bare exponent", `{"a":1e}`, "it is no JSON at byte 7"},
		{"hexadecimal", `{"a":0x1}`, "it is no JSON at byte 6"},
		{"capital word", `{"a":True}`, "it is no JSON at byte 5"},
		{"control character", "{\"a\":\"\n\"}", "it is no JSON at byte 6"},
		{"unknown escape", `{"a":"\x"}`, "it is no JSON at byte 8"},
		{"short escape", `{"a":"\u12"}`, "it is no JSON at byte 7"},
		{"half a surrogate pair", `{"a":"\ud83d"}`, "it is no JSON at byte 12"},
		{"wrong half of a pair", `{"a":"\ude00\ud83d"}`, "it is no JSON at byte 18"},
		{"surrogate pair", `{"a":"\ud83d\ude00"}`, ""},
		{"not UTF-8", "{\"a\":\"\xff\"}", "it is not UTF-8"},
		{"overlong UTF-8", "{\"a\":\"\xc0\xaf\"}", "it is not UTF-8"},
		{"comment", `{/* */}`, "it is no JSON at byte 1"},
		{"repeated key", `{"a":1,"a":1}`, "a key stands in it twice"},
		{"repeated key, escaped", `{"a":1,"\u0061":1}`, "a key stands in it twice"},
		{"repeated key inside", `{"a":[{"b":1,"b":2}]}`, "a key stands in it twice"},
		{"same key in two objects", `{"a":{"b":1},"c":{"b":1}}`, ""},
		{"32 objects deep", `{"a":` + nested(`{"a":`, "1", "}", 31) + "}", ""},
		{"33 objects deep", `{"a":` + nested(`{"a":`, "1", "}", 32) + "}", "it is nested deeper than 32"},
		{"32 deep with arrays", `{"a":` + nested("[", "1", "]", 31) + "}", ""},
		{"33 deep with arrays", `{"a":` + nested("[", "", "]", 32) + "}", "it is nested deeper than 32"},
		{"never ending", `{"a":` + strings.Repeat("[", 1<<19), "it is nested deeper than 32"},
	} {
		_, err := Parse([]byte(c.body))
		switch {
		case c.says == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.says != "" && (err == nil || err.Error() != c.says):
			t.Errorf("%s: error %v, want %q", c.name, err, c.says)
		}
	}
}

func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		text      string
		whole     bool
		rewritten string // "" where the text stays
	}{
		{"0", true, ""}, {"-0", true, ""}, {"-0.0", true, "0"}, {"0e9", true, "0"}, {"0e-9", true, "0"},
		{"1", true, ""}, {"-17", true, ""}, {"1.0", true, "1"}, {"1e3", true, "1000"}, {"1E+3", true, "1000"},
		{"1.50e1", true, "15"}, {"1500e-2", true, "15"}, {"-2.5e1", true, "-25"},
		{"9007199254740991", true, ""}, {"9007199254740991.0", true, "9007199254740991"},
		{"1.5", false, ""}, {"1e-1", false, ""}, {"1.01e1", false, ""}, {"1e-999999999999", false, ""},
		{"9007199254740990.5", false, ""}, {"1.00000000000000000000001", false, ""}, {"0.9999999999999999999999", false, ""},
		{"1e-400", false, ""},
	} {
		doc, err := Parse([]byte(`{"n":` + c.text + `,"m":1.0}`))
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		f := doc.Tree["n"].(float64)
		if isWhole := f == float64(int64(f)); isWhole != c.whole {
			t.Errorf("%s: schema sees %v", c.text, f)
		}
		want := c.rewritten
		if want == "" {
			want = c.text
		}
		if got := string(doc.Text); got != `{"n":`+want+`,"m":1}` {
			t.Errorf("%s: decoded from %s", c.text, got)
		}
	}
	for _, text := range []string{"9007199254740992", "9007199254740993", "1e16", "1e400", "1e999999999", strings.Repeat("9", 5000), "1e99999999999999999999"} {
		doc, err := Parse([]byte(`{"n":` + text + `}`))
		if err != nil {
			t.Errorf("%.40s: %v", text, err)
			continue
		}
		if f := doc.Tree["n"].(float64); f <= float64(domain.MaxAmount) {
			t.Errorf("%.40s: schema sees %v, which is within the limits", text, f)
		}
	}
}

// FuzzParse checks that the parser accepts the same texts as encoding/json, except for its
// documented refusals, and reads the same values.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"{}", payment, `{"a":[1,2.5,-0,1e3,true,false,null,"x\u00e9\n\ud83d\ude00"]}`, `{"a":1.0,"b":{"c":[{},[]]}}`,
		`{"a":"\ud800"}`, `{"a":1,"a":2}`, `{"":{"":""}}`, ` {"a" : 1 } `, `{"a":1e999}`, `[1]`, `{"a":01}`, "{\"a\":\"\xff\"}", `{"a":"\u0000"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		doc, err := Parse(body)
		if err != nil {
			if json.Valid(body) && bytes.HasPrefix(bytes.TrimLeft(body, " \r\n\t"), []byte("{")) && !refusedAlone(err) {
				if !bytes.Contains(bytes.ToLower(body), []byte(`\ud`)) { // half a surrogate pair
					t.Fatalf("%q is JSON: %v", body, err)
				}
			}
			return
		}
		if !json.Valid(body) || !json.Valid(doc.Text) {
			t.Fatalf("%q is no JSON", body)
		}
		var theirs map[string]any
		if err := json.Unmarshal(body, &theirs); err != nil {
			var outOfRange *json.UnmarshalTypeError
			if !errors.As(err, &outOfRange) {
				t.Fatalf("%q: %v", body, err)
			}
			return
		}
		if ours := doc.Tree; !reflect.DeepEqual(strip(ours), strip(theirs)) {
			t.Fatalf("%q reads as %v, encoding/json says %v", body, ours, theirs)
		}
	})
}

func refusedAlone(err error) bool {
	return errors.Is(err, errTwice) || errors.Is(err, errDeep) || errors.Is(err, errNotUTF8)
}

// strip makes numbers comparable: one with a fraction may be another one for the schema.
func strip(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, inner := range v {
			out[k] = strip(inner)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, inner := range v {
			out[i] = strip(inner)
		}
		return out
	case float64:
		return v < 0
	}
	return v
}

// payment is a payment with everything that a shop sends.
const payment = `{"paymentMethodToken": "01k3v9t7hq2m5c8z0x4w6n1r3b", "orderId": "order-1001", "currencyCode": "EUR", "amount": 2500,
"customerId": "customer-7", "customer": {"emailAddress": "ada@example.com", "firstName": "Ada", "lastName": "Lovelace",
 "mobileNumber": "+441234567890", "billingAddress": {"firstName": "Ada", "lastName": "Lovelace", "addressLine1": "12 Square",
 "city": "London", "countryCode": "GB", "postalCode": "W1J 7NT"}},
"order": {"lineItems": [{"itemId": "sku-1", "name": "Notebook", "amount": 1000, "quantity": 2, "productType": "PHYSICAL"},
 {"itemId": "sku-2", "name": "Pen", "amount": 500, "quantity": 1}], "countryCode": "GB", "shipping": {"amount": 0, "methodName": "Post"}},
"metadata": {"shop": "north", "attempt": 2, "gift": true}, "paymentMethod": {"descriptor": "NORTH SHOP", "authorizationType": "FINAL"},
"expand": ["transactions.events"]}`

func BenchmarkParse(b *testing.B) {
	for b.Loop() {
		if _, err := Parse([]byte(payment)); err != nil {
			b.Fatal(err)
		}
	}
}
