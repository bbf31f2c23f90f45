package servicetest

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"payledger/cmd/payledger/apptest"
)

// TestStopCoversEvents: after an orderly stop right behind many answers, each event in the folder
// has its position.
func TestStopCoversEvents(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	app := apptest.Stoppable(t, data)
	m := apptest.NewMerchant(app.Ready().API, app.Credentials.APIKey)
	const sessions = 64
	var made sync.WaitGroup
	for i := range sessions {
		made.Go(func() {
			m.Must(t, "POST", "/client-session", m.Headers(), map[string]any{"orderId": fmt.Sprintf("order-%d", i), "amount": 100, "currencyCode": "EUR"})
		})
	}
	made.Wait()
	if err := app.Stop(); err != nil {
		t.Fatal(err)
	}
	status, out, notes := apptest.Invoke(t, "tail", "--data", data, "--type", "session.created")
	if n := strings.Count(out, "\n"); status != 0 || n != sessions || notes != "" {
		t.Errorf("tail exits %d and prints %d of %d events: %s", status, n, sessions, notes)
	}
}
