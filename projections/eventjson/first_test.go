package eventjson_test

import (
	"testing"
	"time"

	"payledger/eventstore/codec"
	"payledger/eventstore/eventstoretest"
	"payledger/projections/eventjson"
	"payledger/projections/eventjson/eventjsontest"
)

// TestFirstEvents: each event that can be the first one of its aggregate has a JSON with all fields
// that asyncapi.yaml requires, and without an empty id or a zero time.
func TestFirstEvents(t *testing.T) {
	t.Parallel()
	store := eventstoretest.Open(t, t.TempDir())
	if err := eventjsontest.FirstEvents(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	eventjsontest.CheckLog(t, store)
}

// TestStoredWithoutValue: the JSON leaves out a zero time and an empty id that the log has.
func TestStoredWithoutValue(t *testing.T) {
	t.Parallel()
	at := time.Unix(1, 0).UTC()
	for want, old := range map[string]map[string]any{
		`{"at":"1970-01-01T00:00:01.000000Z"}`:              {"at": at, "decidedAt": time.Time{}, "paymentId": "", "id": "", "token": ""},
		`{"metadata":{"id":"","sessionId":""},"reason":""}`: {"metadata": map[string]any{"id": "", "sessionId": ""}, "reason": ""},
		`{"times":[null,"1970-01-01T00:00:01.000000Z"]}`:    {"times": []any{time.Time{}, at}},
	} {
		stored, err := codec.Marshal(old)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := eventjson.Stored(stored); err != nil || string(got) != want {
			t.Errorf("%s, %v\nwant %s", got, err, want)
		}
	}
}
