package eventjson

import (
	"slices"
	"strings"
	"testing"
	"time"

	"payledger/eventstore/codec"
)

// TestTypes: the list has every type once.
func TestTypes(t *testing.T) {
	t.Parallel()
	all := Types()
	if len(slices.Compact(slices.Clone(all))) != len(all) || len(all) < 50 || !slices.IsSorted(all) {
		t.Errorf("%d types: %v", len(all), all)
	}
}

// TestShown: hidden fields are left out at any depth, credentials have a fingerprint, a merchant's
// metadata stays.
func TestShown(t *testing.T) {
	t.Parallel()
	stored, err := codec.Marshal(map[string]any{
		"at": time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC), "personal": map[string]any{"key": "k"},
		"apiKey":  map[string]any{"id": "a", "sha256": []byte("x"), "scopes": []any{"s"}},
		"other":   map[string]any{"box": []byte("x"), "key": "k"},
		"card":    map[string]any{"first6Digits": "411111", "last4Digits": "1111"},
		"options": `{"a":1.0}`, "settings": map[string]any{"first6Digits": true}, "sessionId": "s", "list": []any{map[string]any{"url": "u", "token": ""}},
		"metadata": map[string]any{"url": "u", "token": "t"}, "n": int64(9007199254740993),
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := Event{fact: stored}.AppendFact(nil, true)
	want := `{"apiKey":{"id":"a","scopes":["s"]},"at":"2026-01-02T03:04:05.000006Z","card":{"last4Digits":"1111"},"list":[{}],` +
		`"metadata":{"token":"t","url":"u"},"n":9007199254740993,"options":{"a":1.0},"sessionId":"` + Fingerprint("s") + `","settings":{"first6Digits":true}}`
	if string(got) != want || err != nil {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
	if f := Fingerprint("s"); len(f) != 25 || !strings.HasPrefix(f, "#") {
		t.Error(f)
	}
}
