package paymentjson_test

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"payledger/projections/paymentjson"
)

// TestAppendTime: a date has the digits of D1, in every year.
func TestAppendTime(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	zone := time.FixedZone("east", 5*3600)
	for i := range 20_000 {
		at := time.Unix(random.Int64N(1<<38)-1<<37, random.Int64N(1e9))
		if i%2 == 0 {
			at = time.Unix(random.Int64N(1<<31), random.Int64N(1e9)).In(zone)
		}
		want := "x" + at.UTC().Format("2006-01-02T15:04:05.000000Z")
		if got := string(paymentjson.AppendTime([]byte("x"), at)); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	}
}

// TestNoTime: the zero time is null, and null is the zero time.
func TestNoTime(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(paymentjson.Time{})
	at := paymentjson.Time{Time: time.Unix(1, 0)}
	if err = errors.Join(err, json.Unmarshal(text, &at)); err != nil || string(text) != "null" || !at.IsZero() {
		t.Errorf("%s, %v, %v", text, at, err)
	}
}
