package exactjson_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"payledger/domain/exactjson"
)

type inner struct {
	Name string `json:"name"`
}

type line struct {
	ID string `json:"id"`
}

type value struct {
	line
	State  string            `json:"state"`
	At     *time.Time        `json:"at,omitempty"`
	One    *inner            `json:"one,omitempty"`
	Many   []inner           `json:"many,omitempty"`
	ByName map[string]inner  `json:"byName,omitempty"`
	Raw    json.RawMessage   `json:"raw,omitempty"`
	Any    any               `json:"any,omitempty"`
	Texts  map[string]string `json:"texts,omitempty"`
	Count  int8              `json:"count,omitempty"`
	Hidden string            `json:"-"`
	Plain  int
}

// TestExact: a field is taken by its exact name, and no name stands twice.
func TestExact(t *testing.T) {
	for text, want := range map[string]struct {
		open, strict error
		is           value
	}{
		`{"id":"a","state":"b"}`:                         {nil, nil, value{line: line{ID: "a"}, State: "b"}},
		`{"st\u0061te":"b"}`:                             {nil, nil, value{State: "b"}},
		`{"state":"b","STATE":"c"}`:                      {nil, exactjson.ErrUnknown, value{State: "b"}},
		`{"STATE":"c"}`:                                  {nil, exactjson.ErrUnknown, value{}},
		`{"ſtate":"c"}`:                                  {nil, exactjson.ErrUnknown, value{}}, // encoding/json takes the long s for an s
		`{"ID":"c","other":1}`:                           {nil, exactjson.ErrUnknown, value{}},
		`{"state":"b","state":"c"}`:                      {exactjson.ErrTwice, exactjson.ErrTwice, value{}},
		`{"state":"b","st\u0061te":"c"}`:                 {exactjson.ErrTwice, exactjson.ErrTwice, value{}},
		`{"one":{"name":"b","Name":"c"}}`:                {nil, exactjson.ErrUnknown, value{One: &inner{Name: "b"}}},
		`{"one":{"name":"b","name":"c"}}`:                {exactjson.ErrTwice, exactjson.ErrTwice, value{}},
		`{"many":[{"name":"b"},{"NAME":"c"}]}`:           {nil, exactjson.ErrUnknown, value{Many: []inner{{Name: "b"}, {}}}},
		`{"byName":{"x":{"name":"b"},"X":{"nAme":"c"}}}`: {nil, exactjson.ErrUnknown, value{ByName: map[string]inner{"x": {Name: "b"}, "X": {}}}},
		`{"texts":{"x":"1","X":"2"}}`:                    {nil, nil, value{Texts: map[string]string{"x": "1", "X": "2"}}},
		`{"texts":{"x":"1","x":"2"}}`:                    {exactjson.ErrTwice, exactjson.ErrTwice, value{}},
		`{"raw":{"a":1,"a":{"}":2}},"state":"b"}`:        {nil, nil, value{Raw: json.RawMessage(`{"a":1,"a":{"}":2}}`), State: "b"}},
		`{"raw":1}`:                                   {nil, nil, value{Raw: json.RawMessage(`1`)}},
		`{"raw":"}\"" , "state":"b"}`:                 {nil, nil, value{Raw: json.RawMessage(`"}\""`), State: "b"}},
		`{"raw":[ ],"raw":2}`:                         {exactjson.ErrTwice, exactjson.ErrTwice, value{}},
		`{"raw":[{"a":"\\\"","A":2}]}`:                {nil, nil, value{Raw: json.RawMessage(`[{"a":"\\\"","A":2}]`)}},
		`{"any":{"a":{"b":1,"b":1}}}`:                 {exactjson.ErrTwice, exactjson.ErrTwice, value{}},
		`{"Hidden":"x","hidden":"x","-":"x"}`:         {nil, exactjson.ErrUnknown, value{}},
		`{"Plain":1,"plain":2}`:                       {nil, exactjson.ErrUnknown, value{Plain: 1}},
		" {\n\"Plain\" :\t-1.0e0 , \"many\" : [ ] } ": {errAny, errAny, value{}},
		`{"state":"b"} {}`:                            {errAny, errAny, value{}},
		`{"state":"b"`:                                {errAny, errAny, value{}},
		``:                                            {errAny, errAny, value{}},
		`{"state":"` + "\xff" + `"}`:                  {errAny, errAny, value{}},
		`null`:                                        {nil, nil, value{}},
		`[{"a":1,"a":2}]`:                             {exactjson.ErrTwice, exactjson.ErrTwice, value{}},
		`{"one":null,"many":null}`:                    {nil, nil, value{}},
	} {
		var open, strict value
		err, strictErr := exactjson.Unmarshal([]byte(text), &open), exactjson.UnmarshalStrict([]byte(text), &strict)
		if !same(err, want.open) || err == nil && !reflect.DeepEqual(open, want.is) {
			t.Errorf("%s: %+v, %v; expected %+v, %v", text, open, err, want.is, want.open)
		}
		if !same(strictErr, want.strict) || strictErr == nil && !reflect.DeepEqual(strict, want.is) {
			t.Errorf("%s, strict: %+v, %v; expected %+v, %v", text, strict, strictErr, want.is, want.strict)
		}
	}
}

