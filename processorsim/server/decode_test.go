package server

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"payledger/domain/processor"
)

// TestRefusedOperations: one wrong field at a time.
func TestRefusedOperations(t *testing.T) {
	const authorize = `{"operation":"authorize","reference":"01a","amount":1,"currency":"EUR","notifyUrl":"http://h/n",` +
		`"card":{"number":"4242424242424242","cvv":"123","expirationMonth":"12","expirationYear":"2031"}}`
	back := strings.Replace(authorize, `"notifyUrl"`, `"returnUrl":"https://shop/back","notifyUrl"`, 1)
	const capture = `{"operation":"capture","reference":"01a","parentId":"x","amount":1,"currency":"EUR"}`
	later := strings.NewReplacer(`:1,`, `:1,"Amount":2,"later":{"card":1},`).Replace(authorize) // a later version's fields
	long := strings.NewReplacer(`"x"`, `"`+strings.Repeat("ü", 255)+`","processorMerchantId":"`+strings.Repeat("ü", 255)+
		`","notifyUrl":"http://h/`+strings.Repeat("ü", 2039)+`"`).Replace(capture) // limits are in characters
	for _, good := range []string{authorize, back, capture, later, long} {
		if _, err := decodeOperation([]byte(good), processor.Adyen, "k"); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, row := range []struct{ good, from, to string }{
		{authorize, `"authorize"`, `"pay"`},
		{authorize, `"01a"`, `""`},
		{authorize, `"01a"`, `"a.b"`},
		{authorize, `:1,`, `:-1,`},
		{authorize, `:1,`, `:9007199254740992,`},
		{authorize, `:1,`, `:1.5,`},
		{authorize, `:1,`, `:1,"amount":2,`},
		{capture, `"capture"`, `"capture","operation":"void"`},
		{authorize, `"EUR"`, `"eur"`},
		{authorize, `"EUR"`, `""`},
		{authorize, `"http://h/n"`, `"/n"`},
		{authorize, `"http://h/n"`, `"file:///n"`},
		{authorize, `"http://h/n"`, `"http://user:word@h/n"`},
		{authorize, `"http://h/n"`, `"http://h/` + strings.Repeat("n", 2048) + `"`},
		{back, `"https://shop/back"`, `"javascript:pay()"`},
		{back, `"https://shop/back"`, `"https://shop/4242424242424242"`},
		{back, `"https://shop/back"`, `"https://shop/` + strings.Repeat("n", 2048) + `"`},
		{authorize, `"card"`, `"CARD2"`},
		{authorize, `"4242424242424242"`, `"4242"`},
		{authorize, `"4242424242424242"`, `"4242 4242 4242 4242"`},
		{authorize, `"123"`, `"12"`},
		{authorize, `"123"`, `"12x"`},
		{authorize, `"12"`, `"13"`},
		{authorize, `"12"`, `"1"`},
		{authorize, `"2031"`, `"31"`},
		{capture, `"x"`, `""`},
		{capture, `"x"`, `"` + strings.Repeat("x", 256) + `"`},
		{capture, `"x"`, `"x","processorMerchantId":"` + strings.Repeat("ü", 256) + `"`},
		{long, `http://h/`, `http://h/n`},
		{capture, `"x"`, `"4242 4242 4242 4242"`},
		{capture, `"x"`, `"x","card":{}`},
		{capture, `"capture"`, `"complete"`},
		{capture, `"capture"`, `"complete","outcome":"PERHAPS"`},
	} {
		bad := strings.Replace(row.good, row.from, row.to, 1)
		if _, err := decodeOperation([]byte(bad), processor.Adyen, "k"); err == nil || bad == row.good {
			t.Errorf("accepted %s", bad)
		}
	}
}

// FuzzDecodeOperation checks that no body makes the decoder panic. An accepted operation meets the
// rules' preconditions, and is the same after encoding and decoding. The error of a refused body
// contains no card number.
func FuzzDecodeOperation(f *testing.F) {
	for _, seed := range []string{
		`{"operation":"authorize","processorMerchantId":"m","reference":"01a","amount":1,"currency":"EUR",` +
			`"card":{"number":"4242424242424242","cvv":"123","expirationMonth":"12","expirationYear":"2031"}}`,
		`{"operation":"capture","reference":"01a","parentId":"adyen_x","amount":1,"currency":"EUR","final":true}`,
		`{"operation":"complete","reference":"01a","parentId":"adyen_x","amount":0,"currency":"","outcome":"FAILED"}`,
		`{"operation":"void","reference":"01a","parentId":"x","amount":0,"notifyUrl":"http://127.0.0.1/n"}`,
		`{"card":{"number":4242424242424242}}`, `null`, `[]`, `{"amount":-1}`, `{"card":null}`, "\x00",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		op, err := decodeOperation(body, processor.Adyen, "01a.1")
		if err != nil {
			if strings.Contains(err.Error(), "4242424242424242") {
				t.Errorf("the refusal repeats the body: %v", err)
			}
			return
		}
		if (op.Kind == processor.Authorize) != (op.Card != nil) || op.Kind != processor.Authorize && op.ParentID == "" || op.Amount < 0 {
			t.Errorf("accepted %+v", op)
		}
		text, err := json.Marshal(op)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := decodeOperation(text, op.Processor, op.Key); err != nil || !reflect.DeepEqual(again, op) {
			t.Errorf("%+v, again %+v %v", op, again, err)
		}
	})
}
