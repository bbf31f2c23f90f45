package secrets

import (
	"testing"
	"time"
)

// TestRestAfterGuess: after a guess, the next one begins only when the rest is over.
func TestRestAfterGuess(t *testing.T) {
	ended := make(chan func(), 1)
	before := after
	after = func(d time.Duration, f func()) {
		if d <= 0 {
			t.Errorf("the rest is %s", d)
		}
		ended <- f
	}
	t.Cleanup(func() { after = before })
	CheckPassword(NoPassword, "one")
	select {
	case argonSlot <- struct{}{}:
		t.Fatal("another guess may begin at once")
	default:
	}
	(<-ended)()
	CheckPassword(NoPassword, "two")
	(<-ended)()
}