var errAny = errors.New("any")

func same(err, want error) bool {
	if errors.Is(want, errAny) {
		return err != nil
	}
	return errors.Is(err, want)
}

// TestSilent: no error repeats a name or a value of the text, which may be a card number.
func TestSilent(t *testing.T) {
	for text, has := range map[string]string{
		`{"4111111111111111":1,"4111111111111111":2}`:               "no field",
		`{"4111111111111111":1}`:                                    "no field",
		`{"texts":{"4111111111111111":"","4111111111111111":""}}`:   "twice",
		`{"texts":{"4111111111111111":4111111111111111}}`:           `"texts"`,
		`{"byName":{"4111111111111111":{"name":4111111111111111}}}`: `"byName.name"`,
		`{"at":"4111 1111 1111 1111"}`:                              "cannot be read",
		`{"state":4111111111111111}`:                                `"state"`,
		`{"Plain":"4111111111111111"}`:                              `"Plain"`,
		`{"Plain":4111111111111111411111111111111}`:                 `"Plain"`,
		`{"one":4111111111111111}`:                                  `"one"`,
		`{"count":4111111111111111}`:                                `"count"`,
		`[4111111111111111]`:                                        "cannot be read",
		`{"state":"4111111111111111"`:                               "end of JSON",
		`{"state":"b"} 4111111111111111`:                            "after top-level value",
	} {
		if err := exactjson.UnmarshalStrict([]byte(text), &value{}); err == nil || strings.Contains(err.Error(), "411") || !strings.Contains(err.Error(), has) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// FuzzExact compares the package with encoding/json: for an accepted text without similar names,
// both read the same value.
func FuzzExact(f *testing.F) {
	for _, seed := range []string{`{"id":"a","many":[{"name":"x"}],"any":[1,-2.5e3,true,null,"\u00e9\""]}`, `{"a":{"A":[]},"a":1}`, `[]`, `"x"`, "1", `{"":{}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var got, want any
		err := exactjson.Unmarshal(text, &got)
		if wrong := json.Unmarshal(text, &want); err == nil && (wrong != nil || !reflect.DeepEqual(got, want)) {
			t.Errorf("%q is %v, expected %v, %v", text, got, want, wrong)
		}
		if err != nil && !errors.Is(err, exactjson.ErrTwice) && json.Valid(text) && strings.ToValidUTF8(string(text), "") == string(text) {
			t.Errorf("%q: %v", text, err)
		}
		var exact, strict value
		if exactjson.UnmarshalStrict(text, &strict) == nil && (exactjson.Unmarshal(text, &exact) != nil || !reflect.DeepEqual(exact, strict)) {
			t.Errorf("%q: %+v, strict %+v", text, exact, strict)
		}
	})
}
