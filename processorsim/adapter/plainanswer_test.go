package adapter

import (
	"net/http"
	"net/url"
	"reflect"
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
		f.Add([]byte(seed))
	}
	r := &http.Request{Method: http.MethodPost, URL: &url.URL{}}
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := readAnswer(call{r: r}, body, "")
		var want processor.Answer
		if wrong := exactjson.Unmarshal(body, &want); (wrong == nil) != (err == nil) {
			t.Fatalf("%q: %v, exactjson: %v", body, err, wrong)
		}
		if err != nil {
			return
		}
		if want.ActionToken != "" || want.CardToken != "" {
			return // never plain, and a token that is part of several names leaves only one of them
		}
		want = withoutOddTokens(want, "")
		want.RawAnswer = rawAnswer(body, answerFields, want, "")
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v %+v, want %+v %+v", body, got, got.RawAnswer, want, want.RawAnswer)
		}
	})
}
