package adapter

import (
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"payledger/domain/exactjson"
	"payledger/domain/processor"
)

// TestPlainNames: no field of the protocol's answers has a name that announces card data. Plain
// answers keep all of their fields.
func TestPlainNames(t *testing.T) {
	for name, plain := range plainNames {
		if !plain || telling(name) {
			t.Errorf("%s is secret", name)
		}
	}
}

// FuzzReadAnswer checks that an answer in plain form gives the same value and the same stored body
// as with exactjson.
func FuzzReadAnswer(f *testing.F) {
	const at = `"at":"2026-03-01T12:00:00.123Z"`
	for _, seed := range []string{
		`{"state":"SUCCEEDED","processorTransactionId":"t",` + at + `,"binData":{"network":"VISA","issuerName":"Banque simulée"},"risk":{"cvvResult":"MATCHED"}}`,
		`{"state":"ACTION_REQUIRED","processorTransactionId":"t",` + at + `,"actionToken":"act_1"}`, `{"state":"DECLINED",` + at + `,"code":"05","message":"a@b"}`,
		`{"state":"DECLINED",` + at + `,"code":"05","message":"4242 4242 4242 4242"}`, `{"state":"DECLINED",` + at + `,"code":"4242424242424242"}`,
		`{"state":"A","state":"B"}`, `{"state":"A",` + at + `,"other":1}`, `{}`, `{"binData":{}}`, `[]`, ``,
	} {
		f.Add([]byte(seed), "")
	}
	f.Add([]byte(`{"state":"SUCCEEDED",`+at+`,"message":"of tok_sent, and tok_1","cardTokenType":"PROCESSOR_TOKEN","processorToken":"tok_1","amount":100}`), "tok_sent")
	f.Add([]byte(`{"state":"SUCCEEDED",`+at+`,"processorTransactionId":"tok_1","processorToken":"tok_1"}`), "")
	f.Add([]byte(`{"state":"SUCCEEDED",`+at+`,"processorToken":"currency","amount":100,"currency":"EUR"}`), "EUR")
	f.Add([]byte(`{"state":"SUCCEEDED",`+at+`,"processorToken":"100","amount":100,"currency":"EUR"}`), "removed")
	r := &http.Request{Method: http.MethodPost, URL: &url.URL{}}
	f.Fuzz(func(t *testing.T, body []byte, sent string) {
		got, err := readAnswer(call{r: r}, body, sent)
		var want processor.Answer
		if wrong := exactjson.Unmarshal(body, &want); (wrong == nil) != (err == nil) {
			t.Fatalf("%q: %v, exactjson: %v", body, err, wrong)
		}
		if err != nil {
			return
		}
		raw := rawAnswer(body, answerFields, want, sent)
		if strings.Contains(raw.Body+raw.Additional, `"`+removed+`":`) {
			return // never plain, and a token that is part of several names leaves only one of them
		}
		want = withoutOdd(withoutCards(want), sent)
		if raw.Redacted && got.RawAnswer.Redacted { // the fields of a plain body keep their order
			raw.Body, got.RawAnswer.Body = sorted(raw.Body), sorted(got.RawAnswer.Body)
		}
		want.RawAnswer = raw
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q, %q: %+v %+v, want %+v %+v", body, sent, got, got.RawAnswer, want, want.RawAnswer)
		}
	})
}

// sorted returns a JSON text with the fields of its objects in order.
func sorted(text string) string {
	_, tree, _ := cleanTree([]byte(text))
	return string(encoded(tree))
}
