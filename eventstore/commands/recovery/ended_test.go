package recovery

import (
	"context"
	"testing"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/eventstore/secrets"
)

// TestEndedAfterALoss: the cards of ended tokens are looked for at the start and after each loss of
// a node, until that has succeeded twice, and not at every run.
func TestEndedAfterALoss(t *testing.T) {
	t.Parallel()
	var lost uint64
	var fails error
	looked := 0
	r := New(Config{
		Logger: zerolog.Nop(), Lost: func() uint64 { return lost },
		EndedCards: func(context.Context, domain.Token, int) ([]secrets.CardRef, error) {
			looked++
			return nil, fails
		},
	})
	runs := func(when string, want int) {
		t.Helper()
		looked = 0
		for range 5 {
			r.destroyAllEnded(t.Context())
		}
		if looked != want {
			t.Errorf("%s: looked %d times, expected %d", when, looked, want)
		}
	}
	fails = errKept
	runs("while it fails", 5)
	fails = nil
	runs("at the start", 2)
	runs("later", 0)
	lost++
	runs("after a loss", 2)
}
