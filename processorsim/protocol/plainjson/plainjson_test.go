package plainjson_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"payledger/domain/processor"
	"payledger/processorsim/protocol/plainjson"
)

// texts are values of a text field, plain ones and others.
var texts = []string{"", "EUR", "Banque simulée", "http://h/n?a=1&b=2", `a "quoted" <text> \`, "line\n", "\u2028", "\xff", "~\x7f"}

// filled calls try with values of T: each text in all text fields, then each field alone, with and
// without the objects inside.
func filled[T any](try func(T)) {
	for _, text := range texts {
		var all T
		fill(reflect.ValueOf(&all).Elem(), text)
		try(all)
		for i := range reflect.TypeFor[T]().NumField() {
			var one T
			fill(reflect.ValueOf(&one).Elem().Field(i), text)
			try(one)
		}
	}
}

func fill(v reflect.Value, text string) {
	switch at := v.Addr().Interface().(type) {
	case *time.Time:
		*at = time.Date(2026, 3, 1, 12, 0, 0, 120_000_000, time.UTC)
		return
	case **processor.RawAnswer:
		return // no body has it
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Int64:
		v.SetInt(int64(len(text)) - 3)
	case reflect.Bool:
		v.SetBool(text != "")
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), text)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), text)
		}
	default:
		panic(v.Kind())
	}
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestAppendAnswer: an answer is written as encoding/json writes it, and read as it reads it if it
// has no escaped character.
func TestAppendAnswer(t *testing.T) {
	t.Parallel()
	filled(func(a processor.Answer) {
		want := marshal(t, a)
		if got := plainjson.AppendAnswer(nil, a); !bytes.Equal(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
		sameAnswer(t, want)
		if _, plain := plainjson.ReadAnswer(want, nil); plain == bytes.Contains(want, []byte(`\`)) {
			t.Errorf("plain is %v: %s", plain, want)
		}
	})
}

// TestReadOperation: an operation is read as encoding/json reads it if it has no escaped character.
func TestReadOperation(t *testing.T) {
	t.Parallel()
	filled(func(op processor.Operation) {
		body := marshal(t, op)
		sameOperation(t, body)
		if _, plain := plainjson.ReadOperation(body); plain == bytes.Contains(body, []byte(`\`)) {
			t.Errorf("plain is %v: %s", plain, body)
		}
	})
}

// TestNotAllowed: an answer with a text that is not allowed is not plain.
func TestNotAllowed(t *testing.T) {
	t.Parallel()
	filled(func(a processor.Answer) {
		body := marshal(t, a)
		var seen []string
		if _, plain := plainjson.ReadAnswer(body, func(text string) bool { seen = append(seen, text); return true }); !plain {
			return
		}
		for _, refused := range seen {
			if _, plain := plainjson.ReadAnswer(body, func(text string) bool { return text != refused }); plain {
				t.Errorf("%q is not refused in %s", refused, body)
			}
		}
		if texts := bytes.Count(body, []byte(`":"`)); texts != len(seen) {
			t.Errorf("%d of %d texts seen in %s", len(seen), texts, body)
		}
	})
}

func sameAnswer(t *testing.T, body []byte) {
	t.Helper()
	if got, plain := plainjson.ReadAnswer(body, nil); plain {
		var want processor.Answer
		same(t, body, got, &want)
	}
}

func sameOperation(t *testing.T, body []byte) {
	t.Helper()
	if got, plain := plainjson.ReadOperation(body); plain {
		var want processor.Operation
		same(t, body, got, &want)
	}
}

// same checks that encoding/json reads the body as got, and finds no unknown field.
func same[T any](t *testing.T, body []byte, got T, want *T) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(want); err != nil || decoder.InputOffset() != int64(len(body)) || !reflect.DeepEqual(got, *want) {
		t.Errorf("%s is read as %+v, want %+v, %v", body, got, *want, err)
	}
}

// FuzzRead checks that encoding/json reads the same value from each plain body.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `{"amount":1}`, `{"amount":-0}`, `{"amount":01}`, `{"amount":1e3}`, `{"amount":9223372036854775808}`, `{"amount":1,}`, `{,"amount":1}`,
		`{"final":true}`, `{"final":truex}`, `{"state":"A","state":"B"}`, `{"State":"A"}`, `{"state":null}`, `{"binData":{}}`, `{"binData":{},"risk":{"cvvResult":"x"}}`,
		`{"risk":{"cvvResult":"x"}`, `{"card":{"number":"4"},"card":{}}`, `{"at":"2026-03-01T12:00:00+01:00"}`, `{"at":"now"}`, `{"at":"2026-03-01t12:00:00Z"}`, `{"state":"A"} `,
		`{"state":"` + strings.Repeat("a", 300) + `"}`, "{\"state\":\"\xff\"}", `{"amount":1`, `{"amount":`, `{"state":"`, `{"binData":{"network":"VISA"},"threeDSecureResponseCode":"x"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		sameAnswer(t, body)
		sameOperation(t, body)
	})
}

func BenchmarkReadAnswer(b *testing.B) {
	body := fmt.Appendf(nil, `{"state":"SUCCEEDED","processorTransactionId":"adyen_1","processorEventId":"ev_1","at":%q,"risk":{"cvvResult":"MATCHED"}}`, "2026-03-01T12:00:00Z")
	for b.Loop() {
		if _, plain := plainjson.ReadAnswer(body, nil); !plain {
			b.Fatal("not plain")
		}
	}
}
