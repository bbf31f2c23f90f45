package handover

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
)

// TestHold: a hold ends by itself, by a request, or never begins: a node rests after each one.
func TestHold(t *testing.T) {
	var h Hold
	now := time.Now()
	for _, c := range []struct {
		d     time.Duration
		at    time.Duration
		taken bool
	}{
		{time.Second, 0, true}, {time.Second, time.Second, false}, {0, time.Second, true}, {time.Second, 3999 * time.Millisecond, false}, {time.Second, 4 * time.Second, true},
	} {
		if got := h.take(c.d, now.Add(c.at)); got != c.taken {
			t.Errorf("a hold of %s after %s: %t", c.d, c.at, got)
		}
	}
	for text, want := range map[string]time.Duration{"": 0, "100ms": 100 * time.Millisecond, "9h": MaxHold, "-1s": -1, "0s": -1, "soon": -1} {
		got, err := parseHold(&nats.Msg{Data: []byte(text)})
		if want >= 0 && (err != nil || got != want) || want < 0 && err == nil {
			t.Errorf("%q: %s %v", text, got, err)
		}
	}
	ended := make(chan struct{})
	var held Hold
	held.Handler(zerolog.Nop(), func() {}, func() { close(ended) })(HoldMessage(time.Millisecond))
	<-ended
	if held.Active() {
		t.Error("a hold is active after its end")
	}
}
