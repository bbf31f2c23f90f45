package engine_test

import (
	"bytes"
	"testing"

	"payledger/eventstore"
	"payledger/eventstore/codec"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/format"
)

// TestParts: for every golden body, the state that is cut out of the body equals the decoded state.
// Bytes that are no body are refused.
func TestParts(t *testing.T) {
	t.Parallel()
	for _, r := range eventstoretest.Golden(t, golden) {
		body := r.Body
		cut, _, err := (&eventstore.Recorded{Body: body}).Parts()
		if err != nil {
			t.Fatalf("%s: %v", r.Type, err)
		}
		_, want, err := format.Generic(&eventstore.Recorded{Body: body})
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := codec.Unmarshal(cut, &got); err != nil {
			t.Fatalf("%s: %v", r.Type, err)
		}
		same(t, "keys", len(got), len(want))
		if !bytes.HasSuffix(body, cut) {
			t.Errorf("%s: the state is not the body's end", r.Type)
		}
		for _, bad := range [][]byte{nil, body[:len(body)-1], append(bytes.Clone(body), 0), body[1:], cut} {
			if _, _, err := (&eventstore.Recorded{Body: bad}).Parts(); err == nil {
				t.Errorf("%s: %d bytes that are no body were taken", r.Type, len(bad))
			}
		}
	}
}
