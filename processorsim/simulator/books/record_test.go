package books

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"payledger/domain/processor"
)

// TestLine: a record is written as encoding/json writes it, with all fields of its operation and
// with each alone.
func TestLine(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 120, time.UTC)
	check := func(o Operation) {
		for _, r := range []record{{Type: accepted, At: at, Operation: &o}, {Type: finished, At: at, ID: o.ID, Answer: &o.Answer}} {
			want, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := r.line(); err != nil || string(got) != string(want) {
				t.Errorf("%s %v, want %s", got, err, want)
			}
		}
	}
	fill := func(v reflect.Value) {
		switch v.Interface().(type) {
		case time.Time:
			v.Set(reflect.ValueOf(at))
		case processor.Answer:
			v.Set(reflect.ValueOf(processor.Answer{State: processor.Declined, At: at, Code: "05", Bin: &visa, Risk: cards[0].risk(processor.Adyen, "000")}))
		default:
			switch v.Kind() {
			case reflect.String:
				v.SetString(`a "text" & é`)
			case reflect.Int64:
				v.SetInt(-7)
			case reflect.Bool:
				v.SetBool(true)
			}
		}
	}
	var all Operation
	for i := range reflect.TypeFor[Operation]().NumField() {
		if !reflect.TypeFor[Operation]().Field(i).IsExported() {
			continue
		}
		var one Operation
		fill(reflect.ValueOf(&one).Elem().Field(i))
		check(one)
		fill(reflect.ValueOf(&all).Elem().Field(i))
	}
	check(all)
	if line, _ := (record{Type: accepted, At: at, Operation: &all}).line(); strings.Contains(string(line), `"operation":""`) {
		t.Errorf("not filled: %s", line)
	}
}
