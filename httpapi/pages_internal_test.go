package httpapi

import (
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/instrument"
	"payledger/domain/session"
)

// TestOffersUntilExpired: the page offers a saved card as long as a payment takes it: until noon
// UTC of the first day after its month.
func TestOffersUntilExpired(t *testing.T) {
	t.Parallel()
	card := instrument.State{Card: domain.NewCard("4111111111111111", "02", "2026", false)}
	for at, want := range map[string]bool{
		"2026-02-28T23:59:59Z": true, "2026-03-01T06:00:00Z": true, "2026-03-01T12:00:00Z": false, "2026-03-01T12:00:00+01:00": true,
	} {
		now, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		c := &call{api: &API{Config: Config{Now: func() time.Time { return now }}}}
		if c.offers(session.State{})(card) != want {
			t.Errorf("at %s a card of 02/2026 is offered: %t", at, !want)
		}
	}
}
