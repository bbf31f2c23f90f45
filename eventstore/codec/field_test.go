package codec_test

import (
	"testing"

	"payledger/eventstore/codec"
)

// TestField: the value of a field is found at any place of a map, and a value that is no whole map
// is an error.
func TestField(t *testing.T) {
	m, err := codec.Marshal(map[string]any{"a": map[string]any{"c": 1}, "b": "text", "d": nil})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"b": "\xa4text", "c": "", "d": "\xc0"} {
		if value, err := codec.Field(m, name); err != nil || string(value) != want {
			t.Errorf("%s is %q, want %q, %v", name, value, want, err)
		}
	}
	for _, bad := range [][]byte{nil, []byte("\xa1b"), m[:len(m)-2]} {
		if value, err := codec.Field(bad, "none"); err == nil {
			t.Errorf("%q has the field %q", bad, value)
		}
	}
}
