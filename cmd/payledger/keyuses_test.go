package main

import (
	"context"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

// TestKeyUsesSurviveARestart: lastUsedAt is there again after an orderly stop, although no event holds it (D20).
func TestKeyUsesSurviveARestart(t *testing.T) {
	o := testOptions(t.TempDir())
	made := initialized(t, o.Data)
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	app, err := Start(context.Background(), o, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	id := app.views.Accounts()[0].APIKeys[0].ID
	before := app.events(t)
	app.keyUses.Note(id, at.Add(20*time.Second))
	if app.events(t) != before {
		t.Error("a use wrote an event")
	}
	if err := app.Stop(); err != nil {
		t.Fatal(err)
	}
	again := startApp(t, o)
	if last, known := again.keyUses.Last(id); !known || !last.Equal(at) || made == nil {
		t.Errorf("the key was last used at %s (%v), not %s", last, known, at)
	}
}
