package servicetest

import (
	"context"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/cmd/payledger/app"
	"payledger/cmd/payledger/apptest"
	"payledger/eventstore"
)

// TestKeyUsesSurviveARestart checks that lastUsedAt survives an orderly stop, although no event
// holds it (D20).
func TestKeyUsesSurviveARestart(t *testing.T) {
	t.Parallel()
	o := apptest.TestOptions(t.TempDir())
	made := apptest.Initialized(t, o.Data)
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	app, err := app.Start(context.Background(), o, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	id := app.Views.Accounts()[0].APIKeys[0].ID
	merchant := apptest.NewMerchant(app.Ready().API, made.APIKey)
	merchant.Must(t, "GET", "/management/settings", merchant.Headers(), nil)
	if _, known := app.KeyUses.Last(id); !known {
		t.Error("the use of the key is not known")
	}
	app.KeyUses.Note(id, at.Add(20*time.Second))
	history, err := app.Ledger.Store.History(context.Background(), eventstore.Accounts.Key(made.AccountID, string(made.AccountID)))
	if err != nil || len(history) != 1 || history[0].Type != "account.created" {
		t.Errorf("with the uses of its key the account has %d events, %v", len(history), err)
	}
	if err := app.Stop(); err != nil {
		t.Fatal(err)
	}
	again := apptest.StartApp(t, o)
	if last, known := again.KeyUses.Last(id); !known || !last.Equal(at) {
		t.Errorf("the key was last used at %s (%v), not %s", last, known, at)
	}
}
